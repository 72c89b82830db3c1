"""An event loop that skips what it would wait for: its clock jumps to the next timer.

While something from outside is under way, a process or a connection, the clock goes as fast as any other.
Without that nothing depends on the machine: what runs on the loop runs in the same order every time.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

RESOLUTION_S = 1e-6
Selected = list[tuple[selectors.SelectorKey, int]]


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose time is a number.

    `when_stuck` is called when nothing is ready, due or under way, and with `late` when it has been busy for
    longer than `patience_s` of real time.
    """

    def __init__(self, began_ms: int, patience_s: float = float("inf")) -> None:
        self._seconds = 0.0
        self.skipped_s = 0.0
        self._began_ms = began_ms
        self._outside = 0
        self._late_at = time.monotonic() + patience_s
        self.when_stuck: Callable[[bool], None] = _nobody
        super().__init__(_Skipping(self))
        self._clock_resolution = RESOLUTION_S  # so that a sum of years and seconds still reaches its timer

    def time(self) -> float:
        """Seconds since the loop was made, skipped ones included."""
        return self._seconds

    def now_ms(self) -> int:
        """The moment as the engine sees it, in milliseconds since the epoch."""
        return self._began_ms + int((self._seconds + RESOLUTION_S) * 1000)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """While something from outside is awaited."""
        self._outside += 1
        try:
            yield
        finally:
            self._outside -= 1

    def run_in_executor(self, *call: Any) -> "asyncio.Future[Any]":  # type: ignore[override]
        """A call in a thread is outside, too."""
        future = super().run_in_executor(*call)
        self._outside += 1
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _: "asyncio.Future[object]") -> None:
        self._outside -= 1

    async def shutdown_default_executor(self, *longest: Any) -> None:
        """Wait for the threads; since Python 3.12 a runner says for how long."""
        with self.outside():
            await super().shutdown_default_executor(*longest)

    def waited(self, timeout: float | None, select: Callable[[float | None], Selected]) -> Selected:
        """What came from outside, at once or within a timeout that is waited for or skipped."""
        if time.monotonic() > self._late_at:
            self._late_at = float("inf")
            self.call_soon(self.when_stuck, True)
            return select(0)
        if timeout is not None and timeout <= 0:
            return select(0)
        if self._outside:
            began = time.monotonic()
            longest = min(float("inf") if timeout is None else timeout, max(0.0, self._late_at - began))
            selected = select(None if longest == float("inf") else longest)
            self._seconds += time.monotonic() - began
            return selected
        selected = select(0)
        if not selected and timeout is not None:
            self._seconds += timeout
            self.skipped_s += timeout
        elif not selected:
            self.call_soon(self.when_stuck, False)
        return selected


def _nobody(late: bool) -> None:
    raise RuntimeError("it takes too long" if late else "what is awaited never comes")


class _Skipping(selectors.DefaultSelector):
    """Asks the loop whether to wait."""

    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Selected:
        """Input from outside."""
        return self._loop.waited(timeout, super().select)
