"""That a server stops: whoever waits for something is told, and answers with what there is."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Closing(asyncio.Event):
    """Set when the server stops."""

    def __init__(self) -> None:
        super().__init__()
        self._patience: set[asyncio.Timeout] = set()

    def set(self) -> None:
        """Nobody waits any longer."""
        if self.is_set():
            return
        super().set()
        for patience in self._patience:
            patience.reschedule(0)

    async def before(self, work: Awaitable[T]) -> T:
        """What comes of a piece of work; TimeoutError when the server stops before that."""
        async with asyncio.timeout(0 if self.is_set() else None) as patience:
            self._patience.add(patience)
            try:
                return await work
            finally:
                self._patience.discard(patience)
