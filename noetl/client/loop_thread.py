"""An event loop in a thread of its own, so that plain calls work anywhere, also beside a running loop."""

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from noetl.errors import RequestError

Answer = TypeVar("Answer")


class LoopThread:
    """Runs coroutines for callers that have no loop, or must not wait in theirs.

    It ends when it is closed, when nobody refers to it any more, or with the program.
    """

    def __init__(self, name: str, *, at_end: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_turn, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, _end_loop, self._loop, self._thread, at_end)

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """What a coroutine answers; whoever interrupts the caller ends the coroutine too, in good order."""
        if not self._end.alive:
            work.close()
            raise RequestError("this client is closed", hint="make another one")
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
            if self._end.alive:
                self.run(items.aclose())

    def close(self) -> None:
        """Stop the loop; the thread ends."""
        self._end()


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end_loop(
    loop: asyncio.AbstractEventLoop,
    thread: threading.Thread,
    at_end: Callable[[], Coroutine[Any, Any, None]] | None,
) -> None:
    """Let go of what the loop has, and stop it; the garbage collector may call this in any thread."""

    async def end() -> None:
        if at_end is not None:
            await at_end()

    ending = asyncio.run_coroutine_threadsafe(end(), loop)
    ending.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    if threading.current_thread() is not thread:
        thread.join()
        ending.result()


def _end(future: "Future[Answer]") -> None:
    ended = threading.Event()
    future.cancel()
    future.add_done_callback(lambda _: ended.set())
    with suppress(CancelledError):
        ended.wait()
