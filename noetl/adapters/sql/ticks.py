"""Ticks and backfills of a store over SQL. What belongs together is written in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from noetl.ports.schedule import Fired
from noetl.ports.tick import (
    BACKFILLS_KEPT,
    HISTORY_KEPT,
    REMOVED,
    Backfill,
    BackfillStatus,
    Tick,
    TickStatus,
    backfill_owner,
    schedule_owner,
    unknown_backfill,
)

Record = tuple[Any, ...]


class Call(NamedTuple):
    """A statement by its name, with its values."""

    name: str
    values: tuple[object, ...]


class SqlTicks(ABC):
    """The part of a store over SQL that keeps what became of ticks."""

    _now: Callable[[], int | None]

    @abstractmethod
    async def _rows(self, name: str, *values: object) -> Sequence[Record]:
        """The rows of a statement that reads."""

    @abstractmethod
    async def _write(self, name: str, *values: object, again: bool = True) -> Sequence[Record]:
        """The rows of a statement that writes."""

    @abstractmethod
    async def _together(self, first: Call, then: Sequence[Call]) -> Sequence[Record]:
        """The rows of the first statement; unless it has none, the others are in the same transaction."""

    @abstractmethod
    async def clock(self) -> int:
        """The time that decides."""

    async def advance_schedule(
        self, name: str, expected: int, fired: Fired, ticks: Sequence[Tick] = ()
    ) -> bool:
        skipped = None if fired.skipped is None else msgspec.json.encode(fired.skipped).decode()
        values = (name, expected, fired.next_at, fired.last_at, fired.execution, fired.error, skipped)
        owner = schedule_owner(name)
        then = [_add(tick) for tick in ticks]
        then.append(Call("forget_ticks", (owner, HISTORY_KEPT)))
        return bool(await self._together(Call("advance_schedule", values), then))

    async def ticks(self, owner: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        return [_tick(row) for row in await self._rows("ticks", owner, before, limit)]

    async def open_ticks(self, owner: str | None = None) -> Sequence[Tick]:
        return [_tick(row) for row in await self._rows("open_ticks", owner)]

    async def ended_ticks(self) -> Sequence[Tick]:
        return [_tick(row) for row in await self._rows("ended_ticks", REMOVED)]

    async def planned_ticks(self, owner: str, limit: int) -> Sequence[Tick]:
        return [_tick(row) for row in await self._rows("planned_ticks", owner, limit)]

    async def move_tick(self, tick: Tick, expected: TickStatus, backfill_id: str | None = None) -> bool:
        moves = (_stored(expected), _stored(tick.status))
        values = (tick.owner, tick.tick, *moves, tick.execution, tick.why, await self.clock())
        if backfill_id is None:
            return bool(await self._write("move_tick", *values))
        return bool(await self._write("start_tick", *values, backfill_id))

    async def refuse_tick(self, tick: Tick, told: Sequence[str], path: str, detail: str) -> bool:
        now = await self.clock()
        moves = (_stored("starting"), _stored(tick.status))
        moved = Call("move_tick", (tick.owner, tick.tick, *moves, tick.execution, tick.why, now))
        deliveries = [Call("add_delivery", (name, "failed", now, path, detail)) for name in told]
        return bool(await self._together(moved, deliveries))

    async def note_tick(self, name: str, tick: int, execution: str | None, error: str | None) -> None:
        await self._write("note_tick", name, tick, execution, error)

    async def put_backfill(self, backfill: Backfill, ticks: Sequence[Tick]) -> None:
        body = msgspec.json.encode(backfill).decode()
        values = (backfill.id, backfill.status, backfill.created_at, body)
        forget = [Call("forget_backfills", (BACKFILLS_KEPT,)), Call("forget_backfill_ticks", ())]
        await self._together(Call("put_backfill", values), [*map(_add, ticks), *forget])

    async def backfill(self, backfill_id: str) -> Backfill:
        rows = await self._rows("backfill", backfill_id)
        if not rows:
            raise unknown_backfill(backfill_id)
        return await self._read_backfill(rows[0])

    async def backfills(self) -> Sequence[Backfill]:
        return [await self._read_backfill(row) for row in await self._rows("backfills")]

    async def running_backfills(self) -> Sequence[Backfill]:
        return [
            msgspec.json.decode(body, type=Backfill) for _, _, body in await self._rows("running_backfills")
        ]

    async def _read_backfill(self, row: Record) -> Backfill:
        backfill_id, status, body = row
        counts: dict[str, int] = {}
        for stored, standing, number in await self._rows("tick_counts", backfill_owner(backfill_id)):
            seen = _status(stored, standing)
            counts[seen] = counts.get(seen, 0) + number
        return msgspec.structs.replace(msgspec.json.decode(body, type=Backfill), status=status, counts=counts)

    async def move_backfill(
        self, backfill_id: str, expected: Sequence[BackfillStatus], status: BackfillStatus
    ) -> bool:
        moved = Call("move_backfill", (backfill_id, msgspec.json.encode(list(expected)).decode(), status))
        cancel = Call("cancel_planned", (backfill_owner(backfill_id), await self.clock()))
        return bool(await self._together(moved, [cancel] if status == "cancelled" else []))


def _add(tick: Tick) -> Call:
    return Call("add_tick", (tick.owner, tick.tick, _stored(tick.status), tick.execution, tick.why, tick.at))


def _tick(row: Record) -> Tick:
    owner, moment, stored, execution, why, at, *standing = row
    status = _status(stored, standing[0] if standing else None)
    return Tick(owner=owner, tick=moment, status=status, execution=execution, why=why, at=at)


def _stored(status: TickStatus) -> str:
    """What is written: servers of an older release start what they find `waiting`."""
    return "waiting" if status == "planned" else status


def _status(stored: str, standing: str | None) -> TickStatus:
    """How a tick stands, given also how the execution of one that runs does."""
    if standing is not None and standing != "pending":
        return cast(TickStatus, standing)
    return "planned" if stored == "waiting" else cast(TickStatus, stored)
