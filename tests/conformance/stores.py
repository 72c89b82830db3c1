"""What the suites about stores share: the stores themselves, a clock to set, and logs to append."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.store import SqliteStore
from noetl.ports.store import Append, Row, Store, Summary, chained
from tests.servers import NatsServer

NOW = 1_800_000_000_000
LEASE_MS = 30_000


@dataclass
class Clock:
    """A clock that goes when it is told to."""

    now: int = NOW

    def __call__(self) -> int:
        return self.now


@dataclass
class Ground:
    """Where a store of the suites may be made."""

    folder: Path
    clock: Clock
    bucket: Callable[[], tuple[str, dict[str, str]]]  # its name, and the environment that leads to it
    nats: Callable[[], NatsServer]
    database: Callable[[], str]  # the DSN of a PostgreSQL database that tests use one after the other


async def _memory(ground: Ground) -> Store:
    return MemoryStore(ground.clock)


async def _sqlite(ground: Ground) -> Store:
    return SqliteStore(str(ground.folder / "noetl.db"), ground.clock)


async def _postgres(ground: Ground) -> Store:
    return await emptied(await PostgresStore.open(ground.database(), now=ground.clock))


async def emptied(store: PostgresStore) -> PostgresStore:
    """A store without what earlier tests left; a new database each would take ten times as long."""
    for (table,) in await store.database.fetch(
        "select tablename from pg_tables where schemaname = 'noetl' and tablename <> 'migrations'"
    ):
        await store.database.fetch(f"delete from {table}")
    return store


# One line per product.
STORES: dict[str, Callable[[Ground], Awaitable[Store]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "postgres": _postgres,
}


@asynccontextmanager
async def opened(name: str, ground: Ground) -> AsyncIterator[Store]:
    store = await STORES[name](ground)
    try:
        yield store
    finally:
        await store.close()


def eid(number: int) -> str:
    return f"{number:032x}"


def summary(execution_id: str, **more: Any) -> Summary:
    given = {"status": "running", "path": "tests/case", "version": 1, "hash": "h", "requested_at": NOW}
    return Summary(execution_id, **{**given, **more})


def row(first: int, last: int | None = None, *, after: bytes = b"", **more: Any) -> Row:
    body = b'["events %d to %d"]' % (first, last or first)
    return Row(first, last or first, NOW + first, b'{"type":"tick"}', body, chained(after, body), **more)


def rows(*counts: int, first: int = 1, after: bytes = b"") -> list[Row]:
    """Rows of so many events each, chained."""
    made: list[Row] = []
    for count in counts:
        made.append(row(first, first + count - 1, after=made[-1].hash if made else after))
        first += count
    return made


async def begin(store: Store, number: int = 1, *, owner: str | None = None, **more: Any) -> str:
    """An execution with one event."""
    execution_id = eid(number)
    claim = (owner, LEASE_MS) if owner else None
    await store.commit(Append(execution_id, 0, rows(1), summary(execution_id, **more), claim=claim))
    return execution_id


async def end(store: Store, execution_id: str, at: int, **more: Any) -> None:
    """End an execution that has one event."""
    ended = summary(execution_id, status="completed", ended_at=at, result=b"{}", **more)
    await store.commit(Append(execution_id, 1, [row(2)], ended))
