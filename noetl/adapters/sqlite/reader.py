"""The one thread that reads, on a connection of its own: it never waits for the writer.

One thread, so that a caller who stops waiting does not leave the connection busy under the next one's feet.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import apsw

from noetl.adapters.sql.schedules import Record
from noetl.adapters.sqlite.connection import Values, connect, fetch, trouble
from noetl.errors import BackendError

T = TypeVar("T")


class Reader:
    """Runs reading jobs one after the other."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection = connect(path)
        self._thread = ThreadPoolExecutor(1, "noetl-sqlite-reader")
        self._closed = False

    async def rows(self, sql: str, values: Values = ()) -> list[Record]:
        """Every row of a query."""
        return await self.run(lambda connection: fetch(connection, sql, values))

    async def run(self, job: Callable[[apsw.Connection], T]) -> T:
        """Several queries, one after the other."""
        if self._closed:
            raise BackendError("the store is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job, self._connection)
        except apsw.Error as error:
            raise trouble(f"the database {self._path} could not be read", error) from error

    async def close(self) -> None:
        """Finish what was begun."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown)
        self._connection.close()
