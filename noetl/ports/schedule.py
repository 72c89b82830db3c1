"""What starts executions without a person: schedules and triggers as they rest, and their part of a store.

Times are milliseconds since the epoch. When a schedule is due is decided by the store's clock alone, so that
several servers over one store fire each tick once.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.json_value import JsonObject

HOOKS = "/api/v1/hooks/"  # below it webhooks are called by their names


class Skipped(msgspec.Struct, rename={"first_at": "from", "last_at": "to"}):
    """Ticks that were due and started nothing: the newest such span, why, and how many there ever were."""

    count: int
    first_at: int
    last_at: int
    why: str
    total: int = 0


class Schedule(msgspec.Struct, kw_only=True):
    """A playbook that is started by the clock: when a cron expression says so, or every so often."""

    name: str
    path: str
    version: int | None = None  # None: the newest when it fires
    workload: JsonObject = {}
    cron: str | None = None
    timezone: str = "UTC"
    every_s: int | None = None
    enabled: bool = True
    catch_up: str = "one"  # of ticks that passed while no server ran: fire `one`, or `skip` them
    next_at: int | None = None  # None while it is paused
    last_at: int | None = None
    last_execution: str | None = None
    last_error: str | None = None  # why the last tick started nothing
    created_at: int = 0
    by: str = ""
    skipped: Skipped | None = None


class Trigger(msgspec.Struct, kw_only=True):
    """A playbook that is started by a message: a webhook call, or one on a NATS subject."""

    name: str
    kind: str  # webhook | nats
    path: str
    version: int | None = None
    workload: JsonObject = {}
    payload_key: str = "payload"  # where the workload has what the message said
    secret: str | None = None  # of a webhook: the digest of what callers prove that they know
    subject: str | None = None
    queue: str | None = None
    enabled: bool = True
    created_at: int = 0
    by: str = ""


class Fired(msgspec.Struct):
    """What became of a tick, and when the next one is."""

    next_at: int | None
    last_at: int
    execution: str | None = None
    error: str | None = None
    skipped: Skipped | None = None


class ScheduleStore(Protocol):
    """Schedules and triggers by name."""

    async def clock(self) -> int:
        """The time that decides what is due."""
        ...

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        """Keep a schedule, in the place of one that has the name; `new`: unless there is one, then False.

        What the last tick did and who made it first stay as they are.
        """
        ...

    async def schedule(self, name: str) -> Schedule:
        """One schedule; raises NotFound."""
        ...

    async def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name."""
        ...

    async def delete_schedule(self, name: str) -> None:
        """Forget a schedule; raises NotFound."""
        ...

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        """Schedules whose next tick has come, those that wait longest first."""
        ...

    async def advance_schedule(self, name: str, expected: int, fired: Fired) -> bool:
        """Go on to the next tick while it is still the expected one that is next; False when it is not."""
        ...

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        """Keep a trigger, in the place of one that has the name; `new`: unless there is one, then False."""
        ...

    async def trigger(self, name: str) -> Trigger:
        """One trigger; raises NotFound."""
        ...

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name."""
        ...

    async def delete_trigger(self, name: str) -> None:
        """Forget a trigger; raises NotFound."""
        ...


def schedule_facts(schedule: Schedule) -> JsonObject:
    """A schedule as readers see it."""
    fields = msgspec.structs.asdict(schedule)
    for field in ("next_at", "last_at", "created_at"):
        fields[field] = iso(fields[field]) if fields[field] is not None else None
    if schedule.skipped is not None:
        skipped = msgspec.to_builtins(schedule.skipped)
        fields["skipped"] = {**skipped, "from": iso(skipped["from"]), "to": iso(skipped["to"])}
    return fields


def trigger_facts(trigger: Trigger) -> JsonObject:
    """A trigger as readers see it: without its secret, and with the place where a webhook is called."""
    fields = msgspec.structs.asdict(trigger)
    del fields["secret"]
    fields["as"], fields["created_at"] = fields.pop("payload_key"), iso(trigger.created_at)
    fields["hook"] = f"{HOOKS}{trigger.name}" if trigger.kind == "webhook" else None
    return fields


def unknown_schedule(name: str) -> NotFound:
    """What is raised for a schedule that is not there."""
    return NotFound(f"there is no schedule {name!r}", hint="noetl schedule list")


def unknown_trigger(name: str) -> NotFound:
    """What is raised for a trigger that is not there."""
    return NotFound(f"there is no trigger {name!r}", hint="noetl trigger list")
