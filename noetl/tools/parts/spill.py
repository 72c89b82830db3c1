"""Rows that are held while they are few and go into the result store, one to a line, when they are many."""

from collections.abc import AsyncIterator, Iterable

import msgspec

from noetl.core.values.output import ROWS
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.sql import Result, hold_bytes

Chunks = AsyncIterator[list[list[object]]]


async def gather(result: Result, chunks: Chunks, rows_max: int, call: Call) -> None:
    """Take every row of a statement; the result holds them, or where they were stored."""
    size, hold = 0, hold_bytes(call)
    async for rows in chunks:
        before = len(result.rows)
        for row in rows:
            result.add(row)
        _check(len(result.rows), rows_max)
        size += len(_lines(result.rows[before:]))
        if size > hold:
            await _spill(result, chunks, rows_max, call)
            return


async def _spill(result: Result, rest: Chunks, rows_max: int, call: Call) -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield _lines(result.rows)
        result.changed, result.rows = len(result.rows), []
        async for rows in rest:
            part = Result(result.columns)
            for row in rows:
                part.add(row)
            result.changed += len(part.rows)
            _check(result.changed, rows_max)
            yield b"\n" + _lines(part.rows)

    result.ref = await call.payloads.put_stream(lines(), ROWS)


def _lines(rows: Iterable[object]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, rows))


def _check(count: int, rows_max: int) -> None:
    if count > rows_max:
        raise Failed("limit", f"the statements returned more than {rows_max} rows; raise spec.max_rows")
