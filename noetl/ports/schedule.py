"""What starts executions without a person: schedules and triggers as they rest, and their part of a store.

Times are milliseconds since the epoch. When a schedule is due is decided by the store's clock alone, so that
several servers over one store fire each tick once.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.json_value import JsonObject

HOOKS = "/api/v1/hooks/"  # below it webhooks are called by their names
NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"
KEY_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"
SPANS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}  # the units of a length of time, in seconds
EVERY_MOST_S = 366 * 24 * 3600
CRON_LENGTH = 200
SECRET_LEAST = 16
SUBJECT_LENGTH = 255
CATCH_UPS = ("none", "latest", "all")
OVERLAPS = ("skip", "queue", "allow", "replace")

StandingName = Annotated[str, Meta(pattern=NAME_PATTERN)]
PlaybookPath = Annotated[str, Meta(min_length=1, max_length=512)]
PlaybookNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Pattern = Annotated[str, Meta(min_length=1, max_length=512)]  # `*` stands for any characters, `?` for one
ENDS: tuple[str, ...] = ("completed", "failed")
MATCHES: tuple[str, ...] = ("any", "all")
AFTER_MOST = 20
FILTER_LENGTH = 16_384
SOURCE_LENGTH = 1024
LOOK_EVERY = "30s"
CREDENTIAL_PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]{0,127}$"
BATCH_MOST = 1000
WAIT_MOST_S = 24 * 3600  # that debounce and batch.within may say
SPAN_PATTERN = "^[1-9][0-9]{0,5}[smhd]$"
Span = Annotated[str, Meta(pattern=SPAN_PATTERN)]  # a length of time, as in 30s or 5m


class Skipped(msgspec.Struct, rename={"first_at": "from", "last_at": "to"}):
    """Ticks that were due and started nothing: the newest such span, why, and how many there ever were."""

    count: int
    first_at: int
    last_at: int
    why: str
    total: int = 0


class ScheduleBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A schedule that is wanted."""

    name: StandingName
    path: PlaybookPath
    version: PlaybookNumber | None = None  # None: the newest when it fires
    workload: JsonObject = {}
    cron: Annotated[str, Meta(min_length=1, max_length=CRON_LENGTH)] | None = None
    timezone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    every_s: Annotated[int, Meta(ge=1, le=EVERY_MOST_S)] | None = None
    enabled: bool = True
    catch_up: Literal["none", "latest", "all", "one", "skip"] = "latest"  # of ticks that nobody saw
    overlap: Literal["skip", "queue", "allow", "replace"] = "skip"  # while an earlier tick is not over


class ScheduleAsk(ScheduleBody, kw_only=True):
    """The same, and by whom: a playbook, and either a cron expression or an interval."""

    by: str = "cli"


class Schedule(ScheduleBody, kw_only=True, forbid_unknown_fields=False):
    """A playbook that is started by the clock: when a cron expression says so, or every so often."""

    next_at: int | None = None  # None while it is paused
    last_at: int | None = None
    last_execution: str | None = None
    last_error: str | None = None  # why the last tick started nothing
    created_at: int = 0
    by: str = ""
    skipped: Skipped | None = None


class Times(msgspec.Struct, kw_only=True):
    """When something could be started; `schedule` is the one that would get these times."""

    cron: str | None = None
    timezone: str = "UTC"
    every_s: int | None = None
    schedule: str | None = None
    limit: int = 5


class ComingTick(msgspec.Struct, kw_only=True):
    """A tick to come: the moment, and what clocks in its time zone show then."""

    tick: int
    local: str
    clocks: Literal["forward", "back"] | None = (
        None  # they are put so between the tick before it and this one
    )


class TriggerBatch(msgspec.Struct, forbid_unknown_fields=True):
    """How much starts together: so many, or what arrived within a while of the first."""

    max: Annotated[int, Meta(ge=1, le=BATCH_MOST)]
    within: Span


class TriggerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename={"payload_key": "as"}):
    """A trigger that is wanted."""

    name: StandingName
    kind: Literal["webhook", "nats", "playbook", "object"]
    path: PlaybookPath
    version: PlaybookNumber | None = None
    workload: JsonObject = {}
    payload_key: Annotated[str, Meta(pattern=KEY_PATTERN)] = "payload"  # where the workload has the message
    secret: Annotated[str, Meta(min_length=SECRET_LEAST, max_length=255)] | None = None
    subject: Annotated[str, Meta(min_length=1, max_length=SUBJECT_LENGTH)] | None = None
    queue: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    after: Annotated[list[Pattern], Meta(max_length=AFTER_MOST)] = []  # playbooks whose end is waited for
    match: Literal["any", "all"] = "any"  # of them
    on: Annotated[list[Literal["completed", "failed"]], Meta(max_length=8)] = msgspec.field(
        default_factory=lambda: ["completed"]
    )
    children: bool = False  # ends of executions that others started, too
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_LENGTH)] | None = None  # where objects arrive
    auth: Annotated[str, Meta(pattern=CREDENTIAL_PATTERN)] | None = None  # the credential of that place
    every: Span = LOOK_EVERY  # how often it is looked at
    existing: bool = False  # what is there already, too
    filter: Annotated[str, Meta(min_length=1, max_length=FILTER_LENGTH)] | None = (
        None  # a template that holds
    )
    debounce: Span | None = None  # how long nothing more has arrived
    batch: TriggerBatch | None = None
    enabled: bool = True


class TriggerAsk(TriggerBody, kw_only=True):
    """The same, and by whom: a playbook, and what it is started by."""

    by: str = "cli"


class Trigger(TriggerBody, kw_only=True, forbid_unknown_fields=False):
    """A playbook that is started by what arrives; of a secret only the digest rests here."""

    created_at: int = 0
    by: str = ""
    last_at: int | None = None  # when it fired last
    last_execution: str | None = None
    last_error: str | None = None  # why it started nothing then
    pending: int = 0  # what arrived and waits


class Fired(msgspec.Struct):
    """What became of a tick, and when the next one is."""

    next_at: int | None
    last_at: int
    execution: str | None = None
    error: str | None = None
    skipped: Skipped | None = None


class ByName(Protocol):
    """Schedules and triggers by name; unknown names raise NotFound."""

    async def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name."""

    async def schedule(self, name: str) -> Schedule:
        """One schedule."""

    async def delete_schedule(self, name: str) -> None:
        """Forget a schedule."""

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name; a front may leave out the digests."""

    async def trigger(self, name: str) -> Trigger:
        """One trigger."""

    async def delete_trigger(self, name: str) -> None:
        """Forget a trigger; a front forgets its secret too."""


class ScheduleStore(ByName, Protocol):
    """Schedules and triggers by name."""

    async def clock(self) -> int:
        """The time that decides what is due."""

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        """Keep a schedule, in the place of one that has the name; `new`: unless there is one, then False.

        What the last tick did and who made it first stay as they are.
        """

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        """Schedules whose next tick has come, those that wait longest first."""

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        """Keep a trigger, in the place of one that has the name; `new`: unless there is one, then False.

        A webhook without a secret keeps the one that it has. What it did last and who made it first stay
        as they are.
        """


def span_ms(span: str) -> int:
    """A length of time in milliseconds."""
    return int(span[:-1]) * SPANS[span[-1]] * 1000


def span_text(seconds: int) -> str:
    """A length of time as it is written, in the largest unit that it is a whole number of."""
    unit = next(unit for unit, length in SPANS.items() if seconds % length == 0)
    return f"{seconds // SPANS[unit]}{unit}"


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
    fields["last_at"] = iso(trigger.last_at) if trigger.last_at is not None else None
    fields["batch"] = msgspec.to_builtins(trigger.batch)
    fields["hook"] = f"{HOOKS}{trigger.name}" if trigger.kind == "webhook" else None
    return fields


def unknown_schedule(name: str) -> NotFound:
    """What is raised for a schedule that is not there."""
    return NotFound(f"there is no schedule {name!r}", hint="noetl schedule list")


def unknown_trigger(name: str) -> NotFound:
    """What is raised for a trigger that is not there."""
    return NotFound(f"there is no trigger {name!r}", hint="noetl trigger list")
