"""Reports of one lease: batches of events and checkpoints, sent one at a time, payloads written before.

A report goes out when the work ends, when many events wait, or a moment after something happened. A batch has
an id made of its lease, so that sending it again is harmless.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from noetl.core.event import Event
from noetl.core.frame import Frame, Surroundings
from noetl.core.message import Payload, Report, WorkOrder
from noetl.core.pack import budget, packed
from noetl.ports.control import Reports

FLUSH_S = 0.1
JUMP_FLUSH_S = 0.02
HEAVY_BYTES_PER_S = 20_000_000  # large checkpoints are made less often, so that writing them stays cheap


class Refused(Exception):
    """The lease is not current: the work is someone else's, or nobody's."""


class PayloadWriter(Protocol):
    """Where payloads are written before the events that name them."""

    async def write(self, payload: Payload) -> None:
        """Write a payload; writing it again is harmless."""
        ...


class Reporter:
    """Sends what happens under one lease."""

    def __init__(
        self,
        order: WorkOrder,
        around: Surroundings,
        reports: Reports,
        payloads: PayloadWriter,
        worker_id: str,
    ) -> None:
        self.order, self.around, self.worker_id = order, around, worker_id
        self._reports, self._payloads = reports, payloads
        self._frames: dict[str, Frame] = {}
        self._sending = asyncio.Lock()
        self._batch = 0
        self._heavy = 0  # bytes of payloads in the last report
        self._timer: asyncio.TimerHandle | None = None
        self._background: asyncio.Task[None] | None = None
        self.on_refused: Callable[[], object] = lambda: None

    def watch(self, frame: Frame) -> None:
        """Checkpoint this pipeline with the reports that go out while it lives."""
        self._frames[frame.at] = frame

    def unwatch(self, frame: Frame) -> None:
        """The pipeline is over."""
        self._frames.pop(frame.at, None)

    def unwatch_below(self, address: str) -> None:
        """A block is over before its end: its pipeline and those inside it."""
        inside = (f"{address}/", f"{address}[")
        for at in [at for at in self._frames if at == address or at.startswith(inside)]:
            del self._frames[at]

    def frames(self) -> list[Frame]:
        """The pipelines that live."""
        return list(self._frames.values())

    def touch(self) -> None:
        """Something may have happened: make sure it is reported in a moment."""
        if self._timer is None and self.around.events:
            wait = JUMP_FLUSH_S if self.around.jumped else FLUSH_S
            wait = max(wait, self._heavy / HEAVY_BYTES_PER_S)
            self._timer = asyncio.get_running_loop().call_later(wait, self._fire)

    def soon(self, frame: Frame) -> None:
        """Report at once: someone waits for what happened."""
        frame.moved = True
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_soon(self._fire)  # type: ignore[assignment]

    def _fire(self) -> None:
        self._timer = None
        if self._background is None or self._background.done():
            self._background = asyncio.create_task(self._in_background())

    async def _in_background(self) -> None:
        try:
            await self.flush()
        except Refused:
            self.on_refused()
            return
        self.touch()

    async def flush(self) -> None:
        """Send what there is, and wait until it is accepted."""
        async with self._sending:
            moved = [frame for frame in self._frames.values() if frame.moved]
            if self.around.events or moved:
                await self._send(moved)

    async def close(self, event: Event | None) -> None:
        """Send the last report of the lease."""
        if event is not None:
            self.around.record(event)
        self._stop_timer()
        async with self._sending:
            await self._send((), final=True)

    async def hand_back(self, frames: Iterable[Frame]) -> None:
        """Give the lease back with where each pipeline stands."""
        self._stop_timer()
        async with self._sending:
            await self._send(frames, returned=True)

    def abandon(self) -> None:
        """The order is over, however it ended: what has not been sent never will be."""
        self._stop_timer()
        if self._background is not None:
            self._background.cancel()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _send(self, frames: Iterable[Frame], *, final: bool = False, returned: bool = False) -> None:
        around = self.around
        kept = {frame.at: frame.checkpoint() for frame in frames}
        events, around.events = around.events, []
        payloads, around.payloads = around.payloads, []
        if self.order.loop is not None:
            limit = budget(self.order.loop.total, around.limits["max_payload_bytes"])
            events, pack = packed(self.order.execution_id, events, limit)
            payloads += [pack] if pack is not None else []
        self._heavy = sum(len(payload.body) for payload in payloads)
        around.jumped = False
        for payload in payloads:
            await self._payloads.write(payload)
        self._batch += 1
        batch_id = f"{self.order.lease}/{self.order.epoch}/{self._batch}"
        report = Report(
            lease=self.order.lease,
            epoch=self.order.epoch,
            worker=self.worker_id,
            batch_id=batch_id,
            events=events,
            frames=kept,
            returned=returned,
            final=final,
        )
        answer = await self._reports.report(self.order.execution_id, report)
        if not answer.accepted:
            raise Refused(answer.why)
