"""The product as its users call it: the CLI and the HTTP face speak to this and to nothing behind it.

The control plane offers it in the process; the HTTP adapter offers the same of a server far away. What is
answered as a mapping is what `--json` prints and the REST API sends.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta

from noetl.core.event import Event, EventEnvelope, iso
from noetl.core.message import Control
from noetl.core.shapes import TriggerFacts
from noetl.json_value import Json, JsonObject
from noetl.ports import answers
from noetl.ports.arrival import Arrivals
from noetl.ports.bearer import Scope
from noetl.ports.notification import Delivery, Notification, NotificationAsk, Notifications
from noetl.ports.schedule import ByName, ComingTick, Schedule, ScheduleAsk, Times, Trigger, TriggerAsk
from noetl.ports.store import AccessToken, Find, Listed, PlaybookText, Projection, Row, Summary, Tally
from noetl.ports.tick import Backfill, BackfillAsk, BackfillWish, PlannedBackfill, Tick


class Ask(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A request to run a playbook: its text, or the path of a registered one."""

    text: str | None = None
    file: str | None = None
    path: str | None = None
    version: int | None = None
    workload: JsonObject = {}
    idempotency_key: str | None = None
    until: str | None = None
    by: str = "cli"
    trigger: TriggerFacts | None = None  # None: a person, or a program for one


class Started(msgspec.Struct, omit_defaults=True):
    """An execution that was asked for; `existed` when the idempotency key had started it before."""

    execution_id: str
    status: str
    path: str = ""
    existed: bool = False


ME = "@me"


class Slice(msgspec.Struct, omit_defaults=True):
    """A part of a stored payload: items of a list, or the value that a path selects."""

    data: Json
    total: int | None = None  # how many items the whole list has
    offset: int = 0
    content_type: str = "application/json"


class Worker(msgspec.Struct, omit_defaults=True):
    """A worker that was heard of. Times are milliseconds since the epoch."""

    worker_id: str
    pool: str
    concurrency: int
    running: int
    heard_at: int
    started_at: int
    version: str = ""
    host: str = ""
    draining: bool = False
    leases: list[dict[str, int | str]] = []  # execution_id, step_run_id, epoch, since
    finished: int = 0  # orders since it started
    protocol: int = 0  # the version that it and this server speak to each other
    kinds: list[str] = []  # the tool kinds that it has
    pid: int = 0  # of its process on its host; 0 where it did not tell


class TokenBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A token that is wanted."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Meta(min_length=1)]
    prefixes: list[Annotated[str, Meta(min_length=1, max_length=512)]] = []
    pools: list[Annotated[str, Meta(min_length=1, max_length=512)]] = []
    expires_ms: Annotated[int, Meta(ge=1, le=315_360_000_000)] | None = None


class TokenAsk(TokenBody, kw_only=True):
    """The same, and by whom."""

    by: str = "cli"


class NewToken(msgspec.Struct):
    """A token that was made; `bearer` is shown once and kept nowhere."""

    token: AccessToken
    bearer: str


class NewTrigger(msgspec.Struct):
    """A trigger that was kept; `secret` is shown once, when it was made or given."""

    trigger: Trigger
    secret: str | None = None


class Collected(msgspec.Struct):
    """A message that was taken and has started nothing: it waits for others, or a filter let it go by."""

    status: Literal["collected", "filtered"]
    path: str


class WebhookCall(msgspec.Struct, kw_only=True):
    """A call of a webhook: what it says, how it proves itself, and its idempotency key."""

    body: bytes
    secret: str | None = None  # the secret itself
    signature: str | None = None  # or `sha256=` and the HMAC of the body under it
    key: str | None = None


ERROR_CHARACTERS = 300  # that lists show of an error's message


class _Counted(msgspec.Struct):
    """What a list reads of a result; all else in it is passed over."""

    counts: dict[str, int] | None = None
    error: dict[str, Any] | None = None


_COUNTED = msgspec.json.Decoder(_Counted)


def execution_row(item: Summary, now: int) -> answers.ExecutionItem:
    """An execution as lists show it."""
    end = item.ended_at if item.ended_at is not None else now
    told = _told(item)
    counts = with_failed_iterations(told.counts)
    return {
        "execution_id": item.execution_id,
        "status": item.status,
        "playbook": {"path": item.path, "version": item.version, "hash": item.hash},
        "requested_at": iso(item.requested_at),
        "started_at": iso(item.started_at) if item.started_at is not None else None,
        "ended_at": iso(item.ended_at) if item.ended_at is not None else None,
        "duration_ms": end - item.requested_at,
        "parent": item.parent,
        "retry_of": item.retry_of,
        "continued_from": item.continued_from,
        "continued_as": item.continued_as,
        "interrupted": False,
        "counts": counts,
        "failed_iterations": (counts or {}).get("failed_iterations", 0),
        "by": item.requested_by,
        "error": _brief(told.error),
        "labels": item.labels,
        "expected_ms": item.expected_ms,
        "late_at": iso(item.late_at) if item.late_at is not None else None,
    }


