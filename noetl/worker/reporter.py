"""Reports of one lease: batches of events and checkpoints, sent one at a time, payloads written before.

A report goes out when the work ends, when many events wait, or a moment after something happened. A batch has
an id made of its lease, so that sending it again is harmless. Whoever stops waiting for a report does not
stop it, and after one that failed nothing more is said: what comes later may rest on what was in it.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from noetl.core.deciding.packed_outputs import budget, packed
from noetl.core.event import Event
from noetl.core.message import Payload, Report, WorkOrder
from noetl.core.pipeline.frame import Frame, PipelineContext
from noetl.ports.control import Reports

FLUSH_S = 0.1
JUMP_FLUSH_S = 0.05
HEAVY_BYTES_PER_S = 20_000_000  # large checkpoints are made less often, so that writing them stays cheap


class Refused(Exception):
    """The lease is not current: the work is someone else's, or nobody's."""


class PayloadWriter(Protocol):
    """Where payloads are written before the events that name them."""

    async def write(self, payload: Payload) -> None:
        """Write a payload; writing it again is harmless."""


class Reporter:
    """Sends what happens under one lease."""

    def __init__(
        self,
        order: WorkOrder,
        around: PipelineContext,
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
        self._flushes: set[asyncio.Task[None]] = set()
        self._unsaid = False  # a report was begun and not accepted
        self._over = False
        self.ending = False  # what is said now is the last of the lease
        self.broken: BaseException | None = None  # why it was not
        self.on_broken: Callable[[], object] = lambda: None

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
        if not self._flushes:
            self._begin_flush()

    async def flush(self) -> None:
        """Send what there is, and wait until it is accepted."""
        await asyncio.shield(self._begin_flush())

    def _begin_flush(self) -> asyncio.Task[None]:
        task = asyncio.create_task(self._flush())
        self._flushes.add(task)
        task.add_done_callback(self._flushed)
        return task

    def _flushed(self, task: asyncio.Task[None]) -> None:
        self._flushes.discard(task)
        self.broken = None if task.cancelled() else task.exception()
        if not self._over and self.broken is not None:
            self.on_broken()
        elif not self._over:
            self.touch()

    async def _flush(self) -> None:
        async with self._sending:
            moved = [frame for frame in self._frames.values() if frame.moved]
            if self.around.events or moved:
                await self._send(moved)

    async def keep(self) -> None:
        """Write what references of this order name, before a task can ask for it."""
        for payload in tuple(self.around.payloads):
            await self._payloads.write(payload)

    async def close(self, event: Event | None) -> None:
        """Send the last report of the lease."""
        if event is not None:
            self.around.record(event)
        self._stop_timer()
        async with self._sending:
            self.ending = True
            await self._send((), final=True)

    async def fail(self, event: Event) -> None:
        """Say that the step has failed, and nothing of what could not be said before."""
        self._unsaid, self.broken = False, None
        self.around.events, self.around.payloads = [], []
        await self.close(event)

    async def hand_back(self, frames: Iterable[Frame]) -> None:
        """Give the lease back with where each pipeline stands."""
        self._stop_timer()
        async with self._sending:
            await self._send(frames, returned=True)

    def abandon(self) -> None:
        """The order is over, however it ended: what is not on its way never will be."""
        self._stop_timer()
        self._over = True

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _send(self, frames: Iterable[Frame], *, final: bool = False, returned: bool = False) -> None:
        if self._unsaid:
            raise self.broken or Refused("an earlier report was not accepted")
        self._unsaid = True
        await self._report(frames, final=final, returned=returned)
        self._unsaid = False

    async def _report(self, frames: Iterable[Frame], *, final: bool, returned: bool) -> None:
        around = self.around
        checkpoints = {frame.at: frame.checkpoint() for frame in frames}
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
            frames=checkpoints,
            returned=returned,
            final=final,
        )
        answer = await self._reports.report(self.order.execution_id, report)
        if not answer.accepted:
            raise Refused(answer.why)
