"""Schedules and triggers of the store in memory."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from noetl.adapters.memory.arrivals import MemoryArrivals
from noetl.adapters.memory.ticks import MemoryTicks
from noetl.ports.schedule import Fired, Schedule, Trigger, unknown_schedule, unknown_trigger
from noetl.ports.tick import Tick, schedule_owner

KEPT = ("last_at", "last_execution", "last_error", "created_at", "by", "skipped")
TRIGGER_KEPT = ("last_at", "last_execution", "last_error", "created_at", "by")


class MemorySchedules(MemoryTicks, MemoryArrivals):
    """The part of the store in memory that keeps what starts executions."""

    _now: Callable[[], int]

    def __init__(self) -> None:
        MemoryTicks.__init__(self)
        MemoryArrivals.__init__(self)
        self._schedules: dict[str, Schedule] = {}
        self._triggers: dict[str, Trigger] = {}

    async def clock(self) -> int:
        return self._now()

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        existing_schedule = self._schedules.get(schedule.name)
        if existing_schedule is not None and new:
            return False
        copy = replace(schedule)
        for field in KEPT if existing_schedule else ():
            setattr(copy, field, getattr(existing_schedule, field))
        self._schedules[schedule.name] = copy
        return True

    async def schedule(self, name: str) -> Schedule:
        if name not in self._schedules:
            raise unknown_schedule(name)
        return replace(self._schedules[name])

    async def schedules(self) -> Sequence[Schedule]:
        return [replace(self._schedules[name]) for name in sorted(self._schedules)]

    async def delete_schedule(self, name: str) -> None:
        if self._schedules.pop(name, None) is None:
            raise unknown_schedule(name)
        self.drop_ticks(schedule_owner(name))

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        now = self._now()
        due = [
            (schedule.next_at, schedule.name)
            for schedule in self._schedules.values()
            if schedule.next_at is not None and schedule.next_at <= now
        ]
        return [replace(self._schedules[name]) for _, name in sorted(due)[:limit]]

    async def advance_schedule(
        self, name: str, expected: int, fired: Fired, ticks: Sequence[Tick] = ()
    ) -> bool:
        schedule = self._schedules.get(name)
        if schedule is None or schedule.next_at != expected:
            return False
        schedule.next_at, schedule.last_at, schedule.last_error = fired.next_at, fired.last_at, fired.error
        schedule.last_execution = fired.execution or schedule.last_execution
        schedule.skipped = fired.skipped or schedule.skipped
        self.add_ticks(ticks)
        self.forget_ticks(schedule_owner(name))
        return True

    async def note_tick(self, name: str, tick: int, execution: str | None, error: str | None) -> None:
        schedule = self._schedules.get(name)
        if schedule is not None and schedule.last_at == tick:
            schedule.last_execution = execution or schedule.last_execution
            schedule.last_error = error

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        existing_trigger = self._triggers.get(trigger.name)
        if existing_trigger is not None and new:
            return False
        copy = replace(trigger)
        for field in TRIGGER_KEPT if existing_trigger else ():
            setattr(copy, field, getattr(existing_trigger, field))
        if copy.kind == "webhook" and copy.secret is None and existing_trigger is not None:
            copy.secret = existing_trigger.secret
        self._triggers[trigger.name] = copy
        return True

    async def trigger(self, name: str) -> Trigger:
        if name not in self._triggers:
            raise unknown_trigger(name)
        return replace(self._triggers[name], pending=len(self._pending(name)))

    async def triggers(self) -> Sequence[Trigger]:
        return [await self.trigger(name) for name in sorted(self._triggers)]

    async def delete_trigger(self, name: str) -> None:
        if self._triggers.pop(name, None) is None:
            raise unknown_trigger(name)
        self._forget_arrivals(name)