def counts_of(item: Summary) -> dict[str, int] | None:
    """What an ended execution counted; None while it runs, or where what was kept of it cannot be read."""
    return with_failed_iterations(_told(item).counts)


def error_of(item: Summary) -> answers.BriefError | None:
    """Why an execution failed, in part when that is long."""
    return _brief(_told(item).error)


def _brief(error: dict[str, Any] | None) -> answers.BriefError | None:
    if error is None:
        return None
    return {
        "kind": str(error.get("kind")),
        "message": str(error.get("message"))[:ERROR_CHARACTERS],
        "step": error.get("step"),
    }


def _told(item: Summary) -> _Counted:
    try:
        return _COUNTED.decode(item.result) if item.result else _Counted()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Counted()


def with_failed_iterations(counts: dict[str, int] | None) -> dict[str, int] | None:
    """The counts of a result; one that an older release kept did not count failed iterations."""
    return counts if counts is None else {**counts, "failed_iterations": counts.get("failed_iterations", 0)}


class Playbooks(Protocol):
    """The catalog."""

    async def register(self, text: str, file: str | None = None, by: str = "cli") -> PlaybookText:
        """Check and keep a playbook; raises PlaybookError."""

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one, the newest first."""

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        """One version, else the newest; raises NotFound."""

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog; how many versions."""

    async def playbook_of(self, execution_id: str) -> PlaybookText:
        """The playbook that an execution runs or ran, also when it is off the catalog; raises NotFound."""


class Executions(Protocol):
    """Starting, steering and watching executions. Ids are whole; unknown ones raise NotFound."""

    async def start(self, ask: Ask) -> Started:
        """Begin an execution; raises PlaybookError, NotFound, or Conflict for a key used for another."""

    async def control(self, execution_id: str, wish: Control) -> None:
        """Pause, resume, cancel or signal; raises Conflict when the state forbids it."""

    async def release(self, execution_id: str, by: str = "cli") -> None:
        """Let an execution that is stuck go on; raises Conflict when it is not, or stays so."""

    async def retry(self, execution_id: str, step: str | None = None, by: str = "cli") -> Started:
        """A new execution that goes on from what failed."""

    async def rerun(self, execution_id: str, start: str, text: str | None = None, by: str = "cli") -> Started:
        """A new execution that begins again at a step, perhaps with a changed playbook."""

    async def executions(self, find: Find) -> Listed:
        """Those that are wanted, the newest first."""

    async def execution(self, execution_id: str, *, wait_s: float = 0) -> answers.ExecutionAnswer:
        """How it stands; waited for until it is over or paused, for so many seconds at the most."""

    async def status(self, execution_id: str) -> str:
        """Its status, and no more than that."""

    def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[tuple[int, list[Event]]]:
        """Its events as they are committed, each once and in order, until it is over; close it to stop."""


