"""Where a transfer writes: tables and files that change when everything has arrived, or not at all."""

from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from typing import TYPE_CHECKING

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.paths import inside
from noetl.tools.parts.sql import quote
from noetl.tools.parts.transfer_cells import bytes_cell
from noetl.tools.parts.transfer_files import FileWriter
from noetl.tools.parts.transfer_places import Row, Target, in_thread, require
from noetl.tools.parts.transfer_tables import conflict_sql, create_sql, table_ref
from noetl.tools.parts.transfer_types import Types, in_duckdb

if TYPE_CHECKING:
    from arro3.core import RecordBatchReader
    from duckdb import DuckDBPyConnection

    from noetl.tools.parts.transfer_clickhouse import ClickhouseWriter
    from noetl.tools.parts.transfer_lake import LakeWriter
    from noetl.tools.parts.transfer_postgres import PostgresWriter
    from noetl.tools.parts.transfer_remote import HttpWriter, ObjectWriter
    from noetl.tools.parts.transfer_sql import SqlWriter


@asynccontextmanager
async def open_target(
    target: Target, mode: str, keys: list[str], call: Call
) -> AsyncIterator["PostgresWriter | SqlWriter | ClickhouseWriter | HttpWriter | ObjectWriter | Threaded"]:
    """The target; whatever is not committed at the end is undone."""
    if target.kind in ("postgres", "sql"):
        async with _open_database(target, mode, keys, await with_auth(call, target.auth)) as writer:
            yield writer
        return
    async with aclosing(await _open(target, mode, keys, call)) as closing:
        yield closing


async def moved_before(target: Target, call: Call) -> int | None:
    """How many rows a call with this key has moved already, where the target knows it."""
    if target.kind == "delta":
        from noetl.tools.parts.transfer_delta import moved_before as moved
    elif target.kind == "iceberg":
        from noetl.tools.parts.transfer_iceberg import moved_before as moved
    else:
        return None
    return await moved(target, await with_auth(call, target.auth))


def _open_database(
    target: Target, mode: str, keys: list[str], call: Call
) -> "AbstractAsyncContextManager[PostgresWriter | SqlWriter | ClickhouseWriter]":
    from noetl.tools.parts import transfer_postgres, transfer_sql

    if target.kind == "sql":
        return transfer_sql.open_writer(target, mode, keys, call)
    return transfer_postgres.open_writer(target, mode, keys, call)


async def _open(
    target: Target, mode: str, keys: list[str], call: Call
) -> "HttpWriter | ObjectWriter | Threaded":
    from noetl.tools.parts.transfer_remote import HttpWriter, ObjectWriter

    if target.kind == "http":
        return HttpWriter(target, mode, await with_auth(call, target.auth))
    if target.kind == "object":
        return ObjectWriter(target, mode, await with_auth(call, target.auth))
    if target.kind == "file":
        return Threaded(FileWriter(target, mode, call))
    if target.kind == "delta":
        from noetl.tools.parts.transfer_delta import DeltaWriter, place_of

        return Threaded(DeltaWriter(await place_of(target, await with_auth(call, target.auth)), mode, keys))
    if target.kind == "iceberg":
        from noetl.tools.parts.transfer_iceberg import IcebergWriter, catalog_of

        place = await catalog_of(target, await with_auth(call, target.auth))
        return Threaded(IcebergWriter(place, mode, keys))
    make = SqliteWriter if target.kind == "sqlite" else DuckdbWriter
    return Threaded(make(target, mode, keys, call))


class TableWriter:
    """A table of a database file, which is made if need be, and filled in one transaction."""

    kind: str

    def __init__(self, target: Target, mode: str, keys: list[str], call: Call) -> None:
        self.table = require(target.table, "table", self.kind)
        self.path = inside(call, require(target.database, "database", self.kind))
        self.keys, self.replaces, self.call = keys if mode == "upsert" else [], mode == "replace", call

    def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """Make the table if need be, with the types that are known, and empty it if asked."""
        self.columns, self.known = columns, types
        if columns:
            self.conflict = conflict_sql(columns, self.keys)
            self.execute(create_sql(self.table, columns, self.types(rows), self.keys))
            self.insert = self.insert_sql()
        if self.replaces:
            # Without columns there is nothing to make a table of; emptying one that is not there is done.
            with nullcontext() if columns else suppress(Failed):
                self.execute(f"delete from {quote(self.table)}")

    def execute(self, text: str) -> object:
        """Run a statement of the transaction."""
        raise NotImplementedError

    def types(self, rows: list[Row]) -> list[str]:
        """The types of the columns of a new table."""
        raise NotImplementedError

    def insert_sql(self) -> str:
        """The statement that adds rows."""
        raise NotImplementedError

    def ref(self) -> Reference:
        return table_ref(self.kind, self.table, self.path)


DECLARED = "select name from pragma_table_info(?, ?) where upper(type) = 'BLOB'"


