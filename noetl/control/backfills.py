"""Backfills: ticks of the past that are made up for, some at a time, each once. A part of the front."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import islice

from noetl.control.schedules import FindAsked
from noetl.control.storable import storable_json
from noetl.control.tick_runner import key_of
from noetl.control.ticks import next_tick, zone
from noetl.core.event import iso
from noetl.errors import Conflict, RequestError
from noetl.ports.front import Ask
from noetl.ports.schedule import Schedule
from noetl.ports.store import Store
from noetl.ports.tick import (
    BACKFILL_MOST,
    LOOKED_UP,
    PARALLEL_MOST,
    Backfill,
    BackfillAsk,
    BackfillStatus,
    BackfillWish,
    PlannedBackfill,
    Tick,
    backfill_owner,
)

EARLIEST, LATEST = 1970, 9000  # years of moments: with room for any time zone and the tick before
_MOVES: dict[BackfillWish, tuple[tuple[BackfillStatus, ...], BackfillStatus]] = {
    "pause": (("running",), "paused"),
    "resume": (("paused",), "running"),
    "cancel": (("running", "paused"), "cancelled"),
}


class BackfillBook:
    """The backfills of a store."""

    def __init__(self, store: Store, find: FindAsked, new_id: Callable[[], str]) -> None:
        self._store, self._find_playbook, self._new_backfill_id = store, find, new_id

    async def add_backfill(self, ask: BackfillAsk) -> PlannedBackfill:
        """Plan the ticks of a span and keep them to be started; a dry run only tells them."""
        if not 1 <= ask.parallel <= PARALLEL_MOST:
            raise RequestError(f"parallel is {ask.parallel}", hint=f"from 1 to {PARALLEL_MOST}")
        storable_json(ask.workload, "workload")
        schedule = await self._schedule_of(ask)
        where = zone(schedule.timezone)
        now = await self._store.clock()
        first, last = moment(ask.from_, where, "from"), moment(ask.to, where, "to")
        if first > last:
            raise RequestError(f"from {iso(first)} is after to {iso(last)}", hint="exchange them")
        if last > now:
            message = f"to lies in the future: it is {iso(now)}, and to is {iso(last)}"
            raise RequestError(message, hint="a schedule starts what is to come")
        ticks = ticks_between(schedule, first, last)
        backfill = Backfill(
            id=self._new_backfill_id(),
            schedule=ask.schedule,
            path=schedule.path,
            version=schedule.version,
            workload=schedule.workload,
            cron=schedule.cron,
            timezone=schedule.timezone,
            every_s=schedule.every_s,
            first_at=first,
            last_at=last,
            parallel=ask.parallel,
            total=len(ticks),
            created_at=now,
            by=ask.by,
        )
        if ask.dry_run:
            return PlannedBackfill(backfill, ticks, await self._existing(backfill, ticks[:LOOKED_UP]))
        owner = backfill_owner(backfill.id)
        planned = [Tick(owner=owner, tick=tick, status="planned", at=now) for tick in ticks]
        await self._store.put_backfill(backfill, planned)
        return PlannedBackfill(await self._store.backfill(backfill.id), ticks)

    async def _existing(self, backfill: Backfill, ticks: Sequence[int]) -> dict[int, str]:
        """The executions that ticks have already."""
        found = {tick: await self._store.by_key(key_of(backfill, tick)) for tick in ticks}
        return {tick: summary.execution_id for tick, summary in found.items() if summary is not None}

    async def _schedule_of(self, ask: BackfillAsk) -> Schedule:
        """The times and the playbook that are made up for."""
        if ask.schedule is not None:
            if ask.path is not None or ask.cron is not None or ask.every_s is not None:
                hint = "leave out path, cron and every; without a schedule, leave that out"
                raise RequestError("a backfill of a schedule has its playbook and its times", hint=hint)
            schedule = await self._store.schedule(ask.schedule)
            changed = {"workload": ask.workload, "version": ask.version}
            return _with(schedule, {key: value for key, value in changed.items() if value is not None})
        if ask.path is None:
            raise RequestError(
                "a backfill names a schedule, or a playbook", hint="as in: schedule, or path and every"
            )
        await self._find_playbook(Ask(path=ask.path, version=ask.version))
        return Schedule(
            name="backfill",
            path=ask.path,
            version=ask.version,
            workload=ask.workload or {},
            cron=ask.cron,
            timezone=ask.timezone or "UTC",
            every_s=ask.every_s,
        )

    async def backfills(self) -> Sequence[Backfill]:
        return await self._store.backfills()

    async def backfill(self, backfill_id: str) -> Backfill:
        return await self._store.backfill(backfill_id)

    async def backfill_ticks(
        self, backfill_id: str, limit: int = 100, before: int | None = None
    ) -> Sequence[Tick]:
        await self._store.backfill(backfill_id)
        return await self._store.ticks(backfill_owner(backfill_id), limit, before)

    async def control_backfill(self, backfill_id: str, wish: BackfillWish) -> Backfill:
        """Pause, resume or cancel a backfill; executions that have begun go on."""
        expected, status = _MOVES[wish]
        if not await self._store.move_backfill(backfill_id, expected, status):
            backfill = await self._store.backfill(backfill_id)
            message = f"backfill {backfill_id} is {backfill.status}: there is nothing to {wish}"
            raise Conflict(message, hint=f"noetl backfill show {backfill_id}")
        return await self._store.backfill(backfill_id)


def _with(schedule: Schedule, changes: dict[str, object]) -> Schedule:
    from msgspec.structs import replace

    return replace(schedule, **changes)


def ticks_between(schedule: Schedule, first: int, last: int) -> list[int]:
    """The ticks from `first` to `last`, both included; raises RequestError for none, and for too many."""
    ticks = list(islice(_ticks(schedule, first, last), BACKFILL_MOST + 1))
    if len(ticks) > BACKFILL_MOST:
        message = f"from {iso(first)} to {iso(last)} there are more than {BACKFILL_MOST} ticks"
        raise RequestError(message, hint="take a shorter span, and the rest in another backfill")
    if not ticks:
        raise RequestError(f"there is no tick from {iso(first)} to {iso(last)}", hint="take a longer span")
    return ticks


def _ticks(schedule: Schedule, first: int, last: int) -> Iterator[int]:
    """An interval has its beat from the schedule's next tick; without one, from the beginning of the span."""
    if schedule.every_s is None:
        tick = next_tick(schedule, first - 1)
    else:
        next_tick(schedule, first)  # says what is wrong with it
        step = schedule.every_s * 1000
        begun = schedule.next_at if schedule.next_at is not None else schedule.last_at
        tick = first if begun is None else first + (begun - first) % step
    while tick <= last:
        yield tick
        tick = next_tick(schedule, tick) if schedule.every_s is None else tick + schedule.every_s * 1000


def moment(text: str, where: tzinfo, name: str) -> int:
    """A moment as people write it, in a time zone unless it says its own; raises RequestError."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        hint = "as in 2026-11-01, 2026-11-01T03:00 or 2026-11-01T03:00:00Z"
        raise RequestError(f"{name} is '{text[:80]}', which is no moment", hint=hint) from None
    if not EARLIEST <= found.year <= LATEST:
        raise RequestError(f"{name} is '{text[:80]}'", hint=f"from the year {EARLIEST} to {LATEST}")
    if found.tzinfo is None:
        found = found.replace(tzinfo=where)
    return int(found.astimezone(UTC).timestamp() * 1000)
