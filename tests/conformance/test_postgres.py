"""PostgreSQL alone: connections that are lost, plans that must use an index, schemas, the database's own clock."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import asyncpg
import pytest

from noetl import __version__
from noetl.adapters.postgres import schema
from noetl.adapters.postgres import store as postgres_store
from noetl.adapters.postgres import writer as postgres_writer
from noetl.adapters.postgres.batch import columns
from noetl.adapters.postgres.database import Database
from noetl.adapters.postgres.results import CHUNK, PostgresResults
from noetl.adapters.postgres.statements import APPEND, SCHEMAS, SQL
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.postgres.writer import ALONE, SETTINGS
from noetl.adapters.sql.migrations import oldest_reader
from noetl.core.message import Payload
from noetl.errors import BackendError, Conflict, NewerFormat, NoetlError, RequestError
from noetl.ports.store import Append, Find
from tests.conformance.stores import NOW, Ground, begin, eid, emptied, row, rows, summary, used, widened
from tests.distributed.proxy import Mode, Proxy
from tests.servers import PostgresServer

AT_ONCE = 20


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(dsn, patience_s=30.0)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def impatient(store: PostgresStore) -> Iterator[None]:
    """What is asked for now is given up soon."""
    usual, store.database.patience_s = store.database.patience_s, 0.3
    yield
    store.database.patience_s = usual


@pytest.fixture
async def direct(ground: Ground) -> AsyncIterator[PostgresStore]:
    """A store whose connections are never disturbed."""
    async with connected(ground.database()) as store:
        yield await emptied(store)


@pytest.fixture
def proxy(ground: Ground) -> Iterator[Proxy]:
    made = Proxy(ground.database())
    yield made
    made.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with PostgresServer.start() as server:
        yield server


# Connections that are lost


async def test_a_commit_whose_answer_is_lost_is_found_and_not_repeated(
    direct: PostgresStore, proxy: Proxy
) -> None:
    async with connected(proxy.url) as store:
        ids = [await begin(store, number) for number in range(AT_ONCE)]
        proxy.set("stall_back")
        commits = [store.commit(Append(one, 1, [row(2)], owner=None)) for one in ids]
        waiting = asyncio.gather(*commits)
        await asyncio.gather(_until_ended(direct, ids, 2))
        proxy.set("refuse")
        proxy.set("pass")
        await waiting
    assert [await direct.end(one) for one in ids] == [2] * AT_ONCE


async def _until_ended(store: PostgresStore, ids: list[str], seq: int) -> None:
    """The first of many is one commit, those that queue behind it are another that is never sent."""
    while max([await store.end(one) for one in ids]) < seq:
        pass


async def test_a_commit_that_never_arrived_is_sent_again(direct: PostgresStore, proxy: Proxy) -> None:
    async with connected(proxy.url) as store:
        ids = [await begin(store, number) for number in range(AT_ONCE)]
        proxy.set("stall")
        waiting = asyncio.gather(*(store.commit(Append(one, 1, [row(2)])) for one in ids))
        await direct.executions()
        proxy.set("refuse")
        proxy.set("pass")
        await waiting
    assert [await direct.end(one) for one in ids] == [2] * AT_ONCE


@pytest.mark.parametrize("mode", ["stall", "stall_back"])
async def test_a_commit_that_arrives_late_is_not_doubled(
    direct: PostgresStore, proxy: Proxy, mode: Mode
) -> None:
    """The statement is held up until its sender has given it up, and then reaches the server after all."""
    async with connected(proxy.url) as store:
        execution_id = await begin(store)
        proxy.set(mode)
        with impatient(store), pytest.raises(BackendError):
            await store.commit(Append(execution_id, 1, [row(2, batch="first")]))
        proxy.set("pass")
        with suppress(Conflict):
            await store.commit(Append(execution_id, 1, [row(2, batch="second")]))
    found = await direct.rows(execution_id)
    assert [one.first for one in found] == [1, 2]


async def test_a_database_that_does_not_tell_what_happened_is_an_error_and_writing_goes_on(
    direct: PostgresStore, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = "case when pg_cancel_backend(pg_backend_pid()) then pg_sleep(9) is null end"
    refusing = f"{SQL['landed']} where {cancelled}"
    async with connected(proxy.url) as store:
        execution_id, other = await begin(store, 1), await begin(store, 2)
        monkeypatch.setattr(postgres_writer, "SQL", {**SQL, "landed": refusing})
        proxy.set("stall_back")
        waiting = asyncio.ensure_future(store.commit(Append(execution_id, 1, [row(2)])))
        await _until_ended(direct, [execution_id], 2)
        proxy.set("refuse")
        proxy.set("pass")
        with pytest.raises(BackendError, match="whether a commit happened"):
            await waiting
        await store.commit(Append(other, 1, [row(2)]))
        assert await store.end(other) == 2


async def test_a_writer_that_is_gone_keeps_nobody_waiting(
    ground: Ground, direct: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends it: those who wait are told, those who come later too, and the store can be closed."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    async with connected(ground.database()) as store:
        ids = [await begin(store, number) for number in range(3)]
        monkeypatch.setattr(postgres_writer, "MOST_APPENDS", 1)
        monkeypatch.setattr(postgres_writer, "alone", broken)
        commits = (store.commit(Append(one, 1, [row(2)])) for one in ids)
        outcomes = await asyncio.gather(*commits, return_exceptions=True)
        assert [(type(one), "a mistake of ours" in str(one)) for one in outcomes] == [
            (BackendError, True)
        ] * 3
        with pytest.raises(BackendError, match="nothing is written any more"):
            await store.commit(Append(ids[0], 1, [row(2)]))
    assert [await direct.end(one) for one in ids] == [1] * 3


async def test_what_was_answered_survives_a_crash_of_the_server(own_server: PostgresServer) -> None:
    """Each writer goes on from what the log says, as the engine does."""
    reached: dict[str, int] = {}

    async def write(store: PostgresStore, execution_id: str, until: int) -> None:
        while reached[execution_id] < until:
            seq = reached[execution_id]
            try:
                await store.commit(Append(execution_id, seq, [row(seq + 1, batch=f"b{seq + 1}")]))
                reached[execution_id] = seq + 1
            except BackendError:
                reached[execution_id] = max(seq, await store.end(execution_id))

    async with connected(own_server.new_database()) as store:
        for number in range(AT_ONCE):
            reached[await begin(store, number)] = 1
        writing = asyncio.gather(*(write(store, one, 60) for one in list(reached)))
        while min(reached.values()) < 10:
            await store.heartbeat("someone", 1000)
        await asyncio.to_thread(own_server.kill)
        known = dict(reached)
        await asyncio.to_thread(own_server.restart)
        for execution_id, seq in known.items():
            assert await store.end(execution_id) >= seq
        await writing
        for execution_id in reached:
            assert [one.first for one in await store.rows(execution_id)] == list(range(1, 61))


async def test_while_the_database_is_away_everything_says_so_and_later_it_works(
    own_server: PostgresServer,
) -> None:
    async with connected(own_server.new_database()) as store:
        execution_id = await begin(store, owner="a")
        await asyncio.to_thread(own_server.kill)
        for attempt in (
            store.commit(Append(execution_id, 1, [row(2)])),
            store.summary(execution_id),
            store.claim(execution_id, "a", 1000),
            store.post(execution_id, b"m"),
            store.register("a/b", "h", "text", None),
            PostgresResults(store).read(f"{eid(1)}/{'d' * 32}"),
        ):
            with impatient(store), pytest.raises(BackendError, match=r"127\.0\.0\.1"):
                await attempt
        await asyncio.to_thread(own_server.restart)
        assert (await store.register("a/b", "h", "text", None)).version == 1
        assert (await store.summary(execution_id)).status == "running"
        await store.commit(Append(execution_id, 1, [row(2)]))
        assert await store.end(execution_id) == 2


async def test_closing_a_store_finishes_what_is_queued(direct: PostgresStore, ground: Ground) -> None:
    store = await PostgresStore.open(ground.database())
    commits = [asyncio.ensure_future(begin(store, number)) for number in range(AT_ONCE)]
    await asyncio.wait(commits, return_when=asyncio.FIRST_COMPLETED)
    await store.close()
    await asyncio.gather(*commits)
    assert len((await direct.executions()).items) == AT_ONCE
    with pytest.raises(BackendError, match="closed"):
        await begin(store, 99)


# Several servers


async def test_the_databases_clock_decides_who_owns_an_execution(
    direct: PostgresStore, ground: Ground
) -> None:
    async with connected(ground.database()) as other:
        execution_id = await begin(direct, owner="a")
        assert not await other.claim(execution_id, "b", 60_000)
        assert await direct.claim(execution_id, "a", -1)
        await direct.heartbeat("a", -1)
        assert not await other.owned(execution_id)
        assert await other.due() == [execution_id]
        assert await other.claim(execution_id, "b", 60_000)
        with pytest.raises(Conflict, match="run by b"):
            await direct.commit(Append(execution_id, 1, [row(2)], owner="a"))
        await other.commit(Append(execution_id, 1, [row(2)], owner="b"))
        assert await direct.due() == []


async def test_who_stays_without_any_connection_is_let_go_of_before_the_claim_runs_out(
    direct: PostgresStore, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(ground.database()) as other:
        started, claimed = await begin(other, 1, owner="a"), await begin(direct, 2)
        assert await other.claim(claimed, "a", 60_000)
        monkeypatch.setattr(postgres_store, "ABSENT_S", 0.0)
        assert await direct.due() == []  # it is there, though it does nothing
    monkeypatch.setattr(postgres_store, "ABSENT_S", 60.0)
    assert await direct.due() == []  # it may be on its way back
    monkeypatch.setattr(postgres_store, "ABSENT_S", 0.0)
    assert sorted(await direct.due()) == [started, claimed]
    assert not await direct.owned(started)
    await direct.heartbeat("a", 60_000)  # it was alive all the time
    assert (await direct.owned(started), await direct.claim(started, "b", 60_000)) == (True, False)


async def test_of_two_servers_claiming_many_each_execution_has_one(
    direct: PostgresStore, ground: Ground
) -> None:
    async with connected(ground.database()) as other:
        ids = await asyncio.gather(*(begin(direct, number) for number in range(AT_ONCE)))
        claims = [store.claim(one, str(store), 60_000) for one in ids for store in (direct, other)]
        won = await asyncio.gather(*claims)
        assert [won[n] + won[n + 1] for n in range(0, 2 * AT_ONCE, 2)] == [1] * AT_ONCE


async def test_two_servers_appending_at_once_never_both_win(direct: PostgresStore, ground: Ground) -> None:
    async with connected(ground.database()) as other:
        ids = await asyncio.gather(*(begin(direct, number) for number in range(AT_ONCE)))
        attempts = [store.commit(Append(one, 1, [row(2)])) for one in ids for store in (direct, other)]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(outcome is None for outcome in outcomes) == AT_ONCE
        assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == AT_ONCE


async def test_one_key_on_two_servers_begins_one_execution(direct: PostgresStore, ground: Ground) -> None:
    async with connected(ground.database()) as other:
        keys = [f"k{number % 5}" for number in range(AT_ONCE)]
        attempts = [
            begin(store, 2 * number + place, idempotency_key=key)
            for number, key in enumerate(keys)
            for place, store in enumerate((direct, other))
        ]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(outcome, str) for outcome in outcomes) == 5
        assert all(isinstance(outcome, str | Conflict) for outcome in outcomes)


async def _lived(store: PostgresStore, number: int) -> list[tuple[str, object]]:
    """The life of an execution, commit by commit, and what was refused; then all that the tables hold of it."""
    execution_id, other = eid(number), eid(number + 1)
    asked: dict[str, str] = {"parent": eid(8), "retry_of": eid(9), "request": "r", "requested_by": "me"}
    key = f"key {number}"
    began = summary(execution_id, idempotency_key=key, **asked)
    waits = summary(execution_id, status="waiting", started_at=NOW, due_at=NOW + 5)
    ended = summary(execution_id, status="failed", started_at=NOW, ended_at=NOW + 9, result=b"{}")

    appends = [
        Append(execution_id, 0, rows(6), began, claim=("me", 1000), newest=True),
        Append(execution_id, 0, rows(6), began, claim=("me", 1000)),  # it is there already
        Append(other, 0, rows(1), summary(other, idempotency_key=key)),  # so is its key
        Append(other, 0, rows(1), summary(other, version=7), newest=True),
        Append(execution_id, 6, [row(7, 9, batch="a")], owner="me"),
        Append(execution_id, 6, [row(7)], owner="me"),  # the log is longer by now
        Append(execution_id, 9, [row(10)], waits, owner="me"),
        Append(execution_id, 10, rows(2, 3, first=11), owner="me"),
        Append(execution_id, 15, [row(16, batch="a")], owner="me"),  # that batch is there
        Append(execution_id, 15, [row(16)], owner="another"),
        Append(execution_id, 15, [row(16)], ended, owner="another"),
        Append(execution_id, 15, [row(16, 18, batch="b")], ended, owner="me"),
    ]
    told: list[tuple[str, object]] = []
    for place, append in enumerate(appends):
        if place == len(appends) - 1:
            await store.post(execution_id, b"a letter")
        try:
            await store.commit(append)
        except NoetlError as error:
            told.append((f"append {place}", re.sub(r"[0-9a-f]{32}|key \d+|\(\d+, a\)", "ID", error.message)))
    shown = (
        "to_jsonb({}) - array['id', 'execution', 'execution_id', 'owned_until', 'until', 'idempotency_key']"
    )
    for table, of in (("executions", "e"), ("log", "l"), ("mailbox", "m"), ("owners", "o")):
        joined = (
            ""
            if of == "e"
            else " join executions e on " + ("e.owner = o.owner" if of == "o" else f"e.id = {of}.execution")
        )
        text = f"select {shown.format(of)} from {table} {of}{joined} where e.execution_id = $1 order by 1"
        told += [(table, found[0]) for found in await store.database.fetch(text, execution_id)]
    return told


async def test_an_append_alone_does_what_the_append_of_many_does(
    direct: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await direct.register("tests/case", "h", "text", None)
    apart = await _lived(direct, 10)
    monkeypatch.setattr(postgres_writer, "alone", lambda append, now: None)
    assert await _lived(direct, 20) == apart
    assert [place for place, _ in apart if place.startswith("append")] == [
        f"append {n}" for n in (1, 2, 3, 5, 8, 9, 10)
    ]
    assert [table for table, _ in apart if not table.startswith("append")] == [
        "executions",
        *["log"] * 6,
        "owners",
    ]


async def test_one_bad_append_fails_alone(direct: PostgresStore) -> None:
    """What the database itself refuses undoes the whole transaction; the others are then done one by one."""
    ids = await asyncio.gather(*(begin(direct, number) for number in range(4)))
    await direct.commit(Append(ids[1], 1, [row(2, batch="b")]))
    outcomes = await asyncio.gather(
        direct.commit(Append(ids[0], 1, [row(2)])),
        direct.commit(Append(ids[1], 2, [row(3, batch="b")])),
        direct.commit(Append(ids[2], 1, [row(2)], summary(ids[2], status="a\0b"))),
        direct.commit(Append(ids[3], 1, [row(2)], snapshot=b"s")),
        return_exceptions=True,
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [type(None), Conflict, RequestError, type(None)]
    assert [await direct.end(one) for one in ids] == [2, 2, 1, 2]


async def test_a_commit_is_as_large_as_it_needs_to_be(direct: PostgresStore) -> None:
    big = row(2)
    big.body = b"x" * 9_000_000
    ids = await asyncio.gather(*(begin(direct, number) for number in range(3)))
    await asyncio.gather(*(direct.commit(Append(one, 1, [big])) for one in ids))
    assert [(await direct.rows(one, 2))[0].body == big.body for one in ids] == [True] * 3


async def test_text_that_cannot_be_stored_is_refused_by_name(direct: PostgresStore) -> None:
    for attempt in (
        direct.by_key("a\0b"),
        direct.executions(Find(path="\0")),
        direct.register("a\0", "h", "t", None),
        direct.summary("\ud800"),
    ):
        with pytest.raises(RequestError):
            await attempt


# Plans


MANY = """
    insert into executions (seq, requested_at, due_at, owner, owned_until, status, execution_id, path, hash)
    select 1, 1, 1000000000000000 + n, 'a', 0, 'running', lpad(to_hex(n), 32, '0'), 'p', 'h'
    from generate_series(1, 20000) n
