"""The store of the settings as `noetl db` looks after it: SQLite or PostgreSQL, with the result store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from noetl.adapters.postgres import SCHEMES
from noetl.cli.connection.embedded_engine import current_settings, open_reader
from noetl.control.catalog import Catalog
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.settings import Settings
from noetl.wiring.embedded import store_path

PATIENCE_S = 3.0  # a person waits for the answer


class AdminStore(Protocol):
    """What there is to be looked after."""

    @property
    def store(self) -> Store: ...
    @property
    def results(self) -> Results: ...
    @property
    def catalog(self) -> Catalog: ...


class StoreAdmin(Protocol):
    """A store seen from outside: its schema and size, and the way into it."""

    shown: str

    @property
    def newest(self) -> int:
        """The schema this version of noetl works with."""
        ...

    def version(self) -> int:
        """How far the schema is; 0 when there is no store yet."""
        ...

    def migrate(self) -> tuple[int, int]:
        """Make the store or bring it up to date; how far its schema was and is."""
        ...

    def size(self) -> int:
        """The bytes that it takes."""
        ...

    def open(self) -> AbstractAsyncContextManager[AdminStore]:
        """The store and what belongs to it."""
        ...


def store_admin() -> StoreAdmin:
    """The store that the settings name."""
    settings = current_settings()
    return _Postgres(settings) if settings.store.startswith(SCHEMES) else _Sqlite(store_path(settings))


@dataclass
class _Sqlite:
    shown: str

    @property
    def newest(self) -> int:
        from noetl.adapters.sqlite.connection import newest_version

        return newest_version()

    def version(self) -> int:
        from noetl.adapters.sqlite.connection import version_of

        return version_of(self.shown) if Path(self.shown).exists() else 0

    def migrate(self) -> tuple[int, int]:
        from noetl.adapters.sqlite.connection import open_database

        before = self.version()
        open_database(self.shown).close()
        return before, self.newest

    def size(self) -> int:
        files = (Path(self.shown + end) for end in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.exists())

    def open(self) -> AbstractAsyncContextManager[AdminStore]:
        return open_reader()


class _Postgres:
    def __init__(self, settings: Settings) -> None:
        from noetl.adapters.postgres.database import Database

        self._settings, self._database = settings, Database(settings.store, PATIENCE_S)
        self.shown = self._database.shown

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
    async def open(self) -> AsyncIterator[AdminStore]:
        from noetl.wiring.distributed import opened_bus, opened_results, opened_store
        from noetl.wiring.plane import control_plane

        async with (
            opened_store(self._settings) as store,
            opened_bus(self._settings, "noetl db") as bus,
            opened_results(self._settings, store, bus) as results,
        ):
            yield control_plane(self._settings, store, results)
