"""An event loop whose time is a number: nothing waits, and processes on it can be killed at any moment.

Everything on the loop runs in one thread in a fixed order, so that a seed gives the same history every time.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

EPOCH_MS = 1_800_000_000_000
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


class VirtualLoop(asyncio.BaseEventLoop):
    """Jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self  # the loop asks it for input from outside, of which there is none
        self.problems: list[str] = []
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self._now

    def now_ms(self) -> int:
        """The moment as the engine sees it."""
        return EPOCH_MS + int(self._now * 1000 + 1e-6)

    def select(self, timeout: float | None) -> tuple[()]:
        """Let the time pass that the loop would have waited."""
        if timeout is None:
            raise Stuck("nothing is ready and nothing is due")
        self._now += max(0.0, timeout)
        return ()

    def _process_events(self, events: Any) -> None:
        """There are none."""

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
