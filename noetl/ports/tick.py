"""Ticks: the moments at which a schedule or a backfill starts an execution, what became of each, their store.

A tick is decided in the transaction that lets its schedule go on; what follows from it (starting, noting how
it ended) is done afterwards by whichever server comes to it, and can be done again.
Times are milliseconds since the epoch.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.json_value import JsonObject
from noetl.ports.schedule import (
    CRON_LENGTH,
    EVERY_MOST_S,
    Fired,
    PlaybookNumber,
    PlaybookPath,
    StandingName,
)

HISTORY_KEPT = 500  # ticks of a schedule that are over; older ones are forgotten
BACKFILLS_KEPT = 100  # that are over
BACKFILL_MOST = 10_000  # ticks of one backfill
PARALLEL_MOST = 100
LOOKED_UP = 500  # ticks of a dry run of which it is told whether they have an execution

TickStatus = Literal[
    "planned",  # of a backfill: its turn has not come
    "queued",  # for the execution of an earlier tick to end
    "starting",
    "running",
    "waiting",  # as the next two, only told to readers: to the store it is running
    "paused",
    "stuck",
    "completed",
    "failed",
    "cancelled",
    "skipped",
    "replaced",  # its execution was cancelled for a later tick
    "refused",  # it could not be started
]
OPEN = ("queued", "starting", "running")
STANDING = ("waiting", "paused", "stuck")  # how what runs may stand
NOT_OVER = ("planned", *OPEN, *STANDING)
CANCELLED = "the backfill was cancelled"
REMOVED = "its execution was removed before its end was noted"
BackfillStatus = Literal["running", "paused", "cancelled", "done"]
BackfillWish = Literal["pause", "resume", "cancel"]


class Tick(msgspec.Struct, kw_only=True):
    """One tick, and what became of it. Its owner is `schedule/NAME` or `backfill/ID`."""

    owner: str
    tick: int
    status: TickStatus
    execution: str | None = None
    why: str | None = None
    at: int = 0  # when that was decided


class BackfillBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """A backfill that is wanted: of a schedule, or of a playbook with its own cron expression or interval."""

    from_: Annotated[str, Meta(max_length=64)]
    to: Annotated[str, Meta(max_length=64)]
    schedule: StandingName | None = None
    path: PlaybookPath | None = None
    version: PlaybookNumber | None = None
    workload: JsonObject | None = None
    cron: Annotated[str, Meta(min_length=1, max_length=CRON_LENGTH)] | None = None
    timezone: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    every_s: Annotated[int, Meta(ge=1, le=EVERY_MOST_S)] | None = None
    parallel: Annotated[int, Meta(ge=1, le=PARALLEL_MOST)] = 1
    dry_run: bool = False


class BackfillAsk(BackfillBody, kw_only=True):
    """The same, and by whom."""

    by: str = "cli"


class Backfill(msgspec.Struct, kw_only=True):
    """Ticks of the past that are made up for, some at a time."""

    id: str
    schedule: str | None
    path: str
    version: int | None
    workload: JsonObject
    cron: str | None
    timezone: str
    every_s: int | None
    first_at: int
    last_at: int
    parallel: int
    total: int
    status: BackfillStatus = "running"
    created_at: int = 0
    by: str = ""
    counts: dict[str, int] = {}  # ticks by their status


class PlannedBackfill(msgspec.Struct):
    """A backfill, and its ticks; of a dry run also the executions that some of the first have already."""

    backfill: Backfill
    ticks: list[int] = []
    existing: dict[int, str] = {}


class TickStore(Protocol):
    """Ticks and backfills."""

    async def advance_schedule(
        self, name: str, expected: int, fired: Fired, ticks: Sequence[Tick] = ()
    ) -> bool:
        """Go on to the next tick while it is still the expected one that is next; False when it is not.

        What became of ticks is kept in the same transaction.
        """

    async def ticks(self, owner: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        """Ticks of a schedule or a backfill, the newest first; one that runs stands as its execution does."""

    async def open_ticks(self, owner: str | None = None) -> Sequence[Tick]:
        """Ticks that are queued, starting or running, the oldest first."""

    async def ended_ticks(self) -> Sequence[Tick]:
        """Ticks that are running by what is noted, and whose execution is over: with how it ended.

        Whoever deletes executions notes that before; one that is gone all the same counts as failed.
        """

    async def planned_ticks(self, owner: str, limit: int) -> Sequence[Tick]:
        """Ticks of a backfill whose turn has not come, the oldest first."""

    async def note_tick(self, name: str, tick: int, execution: str | None, error: str | None) -> None:
        """Note with a schedule what its last tick started, while that is the last one."""

    async def move_tick(self, tick: Tick, expected: TickStatus, backfill_id: str | None = None) -> bool:
        """Note what became of a tick while it is still as expected; False when it is not.

        `backfill_id`: and while that backfill runs; whoever pauses it in this moment comes before or after.
        """

    async def refuse_tick(self, tick: Tick, told: Sequence[str], path: str, detail: str) -> bool:
        """Note that a tick could start nothing, with the notifications that tell of it, or neither."""

    async def put_backfill(self, backfill: Backfill, ticks: Sequence[Tick]) -> None:
        """Keep a backfill with all of its ticks; the oldest that are over are forgotten."""

    async def backfill(self, backfill_id: str) -> Backfill:
        """One backfill, with its counts; raises NotFound."""

    async def backfills(self) -> Sequence[Backfill]:
        """Backfills, the newest first, with their counts."""

    async def running_backfills(self) -> Sequence[Backfill]:
        """Those that start ticks, without counts."""

    async def move_backfill(
        self, backfill_id: str, expected: Sequence[BackfillStatus], status: BackfillStatus
    ) -> bool:
        """Change how a backfill stands; one that is cancelled has no planned ticks afterwards."""


def schedule_owner(name: str) -> str:
    """The owner of a schedule's ticks."""
    return f"schedule/{name}"


def backfill_owner(backfill_id: str) -> str:
    """The owner of a backfill's ticks."""
    return f"backfill/{backfill_id}"


def tick_facts(tick: Tick) -> JsonObject:
    """A tick as readers see it."""
    return {
        "tick": iso(tick.tick),
        "status": tick.status,
        "execution": tick.execution,
        "why": tick.why,
        "at": iso(tick.at),
    }


def backfill_facts(backfill: Backfill) -> JsonObject:
    """A backfill as readers see it."""
    fields = msgspec.structs.asdict(backfill)
    fields["from"], fields["to"] = iso(fields.pop("first_at")), iso(fields.pop("last_at"))
    return {**fields, "created_at": iso(backfill.created_at)}


def plan_facts(planned: PlannedBackfill) -> JsonObject:
    """What a dry run tells beside the backfill."""
    return {
        "ticks": [iso(tick) for tick in planned.ticks],
        "existing": {iso(tick): execution for tick, execution in planned.existing.items()},
    }


def over(counts: Mapping[str, int]) -> int:
    """How many ticks are over."""
    return sum(number for status, number in counts.items() if status not in NOT_OVER)


def unknown_backfill(backfill_id: str) -> NotFound:
    """What is raised for a backfill that is not there."""
    return NotFound(f"there is no backfill {backfill_id!r:.80}", hint="noetl backfill list")
