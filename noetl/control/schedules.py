"""Schedules: when their ticks are, and starting what is due. The store's clock decides, never this process's.

An execution is started first, under the key of its tick, and the schedule goes on afterwards: after a crash
in between the same tick finds its execution again. The same holds for several servers over one store.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from noetl.control.ticks import next_tick, tick_trigger, zone
from noetl.core.event import iso
from noetl.errors import BackendError, Conflict, NoetlError, NotFound, RequestError
from noetl.ports.front import Ask, Started
from noetl.ports.schedule import (
    NAME_PATTERN,
    Fired,
    Schedule,
    ScheduleAsk,
    Skipped,
)
from noetl.ports.store import Store

if TYPE_CHECKING:
    pass

_LOG = logging.getLogger("noetl.schedules")
LATE_MS = 60_000  # a tick that is later than this was missed
COUNTED = 10_000  # ticks of a cron expression that are counted one by one
AT_ONCE = 100
StartAsked = Callable[[Ask], Awaitable[Started]]
FindAsked = Callable[[Ask], Awaitable[object]]


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a schedule or a trigger."""
    if not re.fullmatch(NAME_PATTERN, name):
        message = f"'{name[:80]}' is no name for a {what}"
        raise RequestError(message, hint="use up to 64 letters, digits, _ . and -, with a letter or _ first")


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
            Ask(
                path=schedule.path,
                version=schedule.version,
                workload=schedule.workload,
                by=by,
                trigger={"kind": "manual", "name": name},
            )
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
        ask.trigger = tick_trigger(schedule, tick)
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
