"""What the kind `sql` asks of a driver, whichever it is, and the threads that drivers block in."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from noetl.tools.parts.sql_binding import Binding, Values

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from sqlalchemy import Engine

T = TypeVar("T")
THREADS = 16
FETCHED = 1000
ENGINES_MAX = 32
STOPPED_S = 5.0  # how long a statement is waited for that was asked to end


class Answer(Protocol):
    """What one statement gave."""

    columns: list[str] | None  # None: it returns no rows
    changed: int

    def fetch(self, size: int) -> list[list[object]]:
        """The next rows, at most so many; none at the end."""

    def close(self) -> None:
        """Leave what was not read."""


class Changed:
    """How many rows a statement changed that returns none."""

    columns: list[str] | None = None

    def __init__(self, changed: int) -> None:
        self.changed = changed

    def fetch(self, size: int) -> list[list[object]]:
        return []

    def close(self) -> None:
        """There is nothing to leave."""


class Session(Protocol):
    """One connection for one call. Everything blocks; only `cancel` is called while something else runs."""

    binding: Binding

    def quote(self, name: str) -> str:
        """A table or column as the database quotes names; a dot separates the schema."""

    def begin(self, transaction: bool) -> None:
        """Connect; without a transaction every statement is committed by itself."""

    def execute(self, text: str, values: Values | None) -> Answer:
        """Run one statement as the driver wants it; the answer before is closed."""

    def commit(self) -> None:
        """Let everything since `begin` hold."""

    def cancel(self) -> None:
        """Make the running statement end, where the driver can."""

    def close(self, broken: bool) -> None:
        """Give the connection back, or drop it when nobody knows its state."""


class Drivers:
    """The threads and the connection pools that the calls of a worker share."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="noetl-sql")
        self._engines: OrderedDict[str, Engine] = OrderedDict()

    def engine(self, key: str, make: "Callable[[], Engine]") -> "Engine":
        """The connections under a key; of those that were not used for long, idle ones are closed."""
        if key not in self._engines:
            self._engines[key] = make()
        self._engines.move_to_end(key)
        if len(self._engines) > ENGINES_MAX:
            self._engines.popitem(last=False)[1].dispose()
        return self._engines[key]

    async def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
        while self._engines:
            self._engines.popitem()[1].dispose()


class Lent:
    """A session as a call uses it: its jobs run in a thread, and a cancelled one is made to end."""

    def __init__(self, session: Session, drivers: Drivers) -> None:
        self.session, self._drivers = session, drivers
        self._left: Future[object] | None = None  # a job that did not end when it was asked to

    async def work(self, job: Callable[..., T], *args: object) -> T:
        import asyncio

        running = self._drivers.threads.submit(job, *args)
        done = asyncio.wrap_future(running)
        done.add_done_callback(lambda _: done.cancelled() or done.exception())  # heard of, also when left
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not running.cancel():  # a job that waited for a thread is not begun any more
                await self._stop(running, done)
            raise

    async def _stop(self, running: "Future[T]", done: "asyncio.Future[T]") -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        until = loop.time() + STOPPED_S
        while not running.done() and loop.time() < until:
            await asyncio.to_thread(self.session.cancel)
            await asyncio.wait([done], timeout=0.1)
        if not running.done():
            self._left = running  # type: ignore[assignment]  # whatever it gives is dropped

    async def give_back(self, broken: bool) -> None:
        """Let the connection go; that of a job which goes on is dropped when it ends."""
        import asyncio

        if self._left is not None:
            self._left.add_done_callback(lambda _: self.session.close(broken=True))
        else:
            # Not in our threads, where it would wait behind statements; none are left while the worker stops.
            await asyncio.shield(asyncio.to_thread(self.session.close, broken))
