"""Schedules and triggers of the store on SQLite."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from noetl.adapters.sqlite.connection import Record, fetch
from noetl.adapters.sqlite.reader import Reader
from noetl.adapters.sqlite.writer import Writer
from noetl.ports.schedule import Fired, Schedule, Skipped, Trigger, unknown_schedule, unknown_trigger

T = TypeVar("T", Schedule, Trigger)
SCHEDULE_FIELDS = Schedule.__struct_fields__
TRIGGER_FIELDS = Trigger.__struct_fields__
KEPT = ("name", "last_at", "last_execution", "last_error", "created_at", "by", "skipped")  # when it changes


def _columns(fields: Sequence[str]) -> str:
    return ", ".join("made_by" if name == "by" else name for name in fields)


def _put(table: str, fields: Sequence[str]) -> str:
    changed = ", ".join(f"{name} = excluded.{name}" for name in fields if name not in KEPT)
    return (
        f"INSERT INTO {table} ({_columns(fields)}) VALUES ({', '.join('?' * len(fields))}) "
        f"ON CONFLICT (name) DO UPDATE SET {changed}"
    )


def _add(table: str, fields: Sequence[str]) -> str:
    values = ", ".join("?" * len(fields))
    added = f"INSERT INTO {table} ({_columns(fields)}) VALUES ({values})"
    return f"{added} ON CONFLICT (name) DO NOTHING RETURNING 1"


PUT_SCHEDULE, ADD_SCHEDULE = _put("schedules", SCHEDULE_FIELDS), _add("schedules", SCHEDULE_FIELDS)
SCHEDULES = f"SELECT {_columns(SCHEDULE_FIELDS)} FROM schedules"
DUE = f"{SCHEDULES} WHERE next_at <= ? ORDER BY next_at, name LIMIT ?"
ADVANCE = (
    "UPDATE schedules SET next_at = ?, last_at = ?, last_execution = coalesce(?, last_execution), "
    "last_error = ?, skipped = coalesce(?, skipped) WHERE name = ? AND next_at = ? RETURNING 1"
)
DELETE_SCHEDULE = "DELETE FROM schedules WHERE name = ? RETURNING 1"
PUT_TRIGGER, ADD_TRIGGER = _put("triggers", TRIGGER_FIELDS), _add("triggers", TRIGGER_FIELDS)
TRIGGERS = f"SELECT {_columns(TRIGGER_FIELDS)} FROM triggers"
DELETE_TRIGGER = "DELETE FROM triggers WHERE name = ? RETURNING 1"


class SqliteSchedules:
    """The part of the store on SQLite that keeps what starts executions."""

    _reader: Reader
    _writer: Writer
    _now: Callable[[], int]

    async def clock(self) -> int:
        """The time that decides what is due."""
        return self._now()

    async def _change(self, statement: str, *values: object) -> bool:
        return bool(await self._writer.run(lambda connection: fetch(connection, statement, values)))

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        """Keep a schedule."""
        return await self._change(ADD_SCHEDULE if new else PUT_SCHEDULE, *_values(schedule)) or not new

    async def schedule(self, name: str) -> Schedule:
        """One schedule."""
        found = await self._reader.rows(f"{SCHEDULES} WHERE name = ?", (name,))
        if not found:
            raise unknown_schedule(name)
        return _read(Schedule, found[0])

    async def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name."""
        return [_read(Schedule, row) for row in await self._reader.rows(f"{SCHEDULES} ORDER BY name")]

    async def delete_schedule(self, name: str) -> None:
        """Forget a schedule."""
        if not await self._change(DELETE_SCHEDULE, name):
            raise unknown_schedule(name)

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        """Schedules whose next tick has come."""
        return [_read(Schedule, row) for row in await self._reader.rows(DUE, (self._now(), limit))]

    async def advance_schedule(self, name: str, expected: int, fired: Fired) -> bool:
        """Go on to the next tick, if the next one is still the expected."""
        skipped = None if fired.skipped is None else msgspec.json.encode(fired.skipped).decode()
        values = (fired.next_at, fired.last_at, fired.execution, fired.error, skipped, name, expected)
        return await self._change(ADVANCE, *values)

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        """Keep a trigger."""
        return await self._change(ADD_TRIGGER if new else PUT_TRIGGER, *_values(trigger)) or not new

    async def trigger(self, name: str) -> Trigger:
        """One trigger."""
        found = await self._reader.rows(f"{TRIGGERS} WHERE name = ?", (name,))
        if not found:
            raise unknown_trigger(name)
        return _read(Trigger, found[0])

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name."""
        return [_read(Trigger, row) for row in await self._reader.rows(f"{TRIGGERS} ORDER BY name")]

    async def delete_trigger(self, name: str) -> None:
        """Forget a trigger."""
        if not await self._change(DELETE_TRIGGER, name):
            raise unknown_trigger(name)


def _values(one: Schedule | Trigger) -> list[object]:
    given = {**msgspec.structs.asdict(one), "workload": msgspec.json.encode(one.workload).decode()}
    if given.get("skipped") is not None:
        given["skipped"] = msgspec.json.encode(given["skipped"]).decode()
    return [int(value) if isinstance(value, bool) else value for value in given.values()]


def _read(kind: type[T], row: Record) -> T:
    named = dict(zip(kind.__struct_fields__, row, strict=True))
    workload = msgspec.json.decode(named["workload"])
    if named.get("skipped") is not None:
        named["skipped"] = msgspec.json.decode(named["skipped"], type=Skipped)
    return kind(**{**named, "workload": workload, "enabled": bool(named["enabled"])})
