"""What the tasks of a worker print, on its way out: cut into lines, cleaned of secrets, sent together.

Lines go beside the reports. A task never waits for them, nor does a report: when they cannot go on as fast as
they come, or nobody takes them, lines are left out and counted, and the next ones say how many.
"""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Callable

from noetl.core.message import WorkOrder
from noetl.core.pipeline.effects import RunTool
from noetl.core.pipeline.frame import Frame
from noetl.core.values.lines import Line, LineSplitter, level_of
from noetl.core.values.redact import Redactor
from noetl.errors import BackendError, NoetlError
from noetl.ports.task_lines import BATCH_BYTES, FLUSH_S, LINE_COST, LineSink, PrintedLines, size_of_lines

_LOG = logging.getLogger("noetl.worker")
PENDING_BYTES = 1024 * 1024  # of one task
PENDING_MOST = 16 * 1024 * 1024  # of all tasks
LAST_LINES = 5
AGAIN_S = 0.5
PATIENCE_S = 60.0  # so long lines wait for someone who takes them
CLOSE_S = 5.0
SETTLE_S = 0.5


class TaskOutput:
    """What one call of a tool prints."""

    def __init__(self, sender: "LineSender", redactor: Redactor, about: Callable[[], PrintedLines]) -> None:
        self._sender, self._redactor, self._about = sender, redactor, about
        self.keep: int | None = None
        self._splitters: dict[int, LineSplitter] = {}
        self._lines: list[Line] = []
        self.last: list[str] = []  # what it printed at last
        self.pending = 0  # bytes that have not gone out
        self._before = 0  # bytes that have
        self._lost = 0
        self._newest = 0  # when its newest line came
        self._held: dict[int, bytes] = {}  # the newest part of an output that comes too fast
        self._again: list[PrintedLines] = []  # what went out and may not have arrived

    def write(self, data: bytes, stream: int = 1) -> None:
        """Take bytes of one of its outputs; of too many the newest stay, the others are counted."""
        if self.pending > PENDING_BYTES or self._sender.pending > PENDING_MOST:
            self._hold(data, stream)
            return
        self._release()
        self._split(data, stream)

    def _split(self, data: bytes, stream: int) -> None:
        splitter = self._splitters.get(stream)
        if splitter is None:
            splitter = self._splitters[stream] = LineSplitter()
        self._add(list(splitter.feed(data)))

    def end(self) -> None:
        """The call is over."""
        if not self._splitters and not self._held and not self.waits:
            return  # as most calls: it has printed nothing
        self._release()
        self._add([text for splitter in self._splitters.values() for text in splitter.end()])
        self._splitters.clear()
        if self.waits:
            self._sender.soon(self)

    def _add(self, texts: list[str]) -> None:
        if not texts:
            return
        self._newest = max(self._newest, self._sender.now())
        added = [Line(self._newest, *level_of(text)) for text in texts]
        self.last = [*self.last, *(line.text for line in added[-LAST_LINES:])][-LAST_LINES:]
        self._lines += added
        self._sender.later(self, self._grow(added))

    def _grow(self, lines: list[Line]) -> int:
        size = size_of_lines(lines)
        self.pending += size
        return size

    def _hold(self, data: bytes, stream: int) -> None:
        """Keep a part until there is room; the one before it, and the line that it broke off in, are lost."""
        before = self._held.get(stream)
        if before is not None:
            self._lost += before.count(b"\n")
            self._splitters.pop(stream, None)
            if not before.endswith(b"\n"):
                _, end, data = data.partition(b"\n")
                self._lost += len(end)
        self._held[stream] = data

    def _release(self) -> None:
        if self._held:
            held, self._held = self._held, {}
            for stream, data in held.items():
                self._split(data, stream)

    def take(self, most: int) -> PrintedLines | None:
        """What is to go out now, about so many bytes of it, without secrets; None when there is nothing."""
        if self._again:  # as it was: who has it already knows it by its number
            again = self._again.pop(0)
            self.pending -= size_of_lines(again.lines)
            return again
        if not self._lines and not self._lost:
            return None
        lines = self._lines if self.pending <= most else self._first(most)
        printed = self._about()
        printed.batch = self._sender.number()
        printed.ts = lines[0].ts if lines else self._sender.now()
        printed.lines, printed.lost, printed.before, printed.keep = lines, self._lost, self._before, self.keep
        self._lines, self._lost = self._lines[len(lines) :], 0
        size = size_of_lines(lines)
        self._before += size
        self.pending -= size
        texts = [line.text for line in lines]
        cleaned = self._redactor.clean(texts)
        if cleaned is not texts:
            printed.lines = [line._replace(text=text) for line, text in zip(lines, cleaned, strict=True)]
        return printed

    def _first(self, most: int) -> list[Line]:
        for count, line in enumerate(self._lines):
            most -= len(line.text) + LINE_COST
            if most < 0:
                return self._lines[: max(count, 1)]
        return self._lines

    def put_back(self, printed: PrintedLines) -> int:
        """Lines that went out may not have arrived: they go once more; how many bytes that is."""
        self._again.insert(0, printed)
        return self._grow(printed.lines)

    def lose(self, printed: PrintedLines) -> None:
        """Lines that went out did not arrive, and never will."""
        self._lost += len(printed.lines) + printed.lost

    @property
    def waits(self) -> bool:
        """Whether something is to go out."""
        return bool(self._again or self._lines or self._lost)


