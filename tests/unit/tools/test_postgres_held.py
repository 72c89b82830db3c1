"""What a statement changes is committed with its rows: a worker that stands still holds none of it."""

import asyncpg
import pytest

from noetl.tools.postgres import _chunks, _reads


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
