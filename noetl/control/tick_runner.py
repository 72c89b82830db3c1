"""Ticks that have been decided: started, queued, replaced, and noted when they are over.

What to do stands in the store, and each step can be done again: an execution is started under the key of its
tick, and a tick is moved on while it is still as it was read. So any server goes on where another was killed,
and several at once start each tick once.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress

from msgspec.structs import replace

from noetl.control.refused_ticks import refuse
from noetl.control.ticks import tick_trigger
from noetl.core.event import iso
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict, NoetlError, NotFound
from noetl.ports.front import Ask, Started
from noetl.ports.schedule import Schedule
from noetl.ports.store import Store
from noetl.ports.tick import Backfill, Tick, TickStatus, backfill_owner

_LOG = logging.getLogger("noetl.schedules")

StartAsked = Callable[[Ask], Awaitable[Started]]
Tell = Callable[[str, Control], Awaitable[None]]


class TickRunner:
    """What one server does for the ticks of a store."""

    def __init__(self, store: Store, start: StartAsked, tell: Tell) -> None:
        self._store, self._start_playbook, self._tell = store, start, tell

    async def note_ended(self) -> None:
        """Note of ticks whose execution is over how it ended."""
        for ended in await self._store.ended_ticks():
            await self._store.move_tick(ended, "running")

    async def tend(self) -> None:
        """Go on with every tick that is not over; raises BackendError when that has to be tried again."""
        running = {backfill_owner(one.id): one for one in await self._store.running_backfills()}
        # Planned ticks first, then open ones: what another server starts in between is missed in neither.
        planned = {
            owner: await self._store.planned_ticks(owner, backfill.parallel)
            for owner, backfill in running.items()
        }
        owners: dict[str, list[Tick]] = {}
        for tick in await self._store.open_ticks():
            owners.setdefault(tick.owner, []).append(tick)
        work = [
            self._tend_schedule(owner.partition("/")[2], ticks)
            for owner, ticks in owners.items()
            if owner.startswith("schedule/")
        ]
        for owner in owners:
            if owner.startswith("backfill/") and owner not in running:  # it was paused or cancelled
                with suppress(NotFound):  # and forgotten a moment ago
                    running[owner] = await self._store.backfill(owner.partition("/")[2])
        work += [
            self._tend_backfill(backfill, owners.get(owner, []), planned.get(owner))
            for owner, backfill in running.items()
        ]
        await _one_by_one(work)

    async def _tend_schedule(self, name: str, ticks: list[Tick]) -> None:
        try:
            schedule = await self._store.schedule(name)
        except NotFound:  # it was deleted a moment ago, and its ticks with it
            return
        if schedule.overlap == "replace":
            for tick in ticks[:-1]:
                await self._replace(schedule, tick, ticks[-1])
        busy = [tick for tick in ticks if tick.status != "queued"]
        for tick in busy:
            if tick.status == "starting":
                await self._begin(schedule, schedule, tick)
        queued = [tick for tick in ticks if tick.status == "queued"]
        if queued and schedule.enabled and (not busy or schedule.overlap == "allow"):
            await self._take_turn(schedule, schedule, queued[0], "queued")

    async def _replace(self, schedule: Schedule, tick: Tick, newer: Tick) -> None:
        why = f"by the tick of {iso(newer.tick)}"
        if tick.status == "running" and tick.execution is not None:
            cancel = Control("cancel", by=f"schedule {schedule.name}", why=f"replaced {why}")
            with suppress(Conflict, NotFound):  # it is over already
                await self._tell(tick.execution, cancel)
        if tick.status in ("running", "queued"):
            await self._store.move_tick(replace(tick, status="replaced", why=why), tick.status)

    async def _tend_backfill(
        self, backfill: Backfill, ticks: list[Tick], planned: Sequence[Tick] | None
    ) -> None:
        schedule = schedule_of(backfill)
        for tick in ticks:
            if tick.status == "starting":
                await self._begin(schedule, backfill, tick)
        if planned is None:
            return
        if not planned and not ticks:
            await self._store.move_backfill(backfill.id, ["running"], "done")
        for tick in planned[: max(backfill.parallel - len(ticks), 0)]:
            # In order, and no further than the first that another server moved: what was read is old then.
            if not await self._take_turn(schedule, backfill, tick, "planned"):
                return

    async def _take_turn(
        self, schedule: Schedule, owner: Schedule | Backfill, tick: Tick, expected: TickStatus
    ) -> bool:
        starting = replace(tick, status="starting", why=None)
        backfill_id = owner.id if isinstance(owner, Backfill) else None
        if not await self._store.move_tick(starting, expected, backfill_id):
            return False
        await self._begin(schedule, owner, starting)
        return True

    async def _begin(self, schedule: Schedule, owner: Schedule | Backfill, tick: Tick) -> None:
        """Start the execution of a tick, or find the one that was started for it."""
        try:
            execution = await self._execution(schedule, owner, tick)
        except BackendError:
            raise
        except NoetlError as error:
            _LOG.warning(
                "the tick of %s of %s was not started: %s", iso(tick.tick), tick.owner, error.message
            )
            if isinstance(owner, Schedule):
                await refuse(self._store, owner, tick, error.message)
            else:
                refused = replace(tick, status="refused", why=error.message)
                await self._store.move_tick(refused, "starting")
            await self._note(owner, tick, None, error.message)
            return
        if await self._store.move_tick(replace(tick, status="running", execution=execution), "starting"):
            await self._note(owner, tick, execution, None)

    async def _note(
        self, owner: Schedule | Backfill, tick: Tick, execution: str | None, error: str | None
    ) -> None:
        if isinstance(owner, Schedule):
            await self._store.note_tick(owner.name, tick.tick, execution, error)

    async def _execution(self, schedule: Schedule, owner: Schedule | Backfill, tick: Tick) -> str:
        ask = Ask(path=schedule.path, version=schedule.version, workload=schedule.workload)
        ask.idempotency_key, ask.by = key_of(owner, tick.tick), tick.owner.replace("/", " ")
        kind = "schedule" if isinstance(owner, Schedule) else "backfill"
        ask.trigger = tick_trigger(schedule, tick.tick, kind)
        try:
            return (await self._start_playbook(ask)).execution_id
        except Conflict:  # it was started already, and playbook or workload changed since
            summary = await self._store.by_key(ask.idempotency_key)
            if summary is None:
                raise
            return summary.execution_id


async def _one_by_one(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Do all of it; one that has to be tried again lets those behind it go on."""
    trouble: BackendError | None = None
    for one in work:
        try:
            await one
        except BackendError as error:
            trouble = error
    if trouble is not None:
        raise trouble


def key_of(owner: Schedule | Backfill, tick: int) -> str:
    """The idempotency key of a tick; a backfill of a schedule shares those of the schedule."""
    if isinstance(owner, Schedule):
        return f"schedule/{owner.name}/{iso(tick)}"
    return (
        f"schedule/{owner.schedule}/{iso(tick)}" if owner.schedule else f"backfill/{owner.path}/{iso(tick)}"
    )


def schedule_of(backfill: Backfill) -> Schedule:
    """The schedule whose ticks a backfill makes up for, as it was then."""
    return Schedule(
        name=backfill.schedule or backfill.id,
        path=backfill.path,
        version=backfill.version,
        workload=backfill.workload,
        cron=backfill.cron,
        timezone=backfill.timezone,
        every_s=backfill.every_s,
    )
