"""What arrives for triggers, in a store over SQL: each method is one statement, called by its name."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import astuple

from noetl.adapters.sql.schedules import Record, SqlSchedules
from noetl.adapters.sql.ticks import Call
from noetl.ports.arrival import Arrival, ArrivalChange, Listing


class SqlArrivals(SqlSchedules):
    """The part of a store over SQL that keeps what arrives for triggers, beside the triggers."""

    @abstractmethod
    def _numbers(self, numbers: Sequence[int]) -> object:
        """A list of numbers as the statements take it."""

    @abstractmethod
    async def clock(self) -> int:
        """The time that decides."""

    async def add_arrival(self, trigger: str, key: str, body: str) -> bool:
        return bool(await self._write("add_arrival", trigger, key, await self.clock(), body, again=False))

    async def arrivals(self, trigger: str, limit: int = 100, before: int | None = None) -> Sequence[Arrival]:
        return [_arrival(row) for row in await self._rows("arrivals", trigger, before, limit)]

    async def waiting_triggers(self, limit: int = 100) -> Sequence[str]:
        return [row[0] for row in await self._rows("waiting_triggers", self._now(), limit)]

    async def hold_trigger(self, name: str, holder: str, lease_ms: int) -> bool:
        return bool(await self._write("hold_trigger", name, holder, lease_ms, self._now()))

    async def let_go_of_trigger(self, name: str, holder: str) -> None:
        await self._write("let_go_of_trigger", name, holder)

    async def pending_arrivals(self, trigger: str, limit: int = 1000) -> Sequence[Arrival]:
        return [_arrival(row) for row in await self._rows("pending_arrivals", trigger, limit, self._now())]

    async def change_arrivals(
        self, trigger: str, holder: str, numbers: Sequence[int], change: ArrivalChange
    ) -> int:
        values = (trigger, holder, self._numbers(numbers), *astuple(change))
        return len(await self._write("change_arrivals", *values, again=False))

    async def due_listings(self, limit: int = 100) -> Sequence[str]:
        return [row[0] for row in await self._rows("due_listings", self._now(), limit)]

    async def seen_objects(self, trigger: str) -> tuple[str | None, Mapping[str, str]]:
        looked = await self._rows("looked", trigger)
        seen = {row[0]: row[1] for row in await self._rows("seen_objects", trigger)}
        return looked[0][0] if looked else None, seen

    async def note_listing(self, trigger: str, holder: str, listing: Listing) -> bool:
        now = await self.clock()
        then = [Call("forget_seen", (trigger, key)) for key in listing.gone]
        then += [Call("keep_seen", (trigger, one.key, one.tag)) for one in (*listing.arrived, *listing.kept)]
        for one in listing.arrived:
            body = msgspec.json.encode(one.facts).decode()
            then.append(Call("add_arrival", (trigger, f"{now}/{one.key}", now, body)))
        first = Call("note_look", (trigger, holder, listing.source, listing.next_look))
        return bool(await self._together(first, then))

    async def note_firing(self, trigger: str, execution: str | None, error: str | None) -> None:
        await self._write("note_firing", trigger, execution, error, self._now())

    async def prune_arrivals(self, before: int) -> int:
        return len(await self._write("prune_arrivals", before))


def _arrival(row: Record) -> Arrival:
    return Arrival(**dict(zip(Arrival.__struct_fields__, row, strict=True)))
