"""Which calls of the postgres kind have a session one after the other as it is, and which never do."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from noetl.tools.parts.postgres_link import POOLS_MAX
from noetl.tools.parts.postgres_sessions import leaves_session_alone
from tests.distributed.proxy import Proxy

Run = Callable[..., Awaitable[Any]]
LONG_S = 60.0
INSERT = "insert into seen (n) values ($1)"
# Each row says which session wrote it and what that session had been left with; a trigger leaves something.
TABLE = """
create table seen (
  n int, session int default pg_backend_pid(), found text default current_setting('noetl.left', true)
);
create function leave() returns trigger language plpgsql as $$
begin perform set_config('noetl.left', 'something', false); return new; end $$;
create trigger leave after insert on seen for each row execute function leave();
"""


@pytest.fixture
async def pg(use: Any, secrets: Any, database: str) -> Run:
    secrets["pg"] = {"dsn": database}

    async def run(query: str, params: Any = None, **more: Any) -> Any:
        async with asyncio.timeout(LONG_S):
            output = await use("postgres", {"query": query, "params": params}, auth_name="pg", **more)
        assert output["status"] == "ok", output["error"]
        return output["data"]["rows"]

    await run(TABLE)
    return run


@pytest.mark.parametrize(
    "text",
    [
        "insert into t values ($1)",
        'INSERT INTO a.t ("b c", d)\n  VALUES ($1, :name), ($2::jsonb, $3);',
        "insert into t (a) values ($1) on conflict (a) do nothing",
        "insert into t values ($1) on conflict do nothing",
    ],
)
def test_an_insert_of_values_leaves_its_session_alone(text: str) -> None:
    assert leaves_session_alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "insert into t values (set_config('a.b', 'c', false))",
        "insert into t select set_config('a.b', 'c', false)",
        "insert into t values ($1) returning set_config('a.b', 'c', false)",
        "insert into t values ($1); set role other",
        "insert into t values ($1) on conflict do update set a = pg_advisory_lock(1)",
        "with x as (select 1) insert into t values ($1)",
        "insert into t values ($1) -- ; \nset role other",
        "update t set a = $1",
        "set role other",
        f"insert into t values ($1{', $1' * 5000})",
    ],
)
def test_of_anything_else_it_is_not_known(text: str) -> None:
    assert not leaves_session_alone(text)


async def test_a_repeated_insert_has_its_session_again_as_it_is(pg: Run) -> None:
    for number in range(3):
        await pg(INSERT, [number])
    seen = await pg("select session, found from seen order by n")
    assert len({row["session"] for row in seen}) == 1
    assert [row["found"] for row in seen] == [None, "something", "something"]


async def test_a_session_is_tidied_before_another_statement_or_execution_has_it(pg: Run) -> None:
    spec = {"pool_size": 1}
    await pg(INSERT, [1], spec=spec)
    (row,) = await pg(
        "select pg_backend_pid() as session, current_setting('noetl.left', true) as found", spec=spec
    )
    assert row["found"] in (None, "")
    await pg(INSERT, [2], spec=spec)
    await pg(INSERT, [3], spec=spec, execution_id="e2")
    await pg(INSERT + " ", [4], spec=spec, execution_id="e2")
    seen = await pg("select session, found from seen order by n", spec=spec)
    assert {each["session"] for each in seen} == {row["session"]}
    assert {each["found"] or None for each in seen} == {None}


async def test_a_session_with_a_limit_on_its_statements_is_tidied(pg: Run) -> None:
    spec = {"pool_size": 1, "statement_timeout": 5.0}
    for number in range(2):
        await pg(INSERT, [number], spec=spec)
    assert {row["found"] or None for row in await pg("select found from seen")} == {None}


async def test_everyone_who_waits_for_a_session_gets_one(pg: Run) -> None:
    spec = {"pool_size": 2}
    inserts = [pg(INSERT, [number], spec=spec) for number in range(20)]
    others = [pg("select $1::int as n", [number], spec=spec) for number in range(20)]
    mixed = [call for pair in zip(inserts, others, strict=True) for call in pair]
    answers = await asyncio.gather(*mixed)
    assert [rows[0]["n"] for rows in answers[1::2]] == list(range(20))
    (count,) = await pg("select count(*) as n, count(distinct session) as sessions from seen")
    assert count["n"] == 20
    assert count["sessions"] <= 2


async def test_who_is_cancelled_while_waiting_takes_no_session_along(pg: Run) -> None:
    spec = {"pool_size": 1}
    calls = [asyncio.ensure_future(pg(INSERT, [number], spec=spec)) for number in range(30)]
    await pg("select 1", spec=spec)
    for call in calls[1::2]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await pg("select 1 as one", spec=spec) == [{"one": 1}]
    (count,) = await pg("select count(*) as n from seen", spec=spec)
    assert 15 <= count["n"] <= 30


async def test_a_kept_session_that_the_server_ended_is_not_used(pg: Run, database: str) -> None:
    await pg(INSERT, [1])
    (row,) = await pg("select session from seen", spec={"pool_size": 3})
    connection = await asyncpg.connect(database)
    await connection.fetchval("select pg_terminate_backend($1, 60000)", row["session"])
    await asyncio.sleep(0)
    async with asyncio.timeout(LONG_S):
        while not await connection.fetchval(
            "select count(*) = 0 from pg_stat_activity where pid = $1", row["session"]
        ):
            pass
    await connection.close()
    await pg(INSERT, [2])
    assert len({row["session"] for row in await pg("select session from seen")}) == 2


@pytest.mark.parametrize("turns", range(1, 6))
async def test_who_is_cancelled_while_a_session_is_tidied_leaves_its_place_to_others(
    pg: Run, turns: int
) -> None:
    spec = {"pool_size": 1}
    await pg(INSERT, [1], spec=spec)  # its session is kept
    call = asyncio.ensure_future(pg("select 1", spec=spec))
    for _ in range(turns):
        await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    async with asyncio.timeout(5):
        assert await pg("select 1 as one", spec=spec) == [{"one": 1}]


async def test_a_credential_more_than_are_kept_is_served_while_all_others_are_in_use(
    use: Any, secrets: Any
) -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)  # says nothing
    port = server.sockets[0].getsockname()[1]
    calls = []
    for number in range(POOLS_MAX + 2):
        secrets[f"pg{number}"] = {"dsn": f"postgres://u{number}@127.0.0.1:{port}/d"}
        calls.append(asyncio.ensure_future(use("postgres", {"query": "select 1"}, auth_name=f"pg{number}")))
    await asyncio.wait(calls, timeout=1)
    assert [call.exception() for call in calls if call.done()] == []
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    server.close()


@pytest.fixture
def other_user(database: str) -> Iterator[str]:
    """A user that the one of the credential may become; users belong to the server, not to its database."""
    name = f"other_{urlsplit(database).path[1:]}"

    async def change(statement: str) -> None:
        connection = await asyncpg.connect(database)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(change(f"create role {name}"))
    yield name
    asyncio.run(change(f"drop role {name}"))


@pytest.mark.parametrize("become", ["set role {}", "set session authorization {}"])
async def test_who_a_call_becomes_is_not_who_the_next_one_is(other_user: str, pg: Run, become: str) -> None:
    who, spec = "select current_user::text as n, session_user::text as s", {"pool_size": 1}
    before = await pg(who, spec=spec)
    assert (await pg(f"{become.format(other_user)}; {who}", spec=spec))[0]["n"] == other_user
    assert await pg(who, spec=spec, execution_id="e2") == before


@pytest.mark.parametrize("spoils", ["prepare p as select 1", "deallocate all", "discard all"])
async def test_a_session_that_cannot_be_tidied_is_closed(pg: Run, spoils: str) -> None:
    spec, touch = {"pool_size": 1, "transaction": False}, "update seen set n = n where n = $1"
    for execution in ("e1", "e2"):
        for _ in range(2):
            await pg(touch, [1], spec=spec, execution_id=execution)
        await pg(spoils, spec=spec, execution_id=execution)


async def test_a_call_ends_in_time_though_its_server_is_silent(pg: Run, secrets: Any, database: str) -> None:
    proxy = Proxy(database)
    secrets["pg"] = {"dsn": proxy.url}
    await pg("select 1")
    proxy.set("stall")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await pg("select 1")
    assert time.monotonic() - began < LONG_S / 2
    proxy.close()
