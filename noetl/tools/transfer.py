"""Moves rows from one place to another in chunks, without holding them all in memory.

A place is a table or query of `postgres`, `sqlite`, `duckdb` or `sql` (with `driver`, as for that kind), a
file, an object of an object store, or an address (`http`); files, objects and addresses hold `csv`, `jsonl`,
`json` (a list of mappings) or `parquet`. `mapping` says which target column gets which source column; without
it, columns keep their names. `append` adds rows, `replace` empties the target first, `upsert` replaces rows
with the same `keys`. Files and objects that hold `parquet` or `json` cannot be appended to once they are
there: say `mode: replace`.

A database target gets all rows in one transaction, and a file or object is put in place at the end: a
transfer that fails, or whose worker is lost, leaves the target as it was and can be run again. A call that
was carried out and is repeated because its answer was lost adds its rows again with `append`: use `replace`
or `upsert` where that matters. An address is sent one request per chunk (`POST`, a JSON list or JSON lines)
with the header `Idempotency-Key`, the call's key and the chunk's number, by which it can know a repeated one;
what it was sent before a failure stays there.

A target can also be a `delta` table: a folder (`path`), or `store` and `key` in S3 with a credential as for
`object`; it is made when it is not there, and gets all rows in one commit. That commit has the call's
idempotency key as Delta's own transaction identifier: a call that is repeated, or made by two workers, adds
its rows once, also with `append`. A new table remembers this for 30 days. Columns that the table lacks are
error kind `format`; what it refuses otherwise is error kind `delta`, `retryable` where somebody else wrote at
the same time. Needs the extra `delta`.

A target can also be an `iceberg` table, `namespace.table` in a catalog. With `path`, the catalog is a SQLite
file `catalog.db` in that folder, called `default`, beside the data; without it, the fields of `auth` are the
catalog's properties as PyIceberg calls them, such as `type: rest`, `uri`, `warehouse` and `token`. The table
is made when it is not there; it takes its rows in one commit, whose snapshots have the call's idempotency key
as a property (`noetl.call`): a call that is repeated adds its rows once, until that snapshot expires. Rows
take the types of the table's columns, columns that it lacks are error kind `format`, and what it refuses
otherwise is error kind `iceberg`, `retryable` where somebody else wrote at the same time. `upsert` holds its
rows in memory. Needs the extra `iceberg`. The catalog in a folder is tested here; others go through the same
door.

Rows stay Arrow batches all the way, and keep their types (decimals, times with a zone, nested values), from
`duckdb`, `sql` with an ADBC driver or ClickHouse's, and Parquet files and objects to `duckdb`, `sql` with an
ADBC driver, `delta`, `iceberg`, and Parquet files and objects. A table or file that is made gets these types,
also when there are no rows; a DuckDB, Delta or Iceberg table that is there gets what its columns make of
them, one behind an ADBC driver must have columns of these types. Delta and Iceberg have no unsigned integers,
which become larger ones, and times to the microsecond, in UTC where they have a zone; Delta has no times of
day, which become text. A batch has up to 65,536 rows or 4 MiB from DuckDB, `chunk_size` rows from a Parquet
file, and from an ADBC driver what that gives. What SQLite or PostgreSQL has no type for arrives over ADBC as
it would in rows: nested values as JSON text, for SQLite decimals as numbers of the same value, or as text
beyond 15 digits (integers: 18), and times as text. Types of DuckDB that Arrow does not have, such as
intervals and times of day with a zone, go as text. A query of DuckDB waits in a temporary table of at most 1
GB of memory, the rest on disk.

All else goes row by row: `upsert`, a DuckDB source of several statements or one that is no query, Parquet
from an address (`http`), and every pair with a place that is not named above: there, values are those of
JSON. PostgreSQL and MySQL say the types of their columns all the same: what is made of their rows as `delta`,
`iceberg`, DuckDB or Parquet, or with a header as CSV, has dates, times and decimals as these, also when there
are no rows. Text are decimals of PostgreSQL without a scale, as all of a `query` are, since its driver does
not tell; bytes as base64; and MySQL's times of day, which may have 838 hours. JSON and lists have the types
of their values. Of other sources, decimals and times become numbers and text. Bytes in base64 become bytes in
such columns of MySQL, PostgreSQL, SQLite and DuckDB; moments with a zone are UTC in columns of MySQL.

A `sql` target with an ADBC driver takes Arrow batches alone, and cannot be upserted. With other drivers of
`sql`, `upsert` is for MySQL, MariaDB and PostgreSQL, and wants a primary or unique key over `keys`. A table
of `postgres` has to be there; of the others, one that is not is made.

ClickHouse (`clickhousedb`) gives Arrow batches too; enums, UUIDs, addresses and integers over 64 bits are
text in them. As a target it has no transactions: rows wait on disk until all are there and are one insert,
which ClickHouse takes as a whole up to about a million rows; `replace` empties the table just before. The
columns of a table that is there say what becomes of dates, decimals and lists; one that is made has nullable
numbers and text and the engine `MergeTree`, so make one beforehand that has your types and order. Where a
table knows repeated inserts, as those of ClickHouse Cloud and replicated ones do, a repeated call adds its
rows once. There is no `upsert`: append to a table of the engine `ReplacingMergeTree`.
"""

