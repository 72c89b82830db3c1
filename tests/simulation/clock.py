"""An event loop whose time is a number: nothing waits, and processes on it can be killed at any moment.

Everything on the loop runs in one thread in a fixed order, so that a seed gives the same history every time.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from heapq import heapify, heappop, heappush
from typing import Any

EPOCH_MS = 1_800_000_000_000
MANY, MOST = 100, 0.5  # of so many timers, no more than this share may be cancelled ones
PROCESS: ContextVar["Process | None"] = ContextVar("process", default=None)


class Stuck(Exception):
    """Nothing is ready and nothing is due: whoever is awaited never comes."""


class Process:
    """Tasks that live and die together. A task belongs to the process whose code started it."""

    def __init__(self, name: str) -> None:
        self.name, self.alive = name, True
        self.ahead_ms = 0  # of its clock
        self.older = False  # it is of a release that does not know what this one added
        self.tasks: dict[asyncio.Task[Any], None] = {}  # in the order they were made

    def call(self, function: Any, *args: Any) -> Any:
        """Call something as code of this process."""
        context = copy_context()
        context.run(PROCESS.set, self)
        return context.run(function, *args)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something as code of this process."""
        task: asyncio.Task[Any] = self.call(asyncio.get_running_loop().create_task, work)
        return task

    def kill(self) -> None:
        """End every task where it stands; what it starts from now on never begins."""
        self.alive = False
        for task in list(self.tasks):
            task.cancel()


class Call:
    """Something to call, unless it is cancelled before."""

    __slots__ = ("args", "callback", "cancelled", "context", "loop", "waits")

    def __init__(
        self, loop: "VirtualLoop", callback: Callable[..., object], args: Any, context: Context | None
    ) -> None:
        self.loop, self.callback, self.args = loop, callback, args
        self.context = context if context is not None else copy_context()
        self.cancelled = self.waits = False

    def cancel(self) -> None:
        """Never call it."""
        if not self.cancelled:
            self.cancelled = True
            self.loop.dropped += self.waits

    def run(self) -> None:
        """Call it now."""
        try:
            self.context.run(self.callback, *self.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # as every loop of asyncio does
            self.loop.call_exception_handler(
                {"message": f"Exception in callback {self.callback}", "exception": error}
            )


class Moment(float):
    """When something is to be called: compared as the number that it is, without a call."""

    __slots__ = ("call",)
    call: Call


class VirtualLoop(asyncio.BaseEventLoop):
    """Jumps to the next timer instead of waiting for it.

    A simulated hour is mostly timers, so the queues are its own, without what only real waiting needs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._due: deque[Call] = deque()
        self._timers: list[Moment] = []
        self.dropped = 0  # timers that wait though they were cancelled
        self.problems: list[str] = []
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self._now

    def now_ms(self) -> int:
        """The moment as the engine sees it."""
        return EPOCH_MS + int(self._now * 1000 + 1e-6)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        """Call something in this moment, after what is due already."""
        call = Call(self, callback, args, context)
        self._due.append(call)
        return call

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        """Call something after a while."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        """Call something at a moment."""
        moment = Moment(when)
        moment.call = call = Call(self, callback, args, context)
        call.waits = True
        heappush(self._timers, moment)
        return call

    def _run_once(self) -> None:
        """Call what is due; when nothing is, let the time pass to the next timer first."""
        due, timers = self._due, self._without_cancelled()
        if not due and not self._stopping:  # type: ignore[attr-defined]
            if not timers:
                raise Stuck("nothing is ready and nothing is due")
            self._now += max(0.0, timers[0] - self._now)
        end = self._now + self._clock_resolution  # type: ignore[attr-defined]
        while timers and timers[0] < end:
            call = heappop(timers).call
            call.waits = False
            due.append(call)
        for _ in range(len(due)):
            call = due.popleft()
            if not call.cancelled:
                call.run()

    def _without_cancelled(self) -> list[Moment]:
        """The timers; the next of them is not cancelled, nor are most."""
        timers = self._timers
        if len(timers) > MANY and self.dropped / len(timers) > MOST:
            self._timers = timers = [moment for moment in timers if not moment.call.cancelled]
            heapify(timers)
            self.dropped = 0
        while timers and timers[0].call.cancelled:
            self.dropped -= 1
            heappop(timers)
        return timers

    def _write_to_self(self) -> None:
        """Nobody sleeps, so nobody is to be woken."""

    def create_task(self, coro: Any, **options: Any) -> Any:
        """A task of the process whose code this is; of a dead one it never begins."""
        task = super().create_task(coro, **options)
        process = PROCESS.get()
        if process is not None:
            process.tasks[task] = None
            task.add_done_callback(lambda done: process.tasks.pop(done, None))
            if not process.alive:
                task.cancel()
        return task

    def _note(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.problems.append(f"{context.get('message')}: {error!r}")

    def finish(self) -> None:
        """Cancel what is left, let it end, and close."""
        while left := asyncio.all_tasks(self):
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.close()
