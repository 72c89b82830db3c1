"""Schedules and triggers of the store on PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import asyncpg
import msgspec

from noetl.adapters.postgres.database import Database
from noetl.adapters.postgres.statements import SCHEDULES_SQL as SQL
from noetl.ports.schedule import Fired, Schedule, Skipped, Trigger, unknown_schedule, unknown_trigger

T = TypeVar("T", Schedule, Trigger)


class PostgresSchedules:
    """The part of the store on PostgreSQL that keeps what starts executions."""

    database: Database
    _now: Callable[[], int | None]

    async def clock(self) -> int:
        """The time that decides what is due."""
        return int((await self._rows("clock", self._now()))[0][0])

    async def _rows(self, name: str, *values: object) -> list[asyncpg.Record]:
        return await self.database.fetch(SQL[name], *values)

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        """Keep a schedule."""
        if not new:
            await self._rows("put_schedule", *_values(schedule))
            return True
        return bool(await self.database.fetch(SQL["add_schedule"], *_values(schedule), again=False))

    async def schedule(self, name: str) -> Schedule:
        """One schedule."""
        found = await self._rows("schedule", name)
        if not found:
            raise unknown_schedule(name)
        return _read(Schedule, found[0])

    async def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name."""
        return [_read(Schedule, row) for row in await self._rows("schedules")]

    async def delete_schedule(self, name: str) -> None:
        """Forget a schedule."""
        if not await self.database.fetch(SQL["delete_schedule"], name, again=False):
            raise unknown_schedule(name)

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        """Schedules whose next tick has come."""
        return [_read(Schedule, row) for row in await self._rows("due_schedules", self._now(), limit)]

    async def advance_schedule(self, name: str, expected: int, fired: Fired) -> bool:
        """Go on to the next tick, if the next one is still the expected."""
        skipped = None if fired.skipped is None else msgspec.json.encode(fired.skipped).decode()
        values = (name, expected, fired.next_at, fired.last_at, fired.execution, fired.error, skipped)
        return bool(await self._rows("advance_schedule", *values))

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        """Keep a trigger."""
        if not new:
            await self._rows("put_trigger", *_values(trigger))
            return True
        return bool(await self.database.fetch(SQL["add_trigger"], *_values(trigger), again=False))

    async def trigger(self, name: str) -> Trigger:
        """One trigger."""
        found = await self._rows("trigger", name)
        if not found:
            raise unknown_trigger(name)
        return _read(Trigger, found[0])

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name."""
        return [_read(Trigger, row) for row in await self._rows("triggers")]

    async def delete_trigger(self, name: str) -> None:
        """Forget a trigger."""
        if not await self.database.fetch(SQL["delete_trigger"], name, again=False):
            raise unknown_trigger(name)


def _values(one: Schedule | Trigger) -> list[object]:
    """The columns in order: those of the table are the fields of the shape."""
    given = {**msgspec.structs.asdict(one), "workload": msgspec.json.encode(one.workload).decode()}
    if given.get("skipped") is not None:
        given["skipped"] = msgspec.json.encode(given["skipped"]).decode()
    return list(given.values())


def _read(kind: type[T], row: asyncpg.Record) -> T:
    named = dict(zip(kind.__struct_fields__, tuple(row), strict=True))
    if named.get("skipped") is not None:
        named["skipped"] = msgspec.json.decode(named["skipped"], type=Skipped)
    return kind(**{**named, "workload": msgspec.json.decode(named["workload"])})
