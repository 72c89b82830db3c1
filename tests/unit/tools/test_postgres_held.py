"""What a statement changes is committed with its rows: a worker that stands still holds none of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import yaml

from noetl.tools.parts.statements import number_parameters, split
from noetl.tools.postgres import _chunks, _reads
from tests.docs.pages import blocks
from tests.unit.tools.conftest import Use


@pytest.mark.parametrize(
    "statement, held",
    [
        ("with mine as (select n from held for update skip locked) update held set n = held.n from mine returning 1", False),
        ("with gone as (delete from held returning n) select n from gone", False),
        ("with more as (insert into held values (2) returning n) select n from more", False),
        ("with mine as (select n from held for update) select n from mine", True),
        ("select n from held", True),
    ],
)  # fmt: skip
async def test_what_changes_rows_is_committed_with_them_and_never_held_open_by_a_worker_that_stands_still(
    database: str, statement: str, held: bool
) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("create temp table held (n int); insert into held values (1)")
    prepared = await connection.prepare(statement)
    chunks = [
        connection.is_in_transaction() async for _ in _chunks(connection, prepared, [], _reads(statement))
    ]
    await connection.close()
    assert chunks == [held]


# The recipe of the documentation, with two claims under one key

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "work-through-a-table.md"
QUEUE = next(block.text for block in blocks(PAGE) if "skip locked" in block.text)
CLAIM = yaml.safe_load(QUEUE)["workflow"][0]["loop"]["in"]["claim"]["input"]["query"]
Claim = Callable[[str], Coroutine[Any, Any, list[int]]]


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database)
    await connection.execute(
        "create table job (id int primary key, state text default 'new', claimed_by text, payload jsonb);"
        "insert into job select generate_series(1, 9)"
    )
    yield connection
    await connection.close()


async def claim_on(connection: asyncpg.Connection, key: str) -> list[int]:
    for statement in split(CLAIM):
        text, values = number_parameters(statement, {"key": key, "batch": 3})
        rows = await connection.fetch(text, *values)
    return sorted(row["id"] for row in rows)


@pytest.fixture
def claim(use: Use, secrets: dict[str, Any], database: str) -> Claim:
    secrets["pg"] = {"dsn": database}

    async def claimed(key: str) -> list[int]:
        answer = await use("postgres", {"query": CLAIM, "params": {"key": key, "batch": 3}}, auth_name="pg")
        assert answer["status"] == "ok", answer
        data: Any = answer["data"]
        return sorted(row["id"] for row in data["rows"])

    return claimed


async def test_a_claim_made_again_waits_for_the_lost_workers_statement_and_brings_its_rows(
    jobs: asyncpg.Connection, claim: Claim, database: str
) -> None:
    lost = jobs.transaction()
    await lost.start()
    assert await claim_on(jobs, "k1") == [1, 2, 3]
    again = asyncio.create_task(claim("k1"))
    watcher = await asyncpg.connect(database)
    while not await watcher.fetchval(
        "select count(*) from pg_locks where locktype = 'advisory' and not granted"
    ):
        assert not again.done()
    assert await claim("k2") == [4, 5, 6]  # other claims wait for nobody
    await lost.commit()
    assert await again == [1, 2, 3]
    await watcher.close()


async def test_a_claim_that_comes_late_takes_nothing_more_under_a_key_whose_rows_are_done(
    jobs: asyncpg.Connection, claim: Claim
) -> None:
    assert await claim("k1") == [1, 2, 3]
    await jobs.execute("update job set state = 'done' where claimed_by = 'k1'")
    assert await claim("k1") == []
    assert await jobs.fetchval("select count(*) from job where state = 'done'") == 3
    assert await claim("k2") == [4, 5, 6]
