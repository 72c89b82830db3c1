"""Database files kept open between calls, and the threads that work on them. What SQL means is the kinds'."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
OPEN_MAX = 16  # files kept open while nobody uses them
THREADS = 16
MEMORY = ":memory:"


class Database:
    """One database file, used by one call at a time."""

    def __init__(self, path: str) -> None:
        import asyncio

        self.path = path
        self.lock = asyncio.Lock()
        self.users = 0

    def interrupt(self) -> None:
        """Make the running statement end; called from another thread."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file if it is open."""
        raise NotImplementedError


D = TypeVar("D", bound=Database)


class Databases:
    """The open files of one kind in a worker; of those that nobody uses, the oldest are closed first."""

    def __init__(self, kind: str) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix=f"noetl-{kind}")
        self._open: OrderedDict[str, Database] = OrderedDict()

    def get(self, key: str, make: Callable[[], D]) -> D:
        """The database under a key, made if it is not there."""
        if key not in self._open:
            self._open[key] = make()
        self._open.move_to_end(key)
        database: D = self._open[key]  # type: ignore[assignment]  # a key belongs to one kind of database
        idle = [name for name, other in self._open.items() if not other.users and other is not database]
        for name in idle[: max(len(self._open) - OPEN_MAX, 0)]:
            self._open.pop(name).close()
        return database

    async def work(self, database: Database, job: Callable[[], T]) -> T:
        """Do a job in a thread, alone on its database; cancelled, the statement is interrupted."""
        import asyncio

        database.users += 1
        try:
            async with database.lock:
                running = asyncio.get_running_loop().run_in_executor(self.threads, job)
                return await _interruptible(running, database)
        finally:
            database.users -= 1

    async def close(self) -> None:
        self.threads.shutdown()
        while self._open:
            self._open.popitem()[1].close()


async def _interruptible(running: "asyncio.Future[T]", database: Database) -> T:
    import asyncio

    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            database.interrupt()
            await asyncio.wait([running], timeout=0.05)
        running.exception()  # that it was interrupted is nobody's news
        raise