from contextlib import aclosing
from typing import Annotated, Literal

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, Reference, ok
from noetl.ports.tool import Input, Size, define, doc
from noetl.tools.parts.content import columns_of_rows
from noetl.tools.parts.transfer_places import Row, Source, Target
from noetl.tools.parts.transfer_types import Columns

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: transfer, path: tools/transfer}
workflow:
  - step: start
    tool:
      - name: people
        kind: file
        input: {action: write, path: people.csv, content: [{name: Ada, born: "1815"}]}
      - name: load
        kind: transfer
        input:
          source: {kind: file, path: people.csv}
          target: {kind: sqlite, database: people.db, table: person}
          mapping: {full_name: name, year: born}
          mode: replace
"""


class Transfer(Input):
    """From where to where, and how."""

    source: Annotated[Source, doc("Where rows come from.")]
    target: Annotated[Target, doc("Where rows go.")]
    mapping: Annotated[dict[str, str] | None, doc("Target column to source column.")] = None
    mode: Annotated[Literal["append", "replace", "upsert"], doc("What happens to rows that are there.")] = (
        "append"
    )
    keys: Annotated[list[str] | None, doc("The target columns that identify a row, for `upsert`.")] = None
    chunk_size: Annotated[Size, doc("Rows that are held in memory at a time.")] = 1000


async def run(request: Transfer, call: Call) -> Envelope:
    """Read chunk by chunk, rename, write; the target changes at the end or not at all."""
    from noetl.tools.parts.transfer_arrow import keeps_batches, move_batches
    from noetl.tools.parts.transfer_sources import chunks
    from noetl.tools.parts.transfer_targets import moved_before, open_target

    if request.mode == "upsert" and not request.keys:
        raise Failed("input", "transfer needs input 'keys' to upsert")
    before = await moved_before(request.target, call)
    if before is not None:
        return ok({"rows": before})
    if keeps_batches(request.source, request.target, request.mode):
        places = (request.source, request.target, request.mapping, request.mode)
        return _moved(*await move_batches(*places, request.chunk_size, call))
    moved = 0
    async with open_target(request.target, request.mode, request.keys or [], call) as target:
        columns: list[str] = []
        known = Columns()
        async with aclosing(chunks(request.source, request.chunk_size, call, known)) as source:
            async for rows in source:
                if not columns:
                    columns = _columns(rows, request.mapping)
                    first = rows if request.mapping is None else _rename(rows, request.mapping)
                    await target.begin(columns, first, known.renamed(request.mapping).types)
                await target.write(_check(rows, columns, request.mapping))
                moved += len(rows)
        if not columns:
            there = known.renamed(request.mapping)
            await target.begin(there.names, [], there.types)
        await target.commit()
    return _moved(moved, target.ref())


def _moved(rows: int, ref: Reference | None) -> Envelope:
    return ok({"rows": rows}) if ref is None else ok({"rows": rows}, ref=ref)


def _columns(rows: list[Row], mapping: dict[str, str] | None) -> list[str]:
    """The target's columns; a source column that is not there is told at the first chunk."""
    names = columns_of_rows(rows)
    if mapping is None:
        return names
    for source in mapping.values():
        if source not in names:
            raise Failed("input", f"the source has no column {source!r}; it has {', '.join(names)}")
    return list(mapping)


def _rename(rows: list[Row], mapping: dict[str, str]) -> list[Row]:
    return [{target: row.get(source) for target, source in mapping.items()} for row in rows]


def _check(rows: list[Row], columns: list[str], mapping: dict[str, str] | None) -> list[Row]:
    if mapping is not None:
        return _rename(rows, mapping)
    names = set(columns)
    for row in rows:
        if not row.keys() <= names:
            new = sorted(row.keys() - names)[0]
            raise Failed("format", f"a later row has a new column {new!r}; name the columns with mapping")
    return rows


TOOL = define("transfer", __doc__, Transfer, run, returns="`{rows}`", example=EXAMPLE)
