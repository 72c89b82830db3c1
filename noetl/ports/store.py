"""What the control plane needs of a database: an append-only log per execution, and a few projections of it.

Every adapter passes one conformance suite. An append is durable when `commit` returns; the batch id makes an
append that may or may not have happened harmless to repeat.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from noetl.core.formats import OLDEST_ROW_FORMAT
from noetl.errors import Conflict, NotFound
from noetl.ports.arrival import ArrivalStore
from noetl.ports.notification import Notice, NotificationStore
from noetl.ports.schedule import ScheduleStore
from noetl.ports.task_lines import LineStore
from noetl.ports.tick import TickStore


class Row(msgspec.Struct):
    """One decided message as it rests: events first..last, their cause, and the hash chain."""

    first: int
    last: int
    ts: int
    cause: bytes
    body: bytes
    hash: bytes
    batch: str | None = None
    seal: bytes | None = None  # of a row that was trimmed after the end: vouches for what is left of it
    format: int = 1  # how it is written and what its hash covers, see `link`


class Summary(msgspec.Struct, omit_defaults=True):
    """What lists and status show of an execution, kept in step with its log by the same transaction."""

    execution_id: str
    status: str
    path: str
    version: int | None = None
    hash: str = ""
    requested_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    due_at: int | None = None
    parent: str | None = None
    retry_of: str | None = None
    idempotency_key: str | None = None
    request: str | None = None  # digest of playbook and payload, to tell a repeat from a conflict
    result: bytes | None = None  # the execution as its readers see it, once it has ended
    requested_by: str | None = None  # None: from before this was kept
    stuck: str | None = None  # why it was set aside, as JSON of a `Stuck`; its status is `stuck` as long
    format: int = OLDEST_ROW_FORMAT  # the newest of its rows; the store fills it in
    continued_from: str | None = None  # the execution whose log had become long, where this one goes on
    continued_as: str | None = None  # the one that goes on, once this one's log had become long
    chain: str | None = None  # the first of all that went on from one another; None for that one itself
    # What no store keeps, and a front tells from the playbook:
    labels: dict[str, str] = {}
    expected_ms: int | None = None  # how long one should take
    late_at: int | None = None  # when it has taken longer


class Stuck(msgspec.Struct, omit_defaults=True):
    """Why nobody goes on with an execution until it is released."""

    reason: str  # log | decision | mail | owners
    error: str
    since: int
    server: str = ""
    engine: str = ""
    status: str = ""  # that it had; the store fills it in


class Append(msgspec.Struct):
    """One execution's part of a commit. `expected` is the sequence number the log must end with.

    An execution begins with a summary; later ones do not change who asked for it (key, parent, retry_of).
    """

    execution_id: str
    expected: int
    rows: list[Row]
    summary: Summary | None = None  # None: nothing that lists show has changed
    snapshot: bytes | None = None
    claim: tuple[str, int] | None = None  # of a new execution: its owner and for how many milliseconds
    owner: str | None = None  # who appends; refused when the execution has another owner by now
    taken: list[int] = []  # letters that the rows answer; they go with the same commit
    newest: bool = False  # of a new execution: refused when its playbook is not the newest of its path by now
    successor: "Append | None" = (
        None  # the execution that goes on: it begins, with the mail, or nothing is done
    )
    notices: list[Notice] = []  # what the rows say that somebody may want to know, beside the status
    keeps: list[str] | None = None  # of a new execution that is a retry: whose payloads it may read


class StoredLog(msgspec.Struct):
    """What recovery reads: the newest snapshot, the rows behind it, and the last link of the hash chain."""

    snapshot: bytes | None
    rows: list[Row]
    head: bytes = b""


class Claimed(msgspec.Struct):
    """An execution that has just become an owner's, and who had it in hand when its owner before died."""

    summary: Summary
    in_hand: str | None = None  # None where nobody died, an empty text where nobody had it in hand
    size: int = 0  # about how many bytes its snapshot and the rows behind it have


class Snapshot(msgspec.Struct):
    """A state as it rests: after which event, the link of the hash chain there, and the state itself."""

    seq: int
    hash: bytes
    state: bytes


class Projection(msgspec.Struct):
    """What stands beside a log, as the commit of its newest row left it."""

    summary: Summary
    seq: int  # of the newest event
    head: bytes  # the last link of the hash chain
    snapshot: Snapshot | None = None


