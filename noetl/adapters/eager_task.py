"""Tasks that begin where they are made: what needs not wait is done before the maker goes on.

A message is dealt with where it is read, and a commit goes out where it is asked for, without a turn of the
event loop in between. From Python 3.12 on the standard library has such tasks.
"""

import asyncio
import sys
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class _EagerTask(asyncio.Future[T]):
    """As much of a task as a coroutine, its timeouts and whoever cancels it see."""

    __slots__ = ("_cancel_next", "_cancels", "_waits_for", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._work = work
        self._waits_for: asyncio.Future[Any] | None = None
        self._cancels = 0
        self._cancel_next = False

    def step(self, *_: object) -> None:
        """Go on until it waits again or is over."""
        current, loop = asyncio.tasks._current_tasks, self.get_loop()  # type: ignore[attr-defined]
        outer, current[loop] = current.get(loop), self
        self._waits_for = None
        try:
            if self._cancel_next:
                self._cancel_next = False
                waited = self._work.throw(asyncio.CancelledError())
            else:
                waited = self._work.send(None)
        except StopIteration as stop:
            self.set_result(stop.value)
        except asyncio.CancelledError:
            super().cancel()
        except (KeyboardInterrupt, SystemExit) as error:
            self.set_exception(error)
            raise
        except BaseException as error:
            self.set_exception(error)
        else:
            self._wait_for(waited)
        finally:
            if outer is None:
                del current[loop]
            else:
                current[loop] = outer

    def _wait_for(self, waited: "asyncio.Future[Any] | None") -> None:
        if waited is None:  # it only lets others go first
            self.get_loop().call_soon(self.step)
            return
        waited._asyncio_future_blocking = False
        self._waits_for = waited
        waited.add_done_callback(self.step)
        if self._cancel_next and waited.cancel():
            self._cancel_next = False

    def cancel(self, msg: Any | None = None) -> bool:
        """Ask it to stop where it waits."""
        if self.done():
            return False
        self._cancels += 1
        if self._waits_for is None or not self._waits_for.cancel():
            self._cancel_next = True
        return True

    def cancelling(self) -> int:
        """How often it was asked to stop."""
        return self._cancels

    def uncancel(self) -> int:
        """Whoever asked it to stop takes that back."""
        self._cancels = max(0, self._cancels - 1)
        return self._cancels

    def get_coro(self) -> Generator[Any, None, T] | Coroutine[Any, Any, T]:
        """What it does."""
        return self._work

    def get_name(self) -> str:
        """For those who list tasks."""
        return f"eager {self._work!r}"


def eager_task(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> asyncio.Future[T]:
    """Begin a piece of work here and now; it goes on by itself when it has to wait.

    `loop`: the one that runs. Whoever asks for it each time has the system asked which process this is.
    """
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    task = _EagerTask(work, loop)
    task.step()
    return task
