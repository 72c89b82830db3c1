"""What tasks print, in PostgreSQL. Nobody waits until these lines are durable: a crash may take some."""

from collections.abc import Sequence

import asyncpg

from noetl.adapters.postgres.database import Database
from noetl.adapters.postgres.statements import SQL
from noetl.ports.task_lines import (
    PAGE_BYTES,
    PAGE_ROWS,
    KeptLines,
    PrintedLines,
    StoredLines,
    encode_lines,
    size_of_lines,
    stored_lines,
)

CHUNK = 200  # in one transaction


async def add(database: Database, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
    """Keep lines, and let those go that are too many."""
    for start in range(0, len(printed), CHUNK):
        async with database.transaction() as connection:
            await connection.execute("set local synchronous_commit to off")
            # Numbers of one execution are given by one transaction after the other.
            ids = sorted({one.execution_id for one in printed[start : start + CHUNK]})
            await connection.fetch(_LOCK, ids)
            for one in printed[start : start + CHUNK]:
                await _add(connection, one, kept)


_LOCK = "select pg_advisory_xact_lock(hashtextextended('task_lines ' || id, 0)) from unnest($1::text[]) as id"


async def _add(connection: asyncpg.Connection, one: PrintedLines, kept: KeptLines) -> None:
    size = size_of_lines(one.lines)
    upto = one.before + size
    told = (len(one.lines), one.lost, encode_lines(one), one.batch)
    values = (one.execution_id, size, one.whose, upto, *told)
    for execution, total in await connection.fetch(SQL["add_lines"], *values):
        beginning, end = kept.of(one)
        if upto > beginning + end:
            await connection.execute(
                SQL["trim_lines_of_attempt"], execution, one.whose, beginning, upto - end
            )
        if total > kept.execution:
            await connection.execute(SQL["trim_lines_of_execution"], execution, total - kept.execution)


async def read(database: Database, execution_id: str, after: int) -> list[StoredLines]:
    """Some lines behind a number."""
    rows = await database.fetch(SQL["lines"], execution_id, after, PAGE_BYTES, PAGE_ROWS)
    return [stored_lines(*row) for row in rows]
