"""Schedules and triggers of a store over SQL: each method is one statement, called by its name."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from noetl.adapters.sql.ticks import Call
from noetl.ports.schedule import Schedule, Skipped, Trigger, TriggerBatch, unknown_schedule, unknown_trigger
from noetl.ports.tick import schedule_owner

# The columns of a trigger; what it waits for beside those rests together, as JSON.
TRIGGER_COLUMNS = (
    "name", "kind", "path", "version", "workload", "payload_key", "secret", "subject", "queue", "enabled",
    "created_at", "by", "options", "last_at", "last_execution", "last_error", "pending",
)  # fmt: skip
TRIGGER_STATE = ("last_at", "last_execution", "last_error", "pending")  # what is never put
OPTIONS = tuple(name for name in Trigger.__struct_fields__ if name not in TRIGGER_COLUMNS)
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
        return await self._put("schedule", _values(schedule), new)

    async def put_trigger(self, trigger: Trigger, *, new: bool = False) -> bool:
        return await self._put("trigger", _trigger_values(trigger), new)

    async def _put(self, kind: str, values: Sequence[object], new: bool) -> bool:
        if new:
            return bool(await self._write(f"add_{kind}", *values, again=False))
        await self._write(f"put_{kind}", *values)
        return True

    async def schedule(self, name: str) -> Schedule:
        rows = await self._rows("schedule", name)
        if not rows:
            raise unknown_schedule(name)
        return _read(rows[0])

    async def trigger(self, name: str) -> Trigger:
        rows = await self._rows("trigger", name)
        if not rows:
            raise unknown_trigger(name)
        return _read_trigger(rows[0])

    async def schedules(self) -> Sequence[Schedule]:
        return [_read(row) for row in await self._rows("schedules")]

    async def triggers(self) -> Sequence[Trigger]:
        return [_read_trigger(row) for row in await self._rows("triggers")]

    async def delete_schedule(self, name: str) -> None:
        ticks = Call("drop_ticks", (schedule_owner(name),))
        if not await self._together(Call("delete_schedule", (name,)), [ticks]):
            raise unknown_schedule(name)

    async def delete_trigger(self, name: str) -> None:
        if not await self._write("delete_trigger", name, again=False):
            raise unknown_trigger(name)

    async def due_schedules(self, limit: int = 100) -> Sequence[Schedule]:
        return [_read(row) for row in await self._rows("due_schedules", self._now(), limit)]


def _values(schedule: Schedule) -> list[object]:
    """The columns in order: those of the table are the fields of the shape."""
    fields = {**msgspec.structs.asdict(schedule), "workload": _json(schedule.workload)}
    if fields["skipped"] is not None:
        fields["skipped"] = _json(fields["skipped"])
    fields["catch_up"] = CATCH_UPS_KEPT.get(fields["catch_up"], fields["catch_up"])
    return list(fields.values())


def _trigger_values(trigger: Trigger) -> list[object]:
    fields = {**msgspec.structs.asdict(trigger), "workload": _json(trigger.workload)}
    fields["options"] = _json({name: fields[name] for name in OPTIONS})
    return [fields[name] for name in TRIGGER_COLUMNS if name not in TRIGGER_STATE]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _read(row: Record) -> Schedule:
    fields = dict(zip(Schedule.__struct_fields__, row, strict=True))
    if fields["skipped"] is not None:
        fields["skipped"] = msgspec.json.decode(fields["skipped"], type=Skipped)
    fields["workload"] = msgspec.json.decode(fields["workload"])
    fields["catch_up"] = CATCH_UPS_READ.get(fields["catch_up"], fields["catch_up"])
    return Schedule(**{**fields, "enabled": bool(fields["enabled"])})


def _read_trigger(row: Record) -> Trigger:
    fields = dict(zip(TRIGGER_COLUMNS, row, strict=True))
    options = msgspec.json.decode(fields.pop("options"))
    known = {name: value for name, value in options.items() if name in OPTIONS}
    if known.get("batch") is not None:
        known["batch"] = msgspec.convert(known["batch"], TriggerBatch)
    fields["workload"] = msgspec.json.decode(fields["workload"])
    return Trigger(**{**fields, **known, "enabled": bool(fields["enabled"])})
