"""Schedules: when their ticks are, and starting what is due. The store's clock decides, never this process's.

An execution is started first, under the key of its tick, and the schedule goes on afterwards: after a crash
in between the same tick finds its execution again. The same holds for several servers over one store.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

import msgspec

from noetl.core.event import iso
from noetl.dsl.nearest import nearest
from noetl.errors import BackendError, Conflict, NoetlError, NotFound, RequestError
from noetl.ports.front import Ask, Started
from noetl.ports.schedule import (
    CRON_LENGTH,
    EVERY_MOST_S,
    NAME_PATTERN,
    Fired,
    Schedule,
    ScheduleAsk,
    Skipped,
)
from noetl.ports.store import Store

if TYPE_CHECKING:
    from cronsim import CronSim

_LOG = logging.getLogger("noetl.schedules")
LATE_MS = 60_000  # a tick that is later than this was missed
COUNTED = 10_000  # ticks of a cron expression that are counted one by one
AT_ONCE = 100
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

StartAsked = Callable[[Ask], Awaitable[Started]]
FindAsked = Callable[[Ask], Awaitable[object]]


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a schedule or a trigger."""
    if not re.fullmatch(NAME_PATTERN, name):
        message = f"'{name[:80]}' is no name for a {what}"
        raise RequestError(message, hint="use up to 64 letters, digits, _ . and -, with a letter or _ first")


# When


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


def next_ticks(schedule: Schedule, count: int) -> list[int]:
    """The moments at which a schedule will be due, the next one first; none while it is paused."""
    ticks = [] if schedule.next_at is None else [schedule.next_at]
    while ticks and len(ticks) < count:
        ticks.append(next_tick(schedule, ticks[-1]))
    return ticks


def _next_cron(cron: str, where: tzinfo, now: int) -> int:
    ticks = _parsed(cron, datetime.fromtimestamp(now / 1000, where))
    for tick in ticks:
        moment = int(tick.timestamp() * 1000)
        if moment > now:  # in the hour that a clock is put back by, the first may be one that has passed
            return moment
    raise RequestError(f"the cron expression '{cron}' never comes true", hint="as in '0 3 * * *'")


def _parsed(cron: str, begin: datetime) -> "CronSim":
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
        return CronSim(cron, begin)
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


# What


