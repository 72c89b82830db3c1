"""What the suites about stores share: the stores themselves, a clock to set, and logs to append."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.store import SqliteStore
from noetl.core.formats import OLDEST_ROW_FORMAT
from noetl.ports.hash_chain import chained
from noetl.ports.notification import Notification
from noetl.ports.schedule import Schedule, Trigger
from noetl.ports.store import AccessToken, Append, Row, ServerAddress, Store, Summary
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
    given = {"format": OLDEST_ROW_FORMAT, **more}
    return Row(first, last or first, NOW + first, b'{"type":"tick"}', body, chained(after, body), **given)


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


def continuing(number: int, expected: int, successor: int) -> Append:
    """The end of one execution and the beginning of the one that goes on."""
    ending, going_on = eid(number), eid(successor)
    own = {"continued_from": eid(number - 1), "chain": eid(1)} if number > 1 else {}
    over = summary(ending, status="completed", ended_at=NOW, continued_as=going_on, **own)
    begun = summary(going_on, continued_from=ending, chain=eid(1))
    following = Append(going_on, 0, [row(1)], begun, claim=("a", LEASE_MS))
    return Append(ending, expected, [row(expected + 1)], over, owner="a", successor=following)


async def widened(run: Callable[[str], Awaitable[Any]], tables: str) -> None:
    """Give every table that a query names one more column, as a newer release would."""
    for (table,) in await run(tables):
        await run(f"ALTER TABLE {table} ADD COLUMN of_a_newer_release TEXT DEFAULT 'x'")


async def used(store: Store) -> None:
    """Write to every table once and read it again."""
    execution_id = await begin(store, owner="o", idempotency_key="k")
    await store.commit(Append(execution_id, 1, [row(2)], snapshot=b"{}"))
    await store.post(execution_id, b"m")
    assert [letter.body for letter in await store.mail("o")] == [b"m"]
    assert (await store.log(execution_id)).snapshot == b"{}"
    assert [found.last for found in await store.rows(execution_id)] == [1, 2]
    found = await store.by_key("k")
    assert found == await store.summary(execution_id) == (await store.executions()).items[0]
    assert (await store.projection(execution_id)).summary == found
    schedule, trigger = Schedule(name="s", path="p", next_at=1), Trigger(name="t", kind="nats", path="p")
    for _ in range(2):
        await store.put_schedule(schedule)
        await store.put_trigger(trigger)
    assert not await store.put_schedule(schedule, new=True)
    assert not await store.put_trigger(trigger, new=True)
    assert (
        await store.schedule("s")
        == (await store.schedules())[0]
        == (await store.due_schedules())[0]
        == schedule
    )
    assert await store.trigger("t") == (await store.triggers())[0] == trigger
    await store.put_notification(Notification(name="n", target="mail:a@example.com"))
    sample = await store.add_delivery("n", "sample", 1)
    assert sample == await store.delivery(sample.id) == (await store.deliveries())[0]
    assert [one.id for one in await store.take_deliveries(LEASE_MS)] == [sample.id]
    playbook_text = await store.register("p", "h", "text", None, "me")
    assert playbook_text == await store.register("p", "h", "text", None) == await store.playbook(path="p")
    assert playbook_text == (await store.playbooks())[0] == (await store.playbooks("p"))[0]
    await store.put_token(AccessToken("i", "h", "n"))
    assert await store.token("i") == (await store.tokens())[0] == AccessToken("i", "h", "n")
    await store.put_secret("c", b"sealed")
    assert (await store.secret("c"), (await store.secrets())[0][0]) == (b"sealed", "c")
    await store.announce(ServerAddress("a", "u"), LEASE_MS)
    assert await store.servers() == [ServerAddress("a", "u")]
