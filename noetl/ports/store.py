"""What the control plane needs of a database: an append-only log per execution, and a few projections of it.

Every adapter passes one conformance suite. An append is durable when `commit` returns; the batch id makes an
append that may or may not have happened harmless to repeat.
"""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import msgspec


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


class StoredLog(msgspec.Struct):
    """What recovery reads: the newest snapshot, the rows behind it, and the last link of the hash chain."""

    snapshot: bytes | None
    rows: list[Row]
    head: bytes = b""


class Listed(msgspec.Struct):
    """A page of summaries and where the next one begins."""

    items: list[Summary]
    cursor: str | None = None


class PlaybookText(msgspec.Struct):
    """A registered playbook: one version of one path."""

    path: str
    version: int
    hash: str
    text: str
    file: str | None = None
    registered_at: int = 0


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


class Store(Protocol):
    """The event log and its projections."""

    path: str  # where the log is, in words for a person

    async def commit(self, append: Append) -> None:
        """Append durably; raises Conflict when the log has moved on, BackendError when it cannot be known."""
        ...

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and every row after it; raises NotFound."""
        ...

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows of the log in order, from the one that holds an event."""
        ...

    async def end(self, execution_id: str) -> int:
        """The number of the newest event; raises NotFound."""
        ...

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        ...

    async def summary(self, execution_id: str) -> Summary:
        """One execution; raises NotFound."""
        ...

    async def executions(
        self,
        *,
        status: str | None = None,
        path: str | None = None,
        prefix: str = "",
        children: bool = True,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Listed:
        """Executions, the newest first: those whose id begins so, with or without children of others."""
        ...

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution that was started with an idempotency key."""
        ...

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it; False while another owner's claim is fresh."""
        ...

    async def owned(self, execution_id: str) -> bool:
        """Whether someone alive runs an execution."""
        ...

    async def release(self, execution_id: str, owner: str) -> None:
        """Give a claim up."""
        ...

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        ...

    async def due(self, now: int, limit: int = 100) -> list[str]:
        """Executions that are not over, have something due or no fresh owner."""
        ...

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution."""
        ...

    async def take(self, owner: str) -> Sequence[tuple[str, bytes]]:
        """The messages left for the executions of an owner, each given once."""
        ...

    async def register(self, path: str, digest: str, text: str, file: str | None) -> PlaybookText:
        """Keep a playbook; the same text under the same path is the version it already is."""
        ...

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version (else the newest); raises NotFound."""
        ...

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one path, the newest first."""
        ...

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog; how many versions. Executions keep its text."""
        ...

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""
        ...

    async def secret(self, name: str) -> bytes:
        """A sealed credential; raises NotFound."""
        ...

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        """Put other bytes in place of exactly these; False when they have changed. It counts as no setting."""
        ...

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        ...

    async def delete_secret(self, name: str) -> None:
        """Forget a credential; raises NotFound."""
        ...

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[Outline]:
        """Executions that were over at a moment, by id, those behind one."""
        ...

    async def family(self, execution_id: str) -> Sequence[Outline]:
        """An execution with all that may hold its references: parents, children, retries, and theirs."""
        ...

    async def trim(self, execution_id: str, rows: Sequence[Row], *, whole: bool) -> None:
        """Put rows that say less in the place of the same ones; `whole`: no more will come.

        Raises Conflict while the execution is not over.
        """
        ...

    async def delete(self, execution_ids: Sequence[str]) -> int:
        """Forget executions with their logs, those that are over; how many."""
        ...

    async def extent(self) -> Extent:
        """How much there is."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of the database."""
        ...


def chained(previous: bytes, body: bytes) -> bytes:
    """The next link of the hash chain."""
    return hashlib.sha256(previous + body).digest()


def sealed(previous: bytes, row: Row, body: bytes) -> Row:
    """A row of which only a part is left; it keeps its link, and the seal binds the part to its place."""
    seal = chained(previous + row.hash, body)
    return msgspec.structs.replace(row, body=body, seal=seal)


def linked(previous: bytes, row: Row) -> bool:
    """Whether a row follows a link of the hash chain and is as it was written, or as it was sealed."""
    if row.seal is None:
        return chained(previous, row.body) == row.hash
    return chained(previous + row.hash, row.body) == row.seal
