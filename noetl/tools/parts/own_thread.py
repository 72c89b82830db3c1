"""A thread of one call's own, for a plain function that takes its time. What it raises is an answer too."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Outcome: TypeAlias = tuple[T, None] | tuple[None, Exception]


class OwnThread:
    """Does what it is asked, one after the other; nobody waits for it at the end of the program."""

    def __init__(self, name: str) -> None:
        self._asked: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        threading.Thread(target=self._turn, name=name, daemon=True).start()

    def _turn(self) -> None:
        while (work := self._asked.get()) is not None:
            work()

    async def outcome(self, work: Callable[[], T]) -> Outcome[T]:
        """What a function answers, or raises."""
        import asyncio

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Outcome[T]] = loop.create_future()

        def end(outcome: Outcome[T]) -> None:
            if not ended.done():
                ended.set_result(outcome)

        def do() -> None:
            outcome = outcome_of(work)
            with suppress(RuntimeError):  # the worker is gone
                loop.call_soon_threadsafe(end, outcome)

        self._asked.put(do)
        return await ended

    def end(self, last: Callable[[], object] | None = None) -> None:
        """Let it end after what it has begun, and after one thing more."""
        if last is not None:
            self._asked.put(lambda: outcome_of(last))
        self._asked.put(None)


def outcome_of(work: Callable[[], T]) -> Outcome[T]:
    """What a function answers, or raises: an exception that would end a program ends its call alone."""
    try:
        return work(), None
    except Exception as problem:
        return None, problem
    except SystemExit as problem:
        return None, left(problem)
    except BaseException as problem:
        said = RuntimeError(f"it ended with {type(problem).__name__}: {problem}")
        return None, said.with_traceback(problem.__traceback__)


def left(problem: SystemExit) -> Exception:
    """What it is for a call that its function wants the program to end."""
    return RuntimeError(f"it left with sys.exit({problem.code!r})").with_traceback(problem.__traceback__)
