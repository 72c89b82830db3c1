"""Schedules: keeping them, and deciding about their ticks. The store's clock decides, never this process's.

What becomes of a tick is decided in the transaction that lets its schedule go on to the next one: of several
servers one does it. Starting what was decided is the tick runner's.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from noetl.control.named_rows import put_named
from noetl.control.storable import require_plain, storable_json
from noetl.control.tick_decision import decide_ticks, skipped_words
from noetl.control.tick_runner import StartAsked, Tell, TickRunner
from noetl.control.ticks import coming_ticks, next_tick, zone
from noetl.errors import BackendError, Conflict, NotFound, RequestError
from noetl.ports.front import Ask, Started
from noetl.ports.schedule import (
    CATCH_UPS,
    NAME_PATTERN,
    OVERLAPS,
    ComingTick,
    Fired,
    Schedule,
    ScheduleAsk,
    Times,
)
from noetl.ports.store import Store
from noetl.ports.tick import Tick, schedule_owner

_LOG = logging.getLogger("noetl.schedules")
AT_ONCE = 100
ROUNDS = 100  # ticks of one schedule that are decided before others have their turn
OLDER_CATCH_UPS = {"one": "latest", "skip": "none"}  # as earlier releases say it
FindAsked = Callable[[Ask], Awaitable[object]]


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a schedule or a trigger."""
    if not re.fullmatch(NAME_PATTERN, name):
        message = f"'{name[:80]}' is no name for a {what}"
        raise RequestError(message, hint="use up to 64 letters, digits, _ . and -, with a letter or _ first")


class ScheduleBook:
    """The schedules of a store: a part of the front."""

    def __init__(self, store: Store, start: StartAsked, find: FindAsked, tell: Tell) -> None:
        self._store, self._start_playbook, self._find_playbook = store, start, find
        self._runner = TickRunner(store, start, tell)

    async def put_schedule(self, ask: ScheduleAsk, *, new: bool = False) -> Schedule:
        """Keep a schedule; raises RequestError when it makes no sense, Conflict when it is to be new."""
        check_name(ask.name, "schedule")
        require_plain(ask.path, "path")
        storable_json(ask.workload, "workload")
        fields = msgspec.structs.asdict(ask)
        fields["catch_up"] = OLDER_CATCH_UPS.get(ask.catch_up, ask.catch_up)
        for field, words in (("catch_up", CATCH_UPS), ("overlap", OVERLAPS)):
            if fields[field] not in words:
                raise RequestError(f"{field} is '{fields[field]}'", hint=f"one of {', '.join(words)}")
        existing = await self._existing_schedule(ask.name)
        # One whose playbook is gone can still be paused.
        if existing is None or (existing.path, existing.version) != (ask.path, ask.version):
            await self._find_playbook(Ask(path=ask.path, version=ask.version))
        schedule = Schedule(**fields, created_at=await self._store.clock())
        zone(schedule.timezone)
        following = _following(schedule, existing)
        schedule.next_at = following if schedule.enabled else None
        put, find = self._store.put_schedule, self._store.schedule
        if not await put_named(put, find, schedule, existing, new=new):
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

    async def coming_ticks(self, times: Times) -> Sequence[ComingTick]:
        existing = None if times.schedule is None else await self._store.schedule(times.schedule)
        if existing is not None and times.cron is None and times.every_s is None:
            kept = {"cron": existing.cron, "timezone": existing.timezone, "every_s": existing.every_s}
            times = msgspec.structs.replace(times, **kept)
        schedule = Schedule(
            name="coming",
            path="",
            cron=times.cron,
            timezone=times.timezone,
            every_s=times.every_s,
            created_at=await self._store.clock(),
        )
        zone(schedule.timezone)
        schedule.next_at = _following(schedule, existing)
        return coming_ticks(schedule, times.limit)

    async def schedule_ticks(self, name: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        await self._store.schedule(name)
        return await self._store.ticks(schedule_owner(name), limit, before)

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
        """Decide what is due and start it, each tick once; raises BackendError to be called again."""
        trouble: BackendError | None = None
        await self._runner.note_ended()  # so that no tick is skipped for one that is over
        for schedule in await self._store.due_schedules(AT_ONCE):
            try:
                await self._decide(schedule)
            except BackendError as error:  # this one stays due; those behind it need not wait for it
                trouble = error
        await self._runner.tend()
        if trouble is not None:
            raise trouble

    async def _decide(self, schedule: Schedule) -> None:
        """Decide about what has come of a schedule; `all` has it decided tick by tick."""
        for _ in range(ROUNDS):
            tick, now = schedule.next_at, await self._store.clock()
            if tick is None or tick > now:
                return
            open_ticks = await self._store.open_ticks(schedule_owner(schedule.name))
            try:
                fired, ticks = decide_ticks(schedule, now, open_ticks)
            except RequestError as error:  # its times make no sense any more: a time zone that is gone
                fired, ticks = Fired(None, tick, error=error.message), []
            if not await self._store.advance_schedule(schedule.name, tick, fired, ticks):
                return  # another server was quicker, or it was changed
            if fired.skipped is not None:
                _LOG.warning("schedule %s: %s", schedule.name, skipped_words(fired.skipped))
            if fired.next_at is None or fired.next_at > now:
                return
            schedule = await self._store.schedule(schedule.name)


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
