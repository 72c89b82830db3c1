"""What the log and what stands beside it look like as they rest. Shapes only."""

import msgspec

from noetl.server.shapes import page_of


class LogRow(msgspec.Struct):
    """One row of the log as it rests; bytes are in base64."""

    first: int
    last: int
    ts: int
    cause: str
    body: str
    hash: str
    batch: str | None
    seal: str | None
    format: int


class SnapshotView(msgspec.Struct):
    """A state as it rests: after which event, the link of the hash chain there, the state in base64."""

    seq: int
    hash: str
    state: str


class SummaryView(msgspec.Struct, omit_defaults=True):
    """What lists show of an execution, as it rests; times in milliseconds, the result in base64."""

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
    request: str | None = None
    result: str | None = None
    requested_by: str | None = None
    stuck: str | None = None


class ProjectionView(msgspec.Struct):
    """What stands beside a log as its last commit left it: `replay` holds the log against it."""

    summary: SummaryView
    seq: int
    head: str
    snapshot: SnapshotView | None


LogPage = page_of(
    "LogPage", LogRow, "Rows in order, and the event at which the next page begins.", ("next", int | None)
)
