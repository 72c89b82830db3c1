"""Inserts that meet go together, and each call hears what became of its own rows alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

Run = Callable[..., Awaitable[Any]]
LONG_S = 60.0
TABLE = "create table seen (n int primary key check (n >= 0), went bigint default txid_current())"
INSERT = "insert into seen (n) values ($1)"
UNLESS_THERE = "insert into seen (n) values ($1), ($2) on conflict do nothing;"


@pytest.fixture
async def pg(use: Any, secrets: Any, database: str) -> Run:
    secrets["pg"] = {"dsn": database}

    async def run(query: str, params: Any = None, **more: Any) -> Any:
        async with asyncio.timeout(LONG_S):
            return await use("postgres", {"query": query, "params": params}, auth_name="pg", **more)

    await run(TABLE)
    await run(INSERT, [1_000_000])  # its types are known
    return run


async def found(pg: Run, query: str) -> Any:
    return (await pg(query))["data"]["rows"]


async def test_inserts_that_meet_share_commits(pg: Run) -> None:
    outputs = await asyncio.gather(*(pg(INSERT, [n]) for n in range(30)))
    assert {output["data"]["row_count"] for output in outputs} == {1}
    (row,) = await found(pg, "select count(*) as n, count(distinct went) as commits from seen where n < 1000")
    assert row["n"] == 30
    assert row["commits"] <= 5


async def test_an_insert_that_meets_none_waits_for_none(pg: Run) -> None:
    for n in range(5):
        await pg(INSERT, [n])
    (row,) = await found(pg, "select count(distinct went) as commits from seen where n < 1000")
    assert row["commits"] == 5


async def test_calls_of_different_executions_never_go_together(pg: Run) -> None:
    calls = (pg(INSERT, [n], execution_id=f"e{n}") for n in range(10))
    await asyncio.gather(*calls)
    (row,) = await found(pg, "select count(distinct went) as commits from seen where n < 1000")
    assert row["commits"] == 10


async def test_each_call_hears_how_many_rows_are_its_own(pg: Run) -> None:
    await pg(UNLESS_THERE, [2, 1_000_000])  # one of them is there
    outputs = await asyncio.gather(*(pg(UNLESS_THERE, [n, n + 1]) for n in range(20)))
    assert {output["status"] for output in outputs} == {"ok"}
    counts = [output["data"]["row_count"] for output in outputs]
    assert sum(counts) == 20  # 0 to 20, but for 2
    assert set(counts) <= {0, 1, 2}
    (row,) = await found(pg, "select count(*) as n, count(distinct went) as commits from seen where n < 1000")
    assert row["n"] == 21
    assert row["commits"] < 10


async def test_a_call_that_is_refused_fails_alone_and_says_so_itself(pg: Run) -> None:
    outputs = await asyncio.gather(*(pg(INSERT, [n if n % 7 else -1]) for n in range(1, 30)))
    refused = [n for n, output in enumerate(outputs, 1) if output["status"] == "error"]
    assert refused == [7, 14, 21, 28]
    error = outputs[6]["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("postgres", "23514", False)
    (row,) = await found(pg, "select count(*) as n from seen where n < 1000")
    assert row["n"] == 25


async def test_a_value_that_fits_no_column_fails_its_own_call(pg: Run) -> None:
    outputs = await asyncio.gather(*(pg(INSERT, [n if n != 5 else "five"]) for n in range(10)))
    assert [n for n, output in enumerate(outputs) if output["status"] == "error"] == [5]
    assert outputs[5]["error"]["message"] == "parameter 1 is 'five', which is no int4"


async def test_who_is_cancelled_takes_nobody_along(pg: Run) -> None:
    calls = [asyncio.ensure_future(pg(INSERT, [n])) for n in range(20)]
    await asyncio.sleep(0)
    for call in calls[1::2]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert {call.result()["status"] for call in calls[::2]} == {"ok"}
    (row,) = await found(pg, "select count(*) as n from seen where n < 1000 and n % 2 = 0")
    assert row["n"] == 10


BLOCKED = "from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


@pytest.fixture
async def watching(database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def locking(database: str) -> AsyncIterator[asyncpg.Connection]:
    """Holds the table, so that no insert ends."""
    connection = await asyncpg.connect(database)
    await connection.execute("begin; lock table seen")
    yield connection
    await connection.close()


async def until_blocked(watching: asyncpg.Connection, sessions: int) -> None:
    async with asyncio.timeout(LONG_S):
        while await watching.fetchval(f"select count(*) {BLOCKED}") != sessions:
            pass


async def test_when_nobody_waits_any_more_the_statement_ends_on_the_server(
    pg: Run, watching: asyncpg.Connection, locking: asyncpg.Connection
) -> None:
    calls = [asyncio.ensure_future(pg(INSERT, [n])) for n in range(10)]
    await until_blocked(watching, 2)  # the first call, and the others together
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await until_blocked(watching, 0)
    await locking.execute("commit")
    assert await watching.fetchval("select count(*) from seen") == 1


async def test_a_connection_that_is_lost_is_told_to_each_that_was_on_it(
    pg: Run, watching: asyncpg.Connection, locking: asyncpg.Connection
) -> None:
    calls = [asyncio.ensure_future(pg(INSERT, [n])) for n in range(10)]
    await until_blocked(watching, 2)
    await watching.execute(f"select pg_terminate_backend(pid) {BLOCKED}")
    outputs = await asyncio.gather(*calls)
    assert {output["status"] for output in outputs} == {"error"}
    assert all(output["error"]["retryable"] for output in outputs)
    await locking.execute("commit")
    assert await watching.fetchval("select count(*) from seen") == 1


async def test_where_sessions_are_few_all_that_wait_go_with_the_next(pg: Run) -> None:
    spec = {"pool_size": 1}
    outputs = await asyncio.gather(*(pg(INSERT, [n], spec=spec) for n in range(150)))
    assert {output["status"] for output in outputs} == {"ok"}
    (row,) = await found(pg, "select count(*) as n, count(distinct went) as commits from seen where n < 1000")
    assert row["n"] == 150
    assert row["commits"] <= 10


async def test_a_table_whose_rules_answer_no_rows_is_filled_alone(pg: Run) -> None:
    await pg("create rule twice as on insert to seen do also select 1")
    outputs = await asyncio.gather(*(pg(INSERT, [n]) for n in range(10)))
    assert {output["status"] for output in outputs} == {"ok"}
    (row,) = await found(pg, "select count(*) as n from seen where n < 1000")
    assert row["n"] == 10


@pytest.mark.parametrize("turns", range(4))
async def test_who_comes_while_others_are_given_up_is_not_given_up_with_them(
    pg: Run, watching: asyncpg.Connection, locking: asyncpg.Connection, turns: int
) -> None:
    spec = {"pool_size": 1}
    first = asyncio.ensure_future(pg(INSERT, [1], spec=spec))
    await until_blocked(watching, 1)
    second = asyncio.ensure_future(pg(INSERT, [2], spec=spec))  # waits for the session
    for _ in range(5):
        await asyncio.sleep(0)
    second.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    third = asyncio.ensure_future(pg(INSERT, [3], spec=spec))
    for _ in range(5):
        await asyncio.sleep(0)
    await locking.execute("commit")
    outputs = await asyncio.gather(first, third)
    assert [output["status"] for output in outputs] == ["ok", "ok"]
    assert second.cancelled()
    assert await watching.fetch("select n from seen where n < 1000 order by n") == [(1,), (3,)]


@pytest.mark.parametrize("calls", [1, 6])
async def test_a_value_is_made_for_the_column_as_it_is_by_now(pg: Run, database: str, calls: int) -> None:
    insert = "insert into letter (body) values (:body)"
    await pg("create table letter (body text)")
    for _ in range(2):
        await pg(insert, {"body": {"a": 1}})
    connection = await asyncpg.connect(database)
    await connection.execute("alter table letter alter body type jsonb using body::jsonb")
    spec = {"pool_size": 3}  # sessions that have not seen the table
    outputs = await asyncio.gather(*(pg(insert, {"body": {"a": 1}}, spec=spec) for _ in range(calls)))
    assert {output["status"] for output in outputs} == {"ok"}
    kinds = await connection.fetch("select jsonb_typeof(body), count(*) from letter group by 1")
    assert kinds == [("object", 2 + calls)]
    await connection.close()
