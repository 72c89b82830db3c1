"""The store of the settings as `noetl db` looks after it: SQLite or PostgreSQL, with the result store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from noetl.adapters.postgres import SCHEMES
from noetl.cli.connection.embedded_engine import current_settings, open_reader
from noetl.settings import Settings
from noetl.wiring.embedded import Embedded, store_path
from noetl.wiring.plane import Plane, control_plane

PATIENCE_S = 3.0  # a person waits for the answer


@dataclass
class SqliteAdmin:
    """A file: its schema and size, and the way into it."""

    location: str

    @property
    def newest(self) -> int:
        from noetl.adapters.sqlite.connection import newest_version

        return newest_version()

    def version(self) -> int:
        """How far the schema is; 0 when there is no store yet."""
        from noetl.adapters.sqlite.connection import version_of

        return version_of(self.location) if Path(self.location).exists() else 0

    def migrate(self) -> tuple[int, int]:
        """Make the store or bring it up to date; how far its schema was and is."""
        from noetl.adapters.sqlite.connection import open_database

        before = self.version()
        open_database(self.location).close()
        return before, max(before, self.newest)

    def size(self) -> int:
        files = (Path(self.location + end) for end in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def open(self) -> AbstractAsyncContextManager[Embedded]:
        return open_reader()


class PostgresAdmin:
    """A database: the same."""

    def __init__(self, settings: Settings) -> None:
        from noetl.adapters.postgres.database import Database

        self._settings, self._database = settings, Database(settings.store, PATIENCE_S)
        self.location = self._database.shown

    @property
    def newest(self) -> int:
        from noetl.adapters.postgres.schema import newest_version

        return newest_version()

    def version(self) -> int:
        from noetl.adapters.postgres.schema import version_of

        return asyncio.run(version_of(self._database))

    def migrate(self) -> tuple[int, int]:
        from noetl.adapters.postgres.schema import migrate

        return asyncio.run(migrate(self._database))

    def size(self) -> int:
        from noetl.adapters.postgres.schema import size_of

        return asyncio.run(size_of(self._database))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Plane]:
        from noetl.wiring.distributed import opened_results, opened_store
        from noetl.wiring.links import opened_bus

        async with (
            opened_store(self._settings) as store,
            opened_bus(self._settings, "noetl db") as bus,
            opened_results(self._settings, store, bus) as results,
        ):
            yield control_plane(self._settings, store, results)


StoreAdmin = SqliteAdmin | PostgresAdmin


def store_admin() -> StoreAdmin:
    settings = current_settings()
    if settings.store.startswith(SCHEMES):
        return PostgresAdmin(settings)
    return SqliteAdmin(store_path(settings))