class ScheduleBook:
    """The schedules of a store: a part of the front."""

    def __init__(self, store: Store, start: StartAsked, find: FindAsked) -> None:
        self._store, self._start_playbook, self._find_playbook = store, start, find

    async def put_schedule(self, ask: ScheduleAsk, *, new: bool = False) -> Schedule:
        """Keep a schedule; raises RequestError when it makes no sense, Conflict when it is to be new."""
        check_name(ask.name, "schedule")
        if ask.catch_up not in ("one", "skip"):
            raise RequestError(f"catch_up is '{ask.catch_up}'", hint="it is one, or skip")
        existing = await self._existing_schedule(ask.name)
        # One whose playbook is gone can still be paused.
        if existing is None or (existing.path, existing.version) != (ask.path, ask.version):
            await self._find_playbook(Ask(path=ask.path, version=ask.version))
        schedule = Schedule(**msgspec.structs.asdict(ask), created_at=await self._store.clock())
        zone(schedule.timezone)
        following = _following(schedule, existing)
        schedule.next_at = following if schedule.enabled else None
        if not await self._store.put_schedule(schedule, new=new):
            message = f"there is a schedule '{ask.name}' already"
            raise Conflict(message, hint="choose another name, or delete that one")
        return await self._store.schedule(ask.name)

    async def _existing_schedule(self, name: str) -> Schedule | None:
        try:
            return await self._store.schedule(name)
        except NotFound:
            return None

    async def schedules(self) -> Sequence[Schedule]:
        return await self._store.schedules()

    async def schedule(self, name: str) -> Schedule:
        return await self._store.schedule(name)

    async def delete_schedule(self, name: str) -> None:
        await self._store.delete_schedule(name)

    async def run_schedule(self, name: str, by: str = "cli") -> Started:
        """Start at once what a schedule starts; its ticks stay where they are."""
        schedule = await self._store.schedule(name)
        return await self._start_playbook(
            Ask(path=schedule.path, version=schedule.version, workload=schedule.workload, by=by)
        )

    async def fire_schedules(self) -> None:
        """Start what is due, each tick once; raises BackendError when that has to be tried again."""
        trouble: BackendError | None = None
        for schedule in await self._store.due_schedules(AT_ONCE):
            tick = schedule.next_at
            if tick is None:
                continue
            try:
                await self._store.advance_schedule(schedule.name, tick, await self._fired(schedule, tick))
            except BackendError as error:  # this one stays due; those behind it need not wait for it
                trouble = error
        if trouble is not None:
            raise trouble

    async def _fired(self, schedule: Schedule, tick: int) -> Fired:
        now = await self._store.clock()
        fired = Fired(None, tick)
        try:
            fired.next_at = next_tick(schedule, now)
            missed = schedule.catch_up == "skip" and now - tick > LATE_MS
            fired.skipped = _skipped(schedule, tick, now, missed=missed)
            if fired.skipped is not None:
                _LOG.warning("schedule %s: %s", schedule.name, skipped_words(fired.skipped))
            if missed:
                fired.error = f"the tick of {iso(tick)} was skipped: no server ran then"
            else:
                fired.execution = await self._begun(schedule, tick)
        except BackendError:
            raise
        except NoetlError as error:
            fired.error = error.message
        return fired

    async def _begun(self, schedule: Schedule, tick: int) -> str:
        key = f"schedule/{schedule.name}/{iso(tick)}"
        ask = Ask(path=schedule.path, version=schedule.version, workload=schedule.workload)
        ask.idempotency_key, ask.by = key, f"schedule {schedule.name}"
        try:
            return (await self._start_playbook(ask)).execution_id
        except Conflict:  # it was fired already, and playbook or workload changed since
            summary = await self._store.by_key(key)
            if summary is None:
                raise
            return summary.execution_id


def _skipped(schedule: Schedule, tick: int, now: int, *, missed: bool) -> Skipped | None:
    """The ticks up to now that start nothing: those behind the due one, and with `missed` that one too."""
    behind = next_tick(schedule, tick)
    if behind > now and not missed:
        return None
    count, last = (1, tick) if missed else (0, tick)
    if schedule.every_s is not None:
        count += (now - tick) // (schedule.every_s * 1000)
        last = tick + (now - tick) // (schedule.every_s * 1000) * schedule.every_s * 1000
    else:
        moment = behind
        while moment <= now and count < COUNTED:
            count, last, moment = count + 1, moment, next_tick(schedule, moment)
    why = "no server ran then" if missed else "an earlier tick was due as well, and one execution is started"
    if count >= COUNTED and schedule.every_s is None:
        why += f"; more than {COUNTED} are not counted"
    total = count + (schedule.skipped.total if schedule.skipped else 0)
    return Skipped(count, tick if missed else behind, last, why, total)


def skipped_words(skipped: Skipped) -> str:
    """Which ticks started nothing, in words."""
    if skipped.count == 1:
        return f"the tick of {iso(skipped.first_at)} was skipped: {skipped.why}"
    span = f"from {iso(skipped.first_at)} to {iso(skipped.last_at)}"
    return f"{skipped.count} ticks {span} were skipped: {skipped.why}"


def _following(schedule: Schedule, existing_schedule: Schedule | None) -> int:
    """Its next tick; one whose times do not change goes on as it was, however often it is put again."""
    following = next_tick(schedule, schedule.created_at)
    if existing_schedule is None or existing_schedule.next_at is None:
        return following
    same = all(
        getattr(existing_schedule, name) == getattr(schedule, name)
        for name in ("cron", "timezone", "every_s")
    )
    return existing_schedule.next_at if same else following
