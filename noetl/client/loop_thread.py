"""An event loop in a thread of its own, so that plain calls work anywhere, also beside a running loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class LoopThread:
    """Runs coroutines for callers that have no loop, or must not wait in theirs. Close it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """What a coroutine answers; whoever interrupts the caller ends the coroutine too, in good order."""
        future: Future[Answer] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            if not future.done():
                _end(future)

    def iterate(self, items: AsyncGenerator[Answer]) -> Iterator[Answer]:
        """The items of an asynchronous generator, one by one; it is closed with the iterator."""
        try:
            while True:
                try:
                    yield self.run(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            self.run(items.aclose())

    def close(self) -> None:
        """Stop the loop; the thread ends."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _end(future: "Future[Answer]") -> None:
    ended = threading.Event()
    future.cancel()
    future.add_done_callback(lambda _: ended.set())
    with suppress(CancelledError):
        ended.wait()
