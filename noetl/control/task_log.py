"""What tasks print, taken from workers and kept: many at once, one write after the other, beside all commits.

The log of events does not know these lines. Whoever hands some in waits until they are kept, so that a store
that is slow slows the lines alone.
"""

import asyncio
from collections.abc import Sequence

from noetl.errors import BackendError, NoetlError, RequestError
from noetl.ports.task_lines import BATCH_BYTES, KeptLines, LineStore, PrintedLines, fits, size_of_lines

PENDING_MOST = 32 * 1024 * 1024  # bytes that wait to be written


class TaskLog:
    """The one who writes lines of this process's executions, or of workers that speak to it."""

    def __init__(self, store: LineStore, kept: KeptLines) -> None:
        self._store, self._kept = store, kept
        self._waiting: list[tuple[Sequence[PrintedLines], asyncio.Future[None]]] = []
        self._pending = 0
        self._writing: asyncio.Task[None] | None = None

    def takes(self, execution_id: str) -> bool:
        """Lines of every execution are taken."""
        return True

    async def add(self, printed: Sequence[PrintedLines]) -> None:
        """Keep lines; raises BackendError when that cannot be now, RequestError when there are too many."""
        if not fits(printed):
            raise RequestError("a worker sent more lines at once than it may, or longer ones")
        size = sum(size_of_lines(one.lines) for one in printed)
        if self._pending + size > PENDING_MOST:
            raise BackendError("more lines wait to be written than may")
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((printed, kept))
        self._pending += size
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        try:
            await kept
        finally:
            self._pending -= size

    async def _write(self) -> None:
        try:
            while self._waiting:
                together, size = [], 0
                while self._waiting and size < BATCH_BYTES:
                    together.append(self._waiting.pop(0))
                    size += sum(size_of_lines(one.lines) for one in together[-1][0])
                await self._write_together(together)
        finally:
            self._writing = None

    async def _write_together(
        self, together: list[tuple[Sequence[PrintedLines], "asyncio.Future[None]"]]
    ) -> None:
        error: NoetlError | None = BackendError(
            "lines could not be written"
        )  # a bug, of which the task tells
        try:
            await self._store.add_lines([one for printed, _ in together for one in printed], self._kept)
            error = None
        except NoetlError as problem:
            error = problem
        finally:
            for _, kept in together:
                _settle(kept, error)


def _settle(kept: "asyncio.Future[None]", error: NoetlError | None) -> None:
    if kept.done():
        return
    if error is None:
        kept.set_result(None)
    else:
        kept.set_exception(error)
