"""Schedules and triggers of a store over SQL: each method is one statement, called by its name."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from noetl.adapters.sql.ticks import Call
from noetl.ports.schedule import Schedule, Skipped, Trigger, unknown_schedule, unknown_trigger
from noetl.ports.tick import schedule_owner

T = TypeVar("T", Schedule, Trigger)
# As the release before keeps them, which may run beside this one.
CATCH_UPS_KEPT = {"latest": "one", "none": "skip"}
CATCH_UPS_READ = {"one": "latest", "skip": "none"}
Record = tuple[Any, ...]  # a row: its columns are those that the statement names


class SqlSchedules(ABC):
    """The part of a store over SQL that keeps what starts executions."""

    _now: Callable[[], int | None]  # the moment that decides; None: the database takes its own

    @abstractmethod
    async def _rows(self, name: str, *values: object) -> Sequence[Record]:
        """The rows of a statement that reads."""

    @abstractmethod
    async def _write(self, name: str, *values: object, again: bool = True) -> Sequence[Record]:
        """The rows of a statement that writes; with `again` it may be repeated when its answer was lost."""

    @abstractmethod
    async def _together(self, first: Call, then: Sequence[Call]) -> Sequence[Record]:
        """The rows of the first statement; unless it has none, the others are in the same transaction."""

    async def put_schedule(self, schedule: Schedule, *, new: bool = False) -> bool:
        return await self._put("schedule", schedule, new)

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        return await self._put("trigger", trigger, new)

    async def _put(self, kind: str, entry: Schedule | Trigger, new: bool) -> bool:
        if new:
            return bool(await self._write(f"add_{kind}", *_values(entry), again=False))
        await self._write(f"put_{kind}", *_values(entry))
        return True

    async def schedule(self, name: str) -> Schedule:
        rows = await self._rows("schedule", name)
        if not rows:
            raise unknown_schedule(name)
        return _read(Schedule, rows[0])

    async def trigger(self, name: str) -> Trigger:
        rows = await self._rows("trigger", name)
        if not rows:
            raise unknown_trigger(name)
        return _read(Trigger, rows[0])

    async def schedules(self) -> Sequence[Schedule]:
        return [_read(Schedule, row) for row in await self._rows("schedules")]

    async def triggers(self) -> Sequence[Trigger]:
        return [_read(Trigger, row) for row in await self._rows("triggers")]

    async def delete_schedule(self, name: str) -> None:
        ticks = Call("drop_ticks", (schedule_owner(name),))
        if not await self._together(Call("delete_schedule", (name,)), [ticks]):
            raise unknown_schedule(name)

    async def delete_trigger(self, name: str) -> None:
        if not await self._write("delete_trigger", name, again=False):
            raise unknown_trigger(name)

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        return [_read(Schedule, row) for row in await self._rows("due_schedules", self._now(), limit)]


def _values(entry: Schedule | Trigger) -> list[object]:
    """The columns in order: those of the table are the fields of the shape."""
    fields = {**msgspec.structs.asdict(entry), "workload": msgspec.json.encode(entry.workload).decode()}
    if fields.get("skipped") is not None:
        fields["skipped"] = msgspec.json.encode(fields["skipped"]).decode()
    if "catch_up" in fields:
        fields["catch_up"] = CATCH_UPS_KEPT.get(fields["catch_up"], fields["catch_up"])
    return list(fields.values())


def _read(kind: type[T], row: Record) -> T:
    fields = dict(zip(kind.__struct_fields__, row, strict=True))
    if fields.get("skipped") is not None:
        fields["skipped"] = msgspec.json.decode(fields["skipped"], type=Skipped)
    fields["workload"] = msgspec.json.decode(fields["workload"])
    if "catch_up" in fields:
        fields["catch_up"] = CATCH_UPS_READ.get(fields["catch_up"], fields["catch_up"])
    return kind(**{**fields, "enabled": bool(fields["enabled"])})