"""
HISTORIES = {
    "never used": (),
    "empty and analysed": ("analyze",),
    "full": (MANY,),
    "full and analysed": (MANY, "analyze"),
    "emptied": (MANY, "analyze", "delete from executions"),
    "emptied and analysed": (MANY, "analyze", "delete from executions", "analyze"),
    "emptied and vacuumed": (MANY, "delete from executions", "vacuum"),
}


@pytest.mark.parametrize("history", HISTORIES)
async def test_plans_go_by_an_index_whatever_the_tables_hold(database: str, history: str) -> None:
    """Autovacuum may see a table in any of these states, and then one plan is kept for long."""
    async with connected(database) as store:
        for statement in HISTORIES[history]:
            await store.database.fetch(statement)
        connection = await store.database.connect(**SETTINGS)
        try:
            await connection.execute(f"prepare append as {APPEND}")
            values = ", ".join("null" for _ in columns([], None))
            plan = await connection.fetch(f"explain execute append ({values})")
            told = "\n".join(line[0] for line in plan)
        finally:
            await connection.close()
    assert "Index Scan using executions_execution_id_key on executions e" in told
    assert re.search(r"Index Cond: \(execution_id = ANY \(ARRAY\[i_?\d*\.execution_id\]\)\)", told)
    assert re.search(r"Hash Cond: \(r\.n = p\.n\)", told)
    assert "Seq Scan" not in told


@pytest.mark.parametrize("name", ALONE)
async def test_plans_of_an_append_alone_go_by_an_index(direct: PostgresStore, name: str) -> None:
    connection = await direct.database.connect(**SETTINGS)
    try:
        await connection.execute(f"prepare alone as {SQL[name]}")
        many = max(map(int, re.findall(r"\$(\d+)", SQL[name])))
        plan = await connection.fetch(f"explain execute alone ({', '.join(['null'] * many)})")
        told = "\n".join(line[0] for line in plan)
    finally:
        await connection.close()
    assert "Seq Scan" not in told
    assert name == "begin_one" or "Index Scan using executions_execution_id_key on executions e" in told


async def test_looking_for_due_work_does_not_read_every_execution(direct: PostgresStore) -> None:
    await direct.database.fetch(MANY)
    await direct.heartbeat("a", 60_000)
    await direct.database.fetch("analyze executions")
    plan = await direct.database.fetch(f"explain {SQL['due']}", None, 100)
    told = "\n".join(line[0] for line in plan)
    assert "Index Scan using executions_open" in told
    assert "Seq Scan on executions" not in told
    assert await direct.due() == []


# Schemas and addresses


async def test_many_that_open_an_empty_database_at_once_make_one_schema(database: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(database) for _ in range(4)))
    await begin(stores[0])
    assert len((await stores[3].executions()).items) == 1
    for store in stores:
        await store.close()
    assert await schema.migrate(Database(database)) == (schema.newest_version(), schema.newest_version())


async def test_a_database_is_left_as_it_is_unless_told_otherwise(database: str) -> None:
    with pytest.raises(BackendError, match="schema 0") as found:
        await PostgresStore.open(database, up_to_date=False)
    assert found.value.hint == "noetl db init"
    assert await schema.version_of(Database(database)) == 0
    await schema.migrate(Database(database))
    await (await PostgresStore.open(database, up_to_date=False)).close()


async def brought_further(database: str, oldest_reader: int | None) -> None:
    """What a newer release leaves of a database."""
    await schema.migrate(Database(database))
    connection = await asyncpg.connect(database)
    await connection.execute(
        "insert into noetl.migrations (version, oldest_reader, release) values (998, 1, '9.0.0'), (999, $1, '9.1.0')",
        oldest_reader,
    )
    await connection.close()


async def test_a_newer_schema_that_asks_for_more_is_not_touched(database: str) -> None:
    await brought_further(database, None)
    for up_to_date in (True, False):
        with pytest.raises(NewerFormat, match=r"schema 999 by noetl 9\.1\.0; .* knows up to"):
            await PostgresStore.open(database, up_to_date=up_to_date)


async def test_a_newer_schema_that_older_releases_can_read_is_worked_with(database: str) -> None:
    await brought_further(database, schema.newest_version())
    for up_to_date in (True, False):
        store = await PostgresStore.open(database, up_to_date=up_to_date)
        assert (await store.extent()).schema == 999
        await store.close()
    assert await schema.migrate(Database(database)) == (999, 999)


async def test_tables_that_a_newer_release_made_wider_are_read_by_the_names_of_their_columns(
    database: str,
) -> None:
    store = await PostgresStore.open(database)
    await widened(store.database.fetch, "select tablename from pg_tables where schemaname = 'noetl'")
    await used(store)
    await store.close()


async def test_every_migration_is_noted_with_its_release_and_oldest_reader(database: str) -> None:
    await schema.migrate(Database(database))
    connection = await asyncpg.connect(database)
    noted = await connection.fetch(
        "select version, oldest_reader, release from noetl.migrations order by version"
    )
    await connection.close()
    expected = [(number, oldest_reader(number, text), __version__) for number, text in enumerate(SCHEMAS, 1)]
    assert list(map(tuple, noted)) == expected


async def test_a_database_that_cannot_be_used_is_named_without_its_password() -> None:
    with pytest.raises(NoetlError) as found:
        await PostgresStore.open("postgresql://me:s3cret@127.0.0.1:1/d", patience_s=0.2)
    assert "127.0.0.1:1" in found.value.message
    assert "s3cret" not in found.value.message


# Payloads


async def test_a_payload_is_kept_in_chunks(direct: PostgresStore) -> None:
    results = PostgresResults(direct)
    key = f"{eid(1)}/{'d' * 32}"
    await results.write(Payload(key, b"x" * (9 * CHUNK + 1)))
    sizes = await direct.database.fetch("select length(body) from payload_chunks where key = $1", key)
    assert [size for (size,) in sizes] == [CHUNK] * 9 + [1]
    assert len(await results.read(key)) == 9 * CHUNK + 1


async def test_chunks_that_a_crash_left_are_told_of_and_can_be_removed(direct: PostgresStore) -> None:
    results = PostgresResults(direct)
    await direct.database.fetch(SQL["add_chunk"], f"{eid(1)}/~left", 0, None, b"x")
    assert [(one.execution_id, one.payloads) for one in await results.footprints()] == [(eid(1), 0)]
    await results.discard(eid(1))
    assert list(await results.footprints()) == []


async def test_an_execution_whose_owner_nobody_knows_is_not_forgotten(direct: PostgresStore) -> None:
    """A peer that gives an owner up and a start of that owner may cross."""
    for number, owner in ((1, "a"), (2, "gone"), (3, "z")):
        await begin(direct, number, owner=owner)
    await direct.database.fetch("delete from owners where owner = 'gone'")
    assert await direct.due() == []
    await direct.database.fetch("update executions set owned_until = 0")
    assert await direct.due() == [eid(2)]
    assert await direct.claim(eid(2), "b", 30_000)


async def test_a_letter_that_crossed_with_the_end_of_its_execution_does_not_stay(
    direct: PostgresStore,
) -> None:
    execution_id = await begin(direct, 1, owner="a")
    late = await begin(direct, 2, owner="a")
    await direct.post(execution_id, b"{}")
    await direct.database.fetch(
        "insert into mailbox (execution, message) select id, $1 from executions", b"late"
    )
    await direct.database.fetch("update executions set ended_at = 5 where execution_id = $1", late)
    await direct.heartbeat("a", 30_000)
    assert (await direct.extent()).messages == 2
    assert {letter.execution_id for letter in await direct.mail("a")} == {execution_id}
