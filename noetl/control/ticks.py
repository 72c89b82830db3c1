"""When the ticks of a schedule are: cron expressions, intervals, time zones. Nothing is read or started."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal

from noetl.core.event import iso
from noetl.core.shapes import TriggerFacts
from noetl.dsl.nearest import nearest
from noetl.errors import RequestError
from noetl.ports.schedule import CRON_LENGTH, EVERY_MOST_S, ComingTick, Schedule

if TYPE_CHECKING:
    from cronsim import CronSim

WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L or LW",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT",
}


def next_tick(schedule: Schedule, now: int) -> int:
    """The first moment after `now` at which a schedule is due; raises RequestError when there is none."""
    if (schedule.cron is None) == (schedule.every_s is None):
        raise RequestError(
            "a schedule has either a cron expression or an interval",
            hint="--cron '0 3 * * *', or --every 15m",
        )
    if schedule.cron is not None:
        return _next_cron(schedule.cron, zone(schedule.timezone), now)
    every_s = schedule.every_s or 0
    if not 1 <= every_s <= EVERY_MOST_S:
        raise RequestError(f"every {every_s} s is no interval", hint="from one second to a year, as in 15m")
    begun = now if schedule.next_at is None else schedule.next_at
    return begun + max(1, (now - begun) // (every_s * 1000) + 1) * every_s * 1000


def previous_tick(schedule: Schedule, tick: int) -> int | None:
    """The last moment before a tick at which the schedule was due; None when there is none."""
    if schedule.every_s is not None:
        return tick - schedule.every_s * 1000
    before = _parsed(schedule.cron or "", datetime.fromtimestamp(tick / 1000, zone(schedule.timezone)), True)
    return next((moment for found in before if (moment := int(found.timestamp() * 1000)) < tick), None)


def tick_trigger(schedule: Schedule, tick: int, kind: str = "schedule") -> TriggerFacts:
    """What templates of an execution read of the tick that it is for."""
    before = previous_tick(schedule, tick)
    return {
        "kind": kind,
        "name": schedule.name,
        "tick": iso(tick),
        "previous_tick": None if before is None else iso(before),
    }


def next_ticks(schedule: Schedule, count: int) -> list[int]:
    """The moments at which a schedule will be due, the next one first; none while it is paused."""
    ticks = [] if schedule.next_at is None else [schedule.next_at]
    while ticks and len(ticks) < count:
        ticks.append(next_tick(schedule, ticks[-1]))
    return ticks


def coming_ticks(schedule: Schedule, count: int) -> list[ComingTick]:
    """The same, as clocks in the time zone show them, and where those are put in between."""
    where = zone(schedule.timezone)
    ticks = next_ticks(schedule, count)
    offsets = [datetime.fromtimestamp(tick / 1000, where).utcoffset() or timedelta() for tick in ticks]
    coming = []
    for tick, offset, before in zip(ticks, offsets, [*offsets[:1], *offsets], strict=False):
        clocks = None if offset == before else _way(offset, before)
        coming.append(ComingTick(tick=tick, local=local_words(schedule, tick), clocks=clocks))
    return coming


def _way(offset: timedelta, before: timedelta) -> Literal["forward", "back"]:
    return "forward" if offset > before else "back"


def local_words(schedule: Schedule, ms: int) -> str:
    """A tick as clocks in the schedule's time zone show it, with how far they are from UTC."""
    shown = datetime.fromtimestamp(ms / 1000, zone(schedule.timezone))
    return (
        f"{shown:%Y-%m-%d %H:%M:%S} UTC" if schedule.timezone == "UTC" else f"{shown:%Y-%m-%d %H:%M:%S %z %Z}"
    )


def _next_cron(cron: str, where: tzinfo, now: int) -> int:
    ticks = _parsed(cron, datetime.fromtimestamp(now / 1000, where))
    for tick in ticks:
        moment = int(tick.timestamp() * 1000)
        if moment > now:  # in the hour that a clock is put back by, the first may be one that has passed
            return moment
    raise RequestError(f"the cron expression '{cron}' never comes true", hint="as in '0 3 * * *'")


def _parsed(cron: str, begin: datetime, backwards: bool = False) -> "CronSim":
    from cronsim import CronSim, CronSimError

    if cron.startswith("@"):
        if cron not in WORDS:
            raise RequestError(
                f"'{cron[:CRON_LENGTH]}' is no word for a schedule", hint=f"one of {', '.join(WORDS)}"
            )
        cron = WORDS[cron]
    parts = cron.split()
    if len(parts) != len(FIELDS) or len(cron) > CRON_LENGTH:
        message = f"the cron expression '{cron[:CRON_LENGTH]}' has {len(parts)} fields, not {len(FIELDS)}"
        raise RequestError(message, hint=f"{' '.join(FIELDS)}, as in '0 3 * * *'")
    try:
        return CronSim(cron, begin, reverse=backwards)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        if field not in FIELDS:
            raise RequestError(f"the cron expression '{cron}': {error}", hint="as in '0 3 * * *'") from None
        part = parts[list(FIELDS).index(field)]
        if field == "day-of-month" and _is_day(part, begin):
            message = (
                f"the cron expression '{cron}' never comes true: no month '{parts[3]}' has a day '{part}'"
            )
            raise RequestError(message, hint="for the last day of a month: L, as in '0 3 L * *'") from None
        message = f"the cron expression '{cron}' has a wrong {field}: '{part}'"
        raise RequestError(
            message, hint=f"{field}: {FIELDS[field]}; also *, lists, ranges and steps"
        ) from None


def _is_day(text: str, begin: datetime) -> bool:
    """Whether a text names days of some month, so that what does not fit them is the month."""
    from cronsim import CronSim, CronSimError

    try:
        CronSim(f"0 0 {text} * *", begin)
    except CronSimError:
        return False
    return True


def zone(name: str) -> tzinfo:
    """A time zone by its name; raises RequestError."""
    from zoneinfo import ZoneInfo, available_timezones

    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        near = nearest(name[:80], available_timezones())
        hint = f"did you mean '{near}'?" if near else "use a name such as Europe/Berlin"
        raise RequestError(f"'{name[:80]}' is no time zone known here", hint=hint) from None
