"""Logs as pages show them, read once: a look at a live execution goes on where the last one ended.

What is kept is a bounded number of readings; each can be thrown away at any time and made again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator

import msgspec

from noetl.core.event import Event
from noetl.core.reading.loop_view import LoopView
from noetl.core.reading.progress import Progress
from noetl.core.reading.provenance import Provenance
from noetl.core.reading.timeline import Timeline
from noetl.errors import DamagedData, NotFound
from noetl.ports.front import Front

PAGE = 200  # rows
READINGS_MAX = 12
_EVENTS = msgspec.json.Decoder(list[Event])


class Reading:
    """One execution's log, read as far as it goes."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id, self.seq = execution_id, 0
        self.progress, self.timeline = Progress(execution_id), Timeline()
        self.iterations, self.provenance = LoopView(), Provenance()
        self.lock = asyncio.Lock()

    def take(self, seq: int, event: Event) -> None:
        """Take one more event in."""
        for reader in (self.progress, self.timeline, self.iterations, self.provenance):
            reader.read(seq, event)
        self.seq = seq


class Readings:
    """The readings that were looked at lately."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._readings: OrderedDict[str, Reading] = OrderedDict()

    async def newest(self, execution_id: str) -> Reading:
        """An execution's reading, brought up to its newest event; raises NotFound."""
        reading = self._readings.get(execution_id)
        if reading is None:
            reading = self._readings[execution_id] = Reading(execution_id)
        self._readings.move_to_end(execution_id)
        while len(self._readings) > READINGS_MAX:
            self._readings.popitem(last=False)
        async with reading.lock:
            async for seq, event in events_from(self._front, execution_id, reading.seq + 1):
                reading.take(seq, event)
        if reading.seq == 0:
            self._readings.pop(execution_id, None)
            await self._front.execution(execution_id)  # says that there is none
        return reading

    async def at(self, execution_id: str, seq: int | None) -> Reading:
        """An execution's reading as it was after an event, else the newest; raises NotFound."""
        if seq is None:
            return await self.newest(execution_id)
        reading = Reading(execution_id)
        async for number, event in events_from(self._front, execution_id, 1):
            if number > seq:
                break
            reading.take(number, event)
        if reading.seq < seq:
            message = f"execution {execution_id} has {reading.seq} events, not {seq}"
            raise NotFound(message, hint=f"noetl execution events {execution_id}")
        return reading


async def events_from(front: Front, execution_id: str, first: int) -> AsyncIterator[tuple[int, Event]]:
    """The events of a log from one on, as far as it goes now; of one that is stuck, as far as it can be read.

    Raises DamagedData for any other that cannot be read.
    """
    while rows := await front.rows(execution_id, first, PAGE):
        for row in rows:
            try:
                events = _EVENTS.decode(row.body)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                if await front.status(execution_id) == "stuck":  # which says why
                    return
                raise _damaged(execution_id, row.first, error) from None
            for seq, event in enumerate(events, row.first):
                if seq >= first:
                    yield seq, event
            await asyncio.sleep(0)  # a long log lets others have their turn
        first = rows[-1].last + 1
        if len(rows) < PAGE:
            return


def _damaged(execution_id: str, seq: int, error: Exception) -> DamagedData:
    message = f"the row of event {seq} of execution {execution_id} cannot be read: {error}"
    return DamagedData(message, hint=f"noetl execution replay {execution_id} says where the log is damaged")
