"""Moves rows from one place to another in chunks, without holding them all in memory.

A place is a table or query of `postgres`, `sqlite` or `duckdb`, or a file (`csv`, `jsonl`, `json`,
`parquet`). `mapping` says which target column gets which source column; without it, columns keep their
names. `append` adds rows, `replace` empties the target first, `upsert` replaces rows with the same `keys`.
A database target gets all rows in one transaction and a file target is put in place at the end, so that a
failed transfer leaves it as it was.
"""

from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, Size, define, doc

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

Place = Literal["postgres", "sqlite", "duckdb", "file"]


class Source(Input):
    """Where rows come from."""

    kind: Annotated[Place, doc("What kind of place it is.")]
    auth: Annotated[str | None, doc("The secret to connect with.")] = None
    database: Annotated[str | None, doc("The database file of `sqlite` and `duckdb`.")] = None
    query: Annotated[str | None, doc("The rows to take, as SQL.")] = None
    params: Annotated[list[Any] | dict[str, Any] | None, doc("Values to bind in the query.")] = None
    table: Annotated[str | None, doc("The table to take, instead of a query.")] = None
    path: Annotated[str | None, doc("The file to read.")] = None
    format: Annotated[Literal["json", "jsonl", "csv", "parquet"] | None, doc("How the file is written.")] = (
        None
    )


class Target(Input):
    """Where rows go."""

    kind: Annotated[Place, doc("What kind of place it is.")]
    auth: Annotated[str | None, doc("The secret to connect with.")] = None
    database: Annotated[str | None, doc("The database file of `sqlite` and `duckdb`.")] = None
    table: Annotated[str | None, doc("The table; `sqlite` and `duckdb` make it when it is not there.")] = None
    path: Annotated[str | None, doc("The file to write.")] = None
    format: Annotated[Literal["json", "jsonl", "csv", "parquet"] | None, doc("How the file is written.")] = (
        None
    )


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


TOOL = define("transfer", __doc__, Transfer, returns="`{rows}`", example=EXAMPLE)