class SqliteWriter(TableWriter):
    """A table of a SQLite file."""

    kind = "sqlite"

    def __init__(self, target: Target, mode: str, keys: list[str], call: Call) -> None:
        from noetl.tools.sqlite import File

        super().__init__(target, mode, keys, call)
        self.file = File(self.path, read_only=False)

    def types(self, rows: list[Row]) -> list[str]:
        return [""] * len(self.columns)

    def insert_sql(self) -> str:
        schema, _, table = self.table.rpartition(".")
        with naming_failures():
            declared = self.file.open().execute(DECLARED, (table, schema or "main"))
            self.cells = {str(name): bytes_cell(str(name)) for (name,) in declared}
        names, values = ", ".join(map(quote, self.columns)), ", ".join("?" * len(self.columns))
        return f"insert into {quote(self.table)} ({names}) values ({values}){self.conflict}"

    def execute(self, text: str) -> None:
        with naming_failures():
            connection = self.file.open()
            if not connection.in_transaction:
                connection.set_busy_timeout(5000)
                connection.execute("begin immediate")
            connection.execute(text)

    def write(self, rows: list[Row]) -> None:
        from noetl.tools.sqlite import bindable

        ways = [self.cells.get(column, bindable) for column in self.columns]
        values = ([way(row.get(name)) for way, name in zip(ways, self.columns, strict=True)] for row in rows)
        with naming_failures():
            self.file.open().executemany(self.insert, values)

    def commit(self) -> None:
        if self.file.connection is not None and self.file.connection.in_transaction:
            self.execute("commit")

    def close(self) -> None:
        """Closing rolls back what was not committed."""
        self.file.close()


@contextmanager
def naming_failures() -> Iterator[None]:
    """Errors of SQLite inside become the failure of the call."""
    import apsw

    from noetl.tools.sqlite import failed

    try:
        yield
    except apsw.Error as problem:
        raise failed(problem, 1) from None
    except OverflowError:
        raise Failed("value", "a row has too large an integer for SQLite (64 bits)") from None


STREAM = "batches of a transfer"  # how DuckDB calls what it is given
_DUCKDB_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "varchar"}


class DuckdbWriter(TableWriter):
    """A table of a DuckDB file."""

    kind = "duckdb"
    connection: "DuckDBPyConnection | None" = None

    def types(self, rows: list[Row]) -> list[str]:
        return [self._type(column, rows) for column in self.columns]

    def _type(self, column: str, rows: list[Row]) -> str:
        if column in self.known:
            return in_duckdb(self.known[column])
        return _duckdb_type([row.get(column) for row in rows])

    def execute(self, text: str, *values: str) -> "DuckDBPyConnection":
        from noetl.tools.duckdb import driver, failed

        try:
            return self._open().execute(text, values)
        except driver().Error as problem:
            raise failed(problem, 1) from None

    def _open(self) -> "DuckDBPyConnection":
        from noetl.tools.duckdb import Knobs, connect

        if self.connection is None:
            self.connection = connect(self.path, self.call, Knobs())
            self.connection.begin()
        return self.connection

    def take(self, batches: "RecordBatchReader") -> None:
        """Add all of a stream of Arrow batches; a table that is made gets their types."""
        from arro3.core import Table

        columns = [str(name) for name in batches.schema.names]
        names, given = ", ".join(map(quote, columns)), quote(STREAM)
        self.execute("select 1").register(STREAM, Table.from_batches([], schema=batches.schema))
        types = [row[1] for row in self.execute(f"describe {given}").fetchall()]
        self.execute(create_sql(self.table, columns, types, []))
        if self.replaces:
            self.execute(f"delete from {quote(self.table)}")
        self._open().register(STREAM, batches)
        self.execute(f"insert into {quote(self.table)} ({names}) select {names} from {given}")

    def insert_sql(self) -> str:
        """An INSERT of a whole chunk, given as one JSON text: many times as fast as a value for each cell."""
        described = self.execute(f"describe {quote(self.table)}")
        types = {row[0]: row[1] for row in described.fetchall()}
        ways = {"JSON": "x[{}]", "BLOB": "from_base64(x[{}]->>'$')"}
        cells = (
            ways.get(types.get(column, ""), "x[{}]->>'$'").format(number)
            for number, column in enumerate(self.columns, 1)
        )
        names = ", ".join(map(quote, self.columns))
        rows = "(select unnest(from_json(?::json, '[[\"JSON\"]]')) as x)"
        cells_text = ", ".join(cells)
        return f"insert into {quote(self.table)} ({names}) select {cells_text} from {rows}{self.conflict}"

    def write(self, rows: list[Row]) -> None:
        cells = [[row.get(column) for column in self.columns] for row in rows]
        self.execute(self.insert, msgspec.json.encode(cells).decode())

    def commit(self) -> None:
        if self.connection is not None:
            self.put()

    def put(self) -> None:
        """Let what was taken hold."""
        self._open().commit()

    def close(self) -> None:
        """Closing undoes what was not committed."""
        if self.connection is not None:
            self.connection.close()


def _duckdb_type(values: list[Json]) -> str:
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return "double"
    return _DUCKDB_TYPES.get(types.pop(), "json") if len(types) == 1 else "varchar"


class Threaded:
    """A writer that blocks, in a thread."""

    def __init__(self, inner: "SqliteWriter | DuckdbWriter | FileWriter | LakeWriter") -> None:
        self.inner = inner

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        await in_thread(self.inner.begin, columns, rows, types)

    async def write(self, rows: list[Row]) -> None:
        await in_thread(self.inner.write, rows)

    async def commit(self) -> None:
        await in_thread(self.inner.commit)

    async def aclose(self) -> None:
        await in_thread(self.inner.close)

    def ref(self) -> Reference | None:
        return self.inner.ref()