Batch = list[tuple[TaskOutput, PrintedLines]]


class LineSender:
    """Sends the lines of a worker's tasks, a moment after they were written."""

    def __init__(self, sink: LineSink, now: Callable[[], int]) -> None:
        self._sink, self.now = sink, now
        self.pending = 0  # bytes of all tasks
        self._waiting: dict[TaskOutput, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._failing_since: float | None = None
        self._name, self._numbers = secrets.token_hex(8), itertools.count(1)

    def number(self) -> str:
        """What tells some lines from all others."""
        return f"{self._name}.{next(self._numbers)}"

    def output(self, order: WorkOrder, frame: Frame, effect: RunTool) -> TaskOutput | None:
        """Where what a call prints goes; None when nobody takes its lines."""
        if not self._sink.takes(order.execution_id):
            return None
        visit, attempt = frame.visits[effect.task.label], max(effect.attempt, 1)

        def about() -> PrintedLines:
            return PrintedLines(
                order.execution_id,
                order.run,
                effect.label,
                frame.at,
                visit,
                attempt,
                lease=order.lease,
                epoch=order.epoch,
            )

        return TaskOutput(self, frame.around.redactor, about)

    def later(self, output: TaskOutput, size: int) -> None:
        """Lines have come."""
        self.pending += size
        self._waiting[output] = None
        self._wake(FLUSH_S)

    def soon(self, output: TaskOutput) -> None:
        """A call is over: its lines go before the report that says so, if possible."""
        self._waiting[output] = None
        if self._failing_since is None:
            self._send()

    def _wake(self, seconds: float) -> None:
        if self._timer is None and self._sending is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())
            self._sending.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending = None
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("lines of tasks could not be sent", exc_info=task.exception())
        if self._waiting and not task.cancelled():
            self._wake(FLUSH_S if self._failing_since is None else AGAIN_S)

    async def _send_all(self) -> None:
        while batch := self._batch():
            try:
                await self._sink.add([printed for _, printed in batch])
                self._failing_since = None
            except BackendError as error:
                self._not_now(batch, error)
                return
            except NoetlError as error:
                _LOG.warning("lines of tasks are left out: %s", error.message)
                for output, printed in batch:
                    output.lose(printed)

    def _not_now(self, batch: Batch, error: BackendError) -> None:
        """Nobody takes lines: keep them for a while."""
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
            _LOG.warning("lines of tasks wait: %s", error.message)
        for output, printed in reversed(batch):
            if now - self._failing_since > PATIENCE_S:
                output.lose(printed)
            else:
                self.pending += output.put_back(printed)
                self._waiting[output] = None

    def _batch(self) -> Batch:
        batch: Batch = []
        room = BATCH_BYTES
        while self._waiting and room > 0:
            output = next(iter(self._waiting))
            before = output.pending
            printed = output.take(room)
            room -= before - output.pending
            if not output.waits:
                del self._waiting[output]
            if printed is not None:
                batch.append((output, printed))
        self.pending -= BATCH_BYTES - room
        return batch

    async def settled(self) -> None:
        """Wait a moment until what was printed so far has gone out."""
        if self._waiting or self._sending is not None:
            self._send()
            if self._sending is not None:
                await asyncio.wait([self._sending], timeout=SETTLE_S)

    async def close(self) -> None:
        """Send what there is, if that is soon done."""
        try:
            async with asyncio.timeout(CLOSE_S):
                while self._waiting or self._sending is not None:
                    self._send()
                    if self._sending is not None:
                        await asyncio.wait([self._sending])
                    if self._failing_since is not None:
                        await asyncio.sleep(FLUSH_S)
        except TimeoutError:
            _LOG.warning("lines of tasks are left out: the worker stops, and nobody took them")
        if self._sending is not None:
            self._sending.cancel()
        if self._timer is not None:
            self._timer.cancel()
