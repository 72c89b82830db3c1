"""Rows into a PostgreSQL table over the COPY protocol, and what command tags say."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.postgres_values import to_pg
from noetl.tools.parts.sql import Result, quote

if TYPE_CHECKING:
    from asyncpg import Connection


def changed_rows(tag: str) -> int:
    """How many rows a command tag such as `INSERT 0 5` speaks of."""
    last = tag.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0


async def rows_of(rows: list[Json] | dict[str, Json], call: Call) -> list[Json]:
    """The rows themselves; a reference is resolved first."""
    if isinstance(rows, list):
        return rows
    from noetl.tools.resolve import Resolve, run

    data = (await run(Resolve(ref=rows), call))["data"]
    items = data.get("rows") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise Failed("input", f"copy needs a list of rows; the reference leads to a {type(data).__name__}")
    return items


async def load(
    connection: "Connection", table: str, rows: Sequence[Json], columns: list[str] | None = None
) -> Result:
    """Load rows; each is converted when its turn comes."""
    columns = columns or _keys(rows)
    if not columns:
        return Result(changed=0)
    names = ", ".join(quote(column) for column in columns)
    probe = await connection.prepare(f"select {names} from {quote(table)}")
    types = [attribute.type.name for attribute in probe.get_attributes()]
    schema, _, name = table.rpartition(".")
    tag = await connection.copy_records_to_table(
        name, schema_name=schema or None, columns=columns, records=_records(rows, columns, types)
    )
    return Result(changed=changed_rows(tag))


def _records(rows: Sequence[Json], columns: list[str], types: list[str]) -> Iterator[tuple[object, ...]]:

    for row in rows:
        pairs = zip(_cells(row, columns), types, strict=True)
        yield tuple(to_pg(value, kind, number) for number, (value, kind) in enumerate(pairs, 1))


def _keys(rows: Sequence[Json]) -> list[str]:
    first = rows[0] if rows else {}
    if not isinstance(first, dict):
        raise Failed("input", "copy needs columns when its rows are lists")
    return list(first)


def _cells(row: Json, columns: list[str]) -> list[Json]:
    cells = [row.get(column) for column in columns] if isinstance(row, dict) else row
    if not isinstance(cells, list) or len(cells) != len(columns):
        raise Failed("input", f"a row of copy does not have the columns {', '.join(columns)}")
    return cells
