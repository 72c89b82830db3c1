"""Ticks and backfills of the store in memory."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import cast

from msgspec.structs import replace

from noetl.errors import NotFound
from noetl.ports.store import Summary
from noetl.ports.tick import (
    BACKFILLS_KEPT,
    CANCELLED,
    HISTORY_KEPT,
    OPEN,
    REMOVED,
    Backfill,
    BackfillStatus,
    Tick,
    TickStatus,
    backfill_owner,
    unknown_backfill,
)


class MemoryTicks:
    """The part of the store in memory that keeps what became of ticks."""

    _now: Callable[[], int]
    newest: Callable[[str], Awaitable[Summary]]

    def __init__(self) -> None:
        self._ticks: dict[tuple[str, int], Tick] = {}
        self._backfills: dict[str, Backfill] = {}

    def add_ticks(self, ticks: Sequence[Tick]) -> None:
        """Keep ticks that are new."""
        for tick in ticks:
            self._ticks.setdefault((tick.owner, tick.tick), replace(tick))

    def forget_ticks(self, owner: str, kept: int = HISTORY_KEPT) -> None:
        """Forget the oldest ticks that are over."""
        for tick in self._of(owner)[kept:]:
            if tick.status not in OPEN:
                del self._ticks[tick.owner, tick.tick]

    def drop_ticks(self, owner: str) -> None:
        """Forget every tick of an owner."""
        for tick in self._of(owner):
            del self._ticks[tick.owner, tick.tick]

    def _of(self, owner: str) -> list[Tick]:
        own = [tick for tick in self._ticks.values() if tick.owner == owner]
        return sorted(own, key=lambda tick: tick.tick, reverse=True)

    async def ticks(self, owner: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        own = [tick for tick in self._of(owner) if before is None or tick.tick < before]
        return [replace(tick, status=await self._standing(tick)) for tick in own[:limit]]

    async def _standing(self, tick: Tick) -> TickStatus:
        """How a tick stands; one that runs as its execution does."""
        if tick.status != "running" or tick.execution is None:
            return tick.status
        with suppress(NotFound):
            status = (await self.newest(tick.execution)).status
            return "running" if status == "pending" else cast(TickStatus, status)
        return tick.status

    async def open_ticks(self, owner: str | None = None) -> Sequence[Tick]:
        found = [tick for tick in self._ticks.values() if tick.status in OPEN and owner in (None, tick.owner)]
        return [replace(tick) for tick in sorted(found, key=lambda tick: (tick.tick, tick.owner))]

    async def ended_ticks(self) -> Sequence[Tick]:
        ended = []
        for tick in list(self._ticks.values()):
            if tick.status == "running" and tick.execution is not None:
                try:
                    summary = await self.newest(tick.execution)
                except NotFound:
                    ended.append(replace(tick, status="failed", why=REMOVED))
                    continue
                if summary.ended_at is not None:
                    ended.append(replace(tick, status=summary.status))
        return ended

    async def note_ends(self, execution_ids: Sequence[str]) -> None:
        """Note how executions ended that are about to be deleted."""
        for tick in await self.ended_ticks():
            if tick.execution in execution_ids:
                await self.move_tick(tick, "running")

    async def planned_ticks(self, owner: str, limit: int) -> Sequence[Tick]:
        planned = [tick for tick in reversed(self._of(owner)) if tick.status == "planned"]
        return [replace(tick) for tick in planned[:limit]]

    async def move_tick(self, tick: Tick, expected: TickStatus, backfill_id: str | None = None) -> bool:
        kept = self._ticks.get((tick.owner, tick.tick))
        if kept is None or kept.status != expected:
            return False
        if backfill_id is not None and self._backfills[backfill_id].status != "running":
            return False
        execution = tick.execution or kept.execution
        self._ticks[tick.owner, tick.tick] = replace(tick, execution=execution, at=self._now())
        return True

    async def put_backfill(self, backfill: Backfill, ticks: Sequence[Tick]) -> None:
        self._backfills[backfill.id] = replace(backfill)
        self.add_ticks(ticks)
        for old in [one for one in self._newest_first() if one.status in ("done", "cancelled")][
            BACKFILLS_KEPT:
        ]:
            self.drop_ticks(backfill_owner(old.id))
            del self._backfills[old.id]

    def _newest_first(self) -> list[Backfill]:
        return sorted(self._backfills.values(), key=lambda one: (-one.created_at, one.id))

    async def backfill(self, backfill_id: str) -> Backfill:
        if backfill_id not in self._backfills:
            raise unknown_backfill(backfill_id)
        return await self._counted(self._backfills[backfill_id])

    async def _counted(self, backfill: Backfill) -> Backfill:
        ticks = self._of(backfill_owner(backfill.id))
        counts = Counter([await self._standing(tick) for tick in ticks])
        return replace(backfill, counts=dict(counts))

    async def backfills(self) -> Sequence[Backfill]:
        return [await self._counted(one) for one in self._newest_first()]

    async def running_backfills(self) -> Sequence[Backfill]:
        return [replace(one) for one in reversed(self._newest_first()) if one.status == "running"]

    async def move_backfill(
        self, backfill_id: str, expected: Sequence[BackfillStatus], status: BackfillStatus
    ) -> bool:
        backfill = self._backfills.get(backfill_id)
        if backfill is None or backfill.status not in expected:
            return False
        backfill.status = status
        if status == "cancelled":
            for tick in await self.planned_ticks(backfill_owner(backfill_id), len(self._ticks)):
                await self.move_tick(replace(tick, status="cancelled", why=CANCELLED), "planned")
        return True
