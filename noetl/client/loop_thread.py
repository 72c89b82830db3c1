"""An event loop in a thread of its own, so that plain calls work anywhere, also beside a running loop."""

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from typing import Any, TypeVar

from noetl.errors import RequestError

Answer = TypeVar("Answer")
AtEnd = Callable[[], Coroutine[Any, Any, None]]


class LoopThread:
    """Runs coroutines for callers that have no loop, or must not wait in theirs.

    It ends when it is closed, when nobody refers to it any more, or with the program. A process that was
    forked has no such thread: there, every call says so.
    """

    def __init__(self, name: str, *, at_end: AtEnd | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_turn, args=(self._loop, at_end), name=name, daemon=True)
        self._thread.start()
        self._process = os.getpid()
        self._end = weakref.finalize(self, _end_loop, self._loop, self._thread, self._process)

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """What a coroutine answers; whoever interrupts the caller ends the coroutine too, in good order."""
        answer: Future[Answer] = Future()
        answer.set_running_or_notify_cancel()  # from here on it is over when the coroutine is, and no sooner
        begun: list[asyncio.Task[Answer]] = []

        def begin() -> None:
            begun.append(self._loop.create_task(work))
            begun[0].add_done_callback(lambda task: _pass_on(task, answer))

        self._soon(begin, work)
        try:
            return answer.result()
        except CancelledError:
            self._check()
            raise
        finally:
            if not answer.done():
                self._loop.call_soon_threadsafe(lambda: begun[0].cancel())
                wait((answer,))

    def iterate(self, items: AsyncGenerator[Answer]) -> Iterator[Answer]:
        """The items of an asynchronous generator, one by one; it is closed with the iterator."""
        try:
            while True:
                try:
                    yield self.run(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            if self._end.alive and os.getpid() == self._process:
                self.run(items.aclose())

    def close(self) -> None:
        """Stop the loop; the thread ends."""
        self._end()

    def _soon(self, begin: Callable[[], None], work: Coroutine[Any, Any, object]) -> None:
        try:
            self._check()
            self._loop.call_soon_threadsafe(begin)
        except (RequestError, RuntimeError):  # closed by another thread at this moment
            work.close()
            self._check()
            raise

    def _check(self) -> None:
        if os.getpid() != self._process:
            message = f"process {os.getpid()} was forked from the one that made this client, {self._process}"
            raise RequestError(message, hint="make another one in this process")
        if not self._end.alive:
            raise RequestError("this client is closed", hint="make another one")


def _pass_on(task: asyncio.Task[Answer], answer: Future[Answer]) -> None:
    if task.cancelled():
        answer.set_exception(CancelledError())
    elif (problem := task.exception()) is not None:
        answer.set_exception(problem)
    else:
        answer.set_result(task.result())


def _turn(loop: asyncio.AbstractEventLoop, at_end: AtEnd | None) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_let_go(at_end))
    finally:
        loop.close()


async def _let_go(at_end: AtEnd | None) -> None:
    """End what still runs, and then what it ran on."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    if at_end is not None:
        await at_end()


def _end_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, process: int) -> None:
    """Stop the loop; the garbage collector may call this in any thread, and in a process that was forked."""
    if os.getpid() != process:
        return
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:
        thread.join()