class Find(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Which executions are wanted: all at first. Times are milliseconds since the epoch, both included.

    In `path`, `*` stands for any characters and `?` for one. `prefix` is how an id begins; without
    `children` only those that have no parent, without `continued` only the last of those that went on
    from one another.
    """

    status: str | None = None
    path: str | None = None
    prefix: str = ""
    text: str | None = None  # part of an id or a path
    since: int | None = None
    until: int | None = None
    parent: str | None = None
    by: str | None = None  # who asked for them
    label: str | None = (
        None  # of the playbook's newest version, as in `team` or `team=pricing`: a front finds those
    )
    paths: list[str] | None = None  # one of these, which are no patterns
    children: bool = True
    continued: bool = True
    cursor: str | None = None
    limit: int = 50


EVERY = Find()


def is_pattern(path: str) -> bool:
    """Whether a path stands for several."""
    return "*" in path or "?" in path


def glob_of(path: str) -> str:
    """The pattern as shells write it, in which nothing but `*` and `?` stands for something else."""
    return path.replace("[", "[[]")


def like_of(path: str) -> str:
    """The pattern as SQL's LIKE writes it."""
    quoted = path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return quoted.replace("*", "%").replace("?", "_")


class Tally(msgspec.Struct, frozen=True):
    """How many executions of a status belong to a part of a span: where they ended, or else began."""

    status: str
    part: int
    number: int


TALLIED = 100_000  # of those that ended, the newest: a count costs no more than that


class Listed(msgspec.Struct):
    """A page of summaries and where the next one begins."""

    items: list[Summary]
    cursor: str | None = None


class Letter(msgspec.Struct):
    """A message that was left for the owner of an execution, until a commit takes it."""

    id: int
    execution_id: str
    body: bytes


class AccessToken(msgspec.Struct, omit_defaults=True):
    """A bearer token as it rests: never the token itself. Times are milliseconds since the epoch."""

    id: str
    hash: str
    name: str
    scopes: list[str] = []
    prefixes: list[str] = []
    created_at: int = 0
    expires_at: int | None = None
    by: str = ""
    pools: list[str] = []  # that a worker with it may serve; ANY_POOL stands for all


ANY_POOL = "*"


class ServerAddress(msgspec.Struct, frozen=True):
    """A server that lives, and where workers reach it."""

    server: str
    url: str


class PlaybookText(msgspec.Struct):
    """A registered playbook: one version of one path."""

    path: str
    version: int
    hash: str
    text: str
    file: str | None = None
    registered_at: int = 0
    by: str | None = None  # who registered this version; None: from before that was kept
    language: int = 1  # the oldest that it can be read in
    description: str | None = None  # what its text says of it, where that is asked for
    labels: dict[str, str] = {}  # as well


class Outline(msgspec.Struct):
    """What collecting garbage needs to know of an execution."""

    execution_id: str
    hash: str
    ended_at: int | None = None
    trimmed: bool = False


class Extent(msgspec.Struct):
    """How much is in a store."""

    schema: int
    bytes: int
    executions: dict[str, int]  # by status
    events: int
    playbooks: int
    credentials: int
    messages: int
    oldest_due: tuple[str, int] | None = None  # of those that run: the execution, and when


class Store(ScheduleStore, TickStore, ArrivalStore, NotificationStore, LineStore, Protocol):
    """The event log and its projections, what starts executions, and who is told of them.

    A commit that changes a status, or brings notices, writes the deliveries of whoever wants to know; one
    that ends an execution, what arrives for the triggers that wait for it.
    """

    path: str  # where the log is, in words for a person

    async def commit(self, append: Append) -> None:
        """Append durably; raises Conflict when the log has moved on, BackendError when it cannot be known."""

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and every row after it; raises NotFound."""

    async def logs(self, execution_ids: Sequence[str]) -> Mapping[str, StoredLog]:
        """The logs of several executions, as `log` reads one; those that are not there are left out."""

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows of the log in order, from the one that holds an event."""

    async def end(self, execution_id: str) -> int:
        """The number of the newest event; raises NotFound."""

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log of an execution, in one reading; raises NotFound."""

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""

    async def summary(self, execution_id: str) -> Summary:
        """One execution; raises NotFound."""

    async def newest(self, execution_id: str) -> Summary:
        """The last of the executions that went on from one another, often the one itself; raises NotFound."""

    async def executions(self, find: Find = EVERY) -> Listed:
        """Those that are wanted, the newest first."""

    async def tally(self, since: int, part_ms: int, path: str | None = None) -> Sequence[Tally]:
        """How many were asked for since, by status and part of the time; those that are open, however old.

        Of those that ended the newest `TALLIED` are counted. What is older than the first part belongs to it.
        """

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        """Those of some that another execution goes on from."""

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution that was started with an idempotency key."""

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it.

        False while another owner's claim is fresh, and of one that is stuck.
        """

    async def take_in_hand(self, execution_id: str, owner: str) -> str | None:
        """Note that an owner is about to read an execution, where the last owner died.

        Who had it in hand then: None where nobody died, an empty text where nobody had it in hand.
        """

    async def take_over(
        self, owner: str, lease_ms: int, own: Sequence[str] = (), but: Sequence[str] = (), limit: int = 100
    ) -> Sequence[Claimed]:
        """Become the owner of executions that nobody alive owns; none goes to two who ask at once.

        `own` are executions of the owner itself that it wants again: they come first; those of `but` it does
        not want. Whatever had an owner that died is noted as being read, as `note_in_hand` notes what is
        decided on.
        """

    async def note_in_hand(self, execution_ids: Sequence[str], owner: str) -> None:
        """Note that an owner is about to decide on executions."""

    async def put_down(self, execution_ids: Sequence[str], note: str) -> None:
        """What a note says went well: an owner has decided, or `reading` one has read. Other notes stay."""

    async def set_aside(self, execution_id: str, owner: str, why: Stuck) -> bool:
        """Give up an execution of an owner: nobody can claim it, and it is stuck, until it is released."""

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the owner of an execution that is stuck, which it is not any more; False when it is not."""

    async def stuck(self) -> int:
        """How many executions are stuck."""

    async def let_go(self, execution_id: str, owner: str) -> None:
        """Give one claim of an owner up."""

    async def owned(self, execution_id: str) -> bool:
        """Whether someone alive runs an execution."""

    async def leave(self, owner: str) -> None:
        """Give every claim of an owner up."""

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""

    async def announce(self, address: ServerAddress, lease_ms: int) -> None:
        """Say for some time that a server is there."""

    async def withdraw(self, server: str) -> None:
        """A server goes."""

    async def servers(self) -> Sequence[ServerAddress]:
        """The servers that are there, in order of their names."""

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        """Executions that are not over, have something due or no fresh owner; now, by the store's clock."""

    async def post(self, execution_id: str, message: bytes) -> int | None:
        """Leave a message for the owner of an execution: the letter's id. None: it is over, or not there."""

    async def is_posted(self, letter: int) -> bool:
        """Whether a letter is still there: what was decided on it is in the log as soon as it is not."""

    async def mail(self, owner: str) -> Sequence[Letter]:
        """The messages left for the executions of an owner, in order; they stay until a commit takes them."""

    async def discard_mail(self, letters: Sequence[int]) -> None:
        """Throw letters away that no commit will take."""

    async def register(
        self,
        path: str,
        digest: str,
        text: str,
        file: str | None,
        by: str | None = None,
        language: int = 1,
    ) -> PlaybookText:
        """Keep a playbook; the same text under the same path is the version it already is."""

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version (else the newest); raises NotFound."""

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one path, the newest first."""

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog; how many versions. Executions keep its text."""

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""

    async def secret(self, name: str) -> bytes:
        """A sealed credential; raises NotFound."""

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        """Put other bytes in place of exactly these; False when they changed. It counts as no setting."""

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""

    async def delete_secret(self, name: str) -> None:
        """Forget a credential; raises NotFound."""

    async def put_token(self, token: AccessToken) -> None:
        """Keep a token, in the place of one with the same id."""

    async def token(self, token_id: str) -> AccessToken:
        """One token; raises NotFound."""

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first."""

    async def delete_token(self, token_id: str) -> None:
        """Forget a token; raises NotFound."""

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[Outline]:
        """Executions that were over at a moment, by id, those behind one."""

    async def family(self, execution_id: str) -> Sequence[Outline]:
        """An execution with all that may hold its references: parents, children, retries, and theirs.

        Those that went on from one another hold each other's.
        """

    async def trim(self, execution_id: str, rows: Sequence[Row], *, whole: bool) -> None:
        """Put rows that say less in the place of the same ones; `whole`: no more will come.

        Raises Conflict while the execution is not over.
        """

    async def expire(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Give up the payloads of executions for good, and of their families; whose are given up.

        Only of a family that was over at a moment, and then of everyone in it at once: from here on a retry
        that would read them is refused, and one that was quicker keeps them.
        """

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Forget executions with their logs, those whose whole family was over at a moment; which ones.

        Their families expire before that; so what is deleted in parts is nothing that a retry can refer to.
        """

    async def extent(self) -> Extent:
        """How much there is."""

    async def close(self) -> None:
        """Finish what was begun and let go of the database."""


ANEW = "run its playbook anew: noetl run PATH"


def check_append(append: Append, end: int) -> None:
    """Whether an append follows the end of a log without gaps; raises Conflict."""
    if end != append.expected:
        raise Conflict(f"the log of {append.execution_id} ends at {end}, not at {append.expected}")
    batches: set[str] = set()
    for row in append.rows:
        if row.first != end + 1 or row.last < row.first:
            raise Conflict(f"the log of {append.execution_id} would have a gap at {end + 1}")
        if row.batch in batches:
            raise Conflict(f"the log of {append.execution_id} would have the batch {row.batch} twice")
        if row.batch is not None:
            batches.add(row.batch)
        end = row.last


def check_owner(append: Append, owner: str | None) -> None:
    """Whether whoever appends is still the owner; raises Conflict."""
    if append.owner is not None and append.owner != owner:
        raise Conflict(
            f"execution {append.execution_id} is run by {owner or 'nobody'}, not by {append.owner}"
        )


def check_kept(append: Append, expired: Mapping[str, bool]) -> None:
    """Whether what a retry goes on from is there, and what it keeps of it; raises Conflict.

    `expired` has those that are there, and whether their payloads are given up.
    """
    origin = append.summary.retry_of if append.summary is not None else None
    if origin is None or append.keeps is None:
        return
    if origin not in expired:
        raise Conflict(f"execution {origin} was removed at this moment", hint=ANEW)
    lost = [key for key in append.keeps if expired.get(key, expired[origin])]
    if lost:
        message = f"what would be kept of execution {lost[0]} has expired: it is removed, or will be at once"
        raise Conflict(message, hint=ANEW)


def newest_format(append: Append) -> int:
    """The newest format among the rows of an append."""
    return max((row.format for row in append.rows), default=OLDEST_ROW_FORMAT)


def family_over(members: Sequence[Outline], moment: int) -> bool:
    """Whether everyone of a family had ended at a moment; nobody is no family."""
    return bool(members) and all(
        outline.ended_at is not None and outline.ended_at <= moment for outline in members
    )


READING = "reading "


def reading(owner: str) -> str:
    """How it is noted that an owner has executions in hand only to read them, many at once."""
    return READING + owner


def custody_after(why: Stuck) -> str | None:
    """Who had a released execution in hand: what ended processes is tried apart from ours first."""
    return "released" if why.reason == "owners" else None


def outdated(summary: Summary) -> Conflict:
    """The refusal of an execution whose playbook has a newer version, or is gone."""
    return Conflict(f"version {summary.version} of '{summary.path}' is not the newest any more")


def page_start(cursor: str | None) -> int | None:
    """The number behind which a page begins; raises NotFound for what is no cursor."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise NotFound(f"{cursor!r} is no cursor", hint="use the cursor of the page before")
    return int(cursor)


def unknown_execution(execution_id: str) -> NotFound:
    """What is raised for an execution that is not there."""
    return NotFound(f"there is no execution {execution_id}", hint="noetl execution list")


def unknown_playbook(path: str | None, digest: str | None, version: int | None) -> NotFound:
    """What is raised for a playbook that is not there."""
    which = f"{path or digest}" + (f" version {version}" if version is not None else "")
    return NotFound(f"there is no playbook {which}", hint="noetl catalog list")


def unknown_credential(name: str, hint: str | None = None) -> NotFound:
    """What is raised for a credential that is not there."""
    return NotFound(f"there is no credential {name!r}", hint=hint or f"noetl credential set {name} --value -")


def unknown_token(token_id: str) -> NotFound:
    """What is raised for a token that is not there."""
    return NotFound(f"there is no token {token_id!r}", hint="noetl token list")
