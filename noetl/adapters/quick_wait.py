"""Stay awake for an answer that is about to come: to be woken takes as long as a good part of a step.

Whoever was answered quickly looks for the next answer again and again, for half a millisecond at most, and
lets other processes go first each time. Whoever had to wait longer sleeps the next time. So what is idle, or
waits for real work, sleeps; and nobody stays awake who has only one processor, by machine or by container.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

QUICK_S = 500e-6
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_clock = time.perf_counter
_let_others_go: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


def processors(quota: Path = _QUOTA) -> float:
    """How many processors this process may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # "max 100000", or microseconds that may be used of so many
        most, period = quota.read_text().split()
        return min(there, int(most) / int(period))
    return there


class QuickWait:
    """Waits for one kind of answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, spare: bool | None = None) -> None:
        self._loop = loop
        self._spare = processors() >= 2 if spare is None else spare
        self._since = self._until = 0.0
        self._was_quick = self._looking = False

    def begin(self) -> None:
        """Something was sent that is answered, perhaps at once."""
        self._since = now = _clock()
        if self._was_quick:
            self._until = now + QUICK_S
            if not self._looking:
                self._looking = True
                self._loop.call_soon(self._look)

    def end(self) -> None:
        """An answer has come."""
        if self._since:
            self._was_quick = self._spare and _clock() - self._since < QUICK_S
            self._since = self._until = 0.0

    def _look(self) -> None:
        """Have the event loop look what has come, without sleeping."""
        if _clock() < self._until:
            _let_others_go()
            self._loop.call_soon(self._look)
        else:
            self._looking = False