def _every(path: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class FindLines:
    """Which lines of tasks are wanted."""

    step: str | None = None
    task: str | None = None
    level: str | None = None  # this one or a worse one; what says no level counts as info
    text: str = ""  # in any case
    children: bool = False  # also of executions that it started, and these
    sees: Callable[[str], bool] = _every  # of which playbooks they may be shown


ALL_LINES = FindLines()


class Readings(Protocol):
    """What a log says afterwards, or so far."""

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log: summary, end of the log, snapshot; raises NotFound."""

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """The log as it rests."""

    async def events(
        self,
        execution_id: str,
        *,
        first: int = 1,
        limit: int = 500,
        name: str | None = None,
        step: str | None = None,
    ) -> list[EventEnvelope]:
        """Envelopes of events that match, from a sequence number on."""

    async def logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", limit: int = 1000
    ) -> answers.LinesPage:
        """What tasks wrote, and the errors they ended with, behind a place; about so many lines at once.

        Those of children come with `follow_logs` alone.
        """

    def follow_logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", live: bool = True
    ) -> AsyncGenerator[answers.LinesPage]:
        """The same as it is written, until the execution is over, or what there is; a page may be empty."""

    async def state(self, execution_id: str, at: int | None = None) -> answers.StateAnswer:
        """The state after an event: status, ctx, workload, steps, tokens, runs, what waits."""

    async def graph(self, execution_id: str) -> JsonObject:
        """The playbook that ran as steps and arcs, those that it was extended by included."""

    async def why(self, execution_id: str, step: str | None = None) -> answers.WhyAnswer:
        """The decisions explained in words."""

    async def diff(self, first: str, other: str) -> answers.DiffAnswer:
        """How two executions differ."""

    async def evaluate(self, execution_id: str, template: str, at: int | None = None) -> Json:
        """A template's value as it would have been after an event; raises RequestError."""

    async def result(
        self, key: str, *, offset: int = 0, limit: int | None = None, select: str | None = None
    ) -> Slice:
        """A stored payload or a part of it; raises NotFound."""


class Credentials(Protocol):
    """Values only go in."""

    async def put_credential(self, name: str, material: JsonObject) -> None:
        """Keep a credential, sealed."""

    async def credentials(self) -> Sequence[tuple[str, int]]:
        """Names, and when each was last set."""

    async def credential(self, name: str) -> answers.CredentialAnswer:
        """A credential's name, the names of its fields and when it was set; never a value."""

    async def delete_credential(self, name: str) -> None:
        """Forget a credential; raises NotFound."""

    async def seal_again(self) -> int:
        """Seal every credential with the newest key; how many."""


class Tokens(Protocol):
    """Bearer tokens of a server; only digests are kept."""

    async def new_token(self, ask: TokenAsk) -> NewToken:
        """Make a token; raises RequestError."""

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first; the digests may be left out."""

    async def delete_token(self, token_id: str) -> None:
        """Let a token be good for nothing from now on; raises NotFound."""


class Schedules(ByName, Protocol):
    """What starts executions by the clock. Unknown names raise NotFound."""

    async def put_schedule(self, ask: ScheduleAsk, *, new: bool = False) -> Schedule:
        """Keep a schedule, in the place of one that has the name; `new`: raises Conflict when there is one.

        Raises RequestError for times that make no sense, NotFound for a playbook that is not there.
        """

    async def coming_ticks(self, times: Times) -> Sequence[ComingTick]:
        """The next ticks that a schedule with such times would have; raises RequestError as that does."""

    async def run_schedule(self, name: str, by: str = "cli") -> Started:
        """Start at once what a schedule starts."""

    async def schedule_ticks(self, name: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        """What became of the ticks of a schedule, the newest first."""


class Backfills(Protocol):
    """Ticks of the past that are made up for. Unknown ids raise NotFound."""

    async def add_backfill(self, ask: BackfillAsk) -> PlannedBackfill:
        """Make up for the ticks of a span; raises RequestError for a span that makes no sense."""

    async def backfills(self) -> Sequence[Backfill]:
        """Backfills with their progress, the newest first."""

    async def backfill(self, backfill_id: str) -> Backfill:
        """One backfill, and how far it is."""

    async def backfill_ticks(
        self, backfill_id: str, limit: int = 100, before: int | None = None
    ) -> Sequence[Tick]:
        """What became of its ticks, the newest first."""

    async def control_backfill(self, backfill_id: str, wish: BackfillWish) -> Backfill:
        """Pause, resume or cancel it; raises Conflict when it is over."""


class Triggers(ByName, Arrivals, Protocol):
    """What starts executions by a message. Unknown names raise NotFound."""

    async def put_trigger(self, ask: TriggerAsk, *, new: bool = False) -> NewTrigger:
        """Keep a trigger, in the place of one that has the name; `new`: raises Conflict when there is one."""

    async def fire_trigger(
        self, name: str, payload: Json, *, key: str | None = None, by: str | None = None
    ) -> Started:
        """Start what a trigger starts, with a payload, at once."""

    async def knock(self, name: str, knock: WebhookCall) -> Started | Collected:
        """A call of a webhook; raises Denied unless it proves itself."""


class Telling(Notifications, Protocol):
    """Who is told what becomes of executions. Unknown names and numbers raise NotFound."""

    async def put_notification(self, ask: NotificationAsk, *, new: bool = False) -> Notification:
        """Keep a notification, in the place of one that has the name; `new`: raises Conflict if there is one.

        Raises RequestError for a target that makes no sense, NotFound for a credential or playbook that is
        not there.
        """

    async def send_sample(self, name: str) -> Delivery:
        """Tell a sample; how the first attempt went."""

    async def redeliver(self, number: int) -> Delivery:
        """Tell something again, at once and under the same key; how that attempt went."""


class Front(
    Playbooks,
    Executions,
    Readings,
    Credentials,
    Tokens,
    Schedules,
    Backfills,
    Triggers,
    Telling,
    Protocol,
):
    """All of it."""

    async def workers(self) -> Sequence[Worker]:
        """The workers that were heard of lately."""

    async def stuck(self) -> int:
        """How many executions are stuck; raises BackendError when the store cannot tell."""

    async def overdue_ms(self) -> int:
        """How long the oldest due work has been waiting; raises BackendError when the store cannot tell."""


class ServedFront(Front, Protocol):
    """What a server's pages ask for besides."""

    async def tally(self, since: int, part_ms: int, path: str | None = None) -> Sequence[Tally]:
        """Executions by status and part of a span, as the store counts them."""

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        """Those of some that another execution goes on from."""
