"""Where a transfer writes: tables and files that change when everything has arrived, or not at all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from noetl.dsl.yaml.tree import Value
from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference, reference
from noetl.tools.parts.paths import inside
from noetl.tools.parts.sql import quote
from noetl.tools.parts.transfer_sources import Row, in_thread, require, with_auth

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from noetl.tools.transfer import Target


class RowWriter(Protocol):
    """A target that is being written. `begin` sees the first rows, to know what the columns hold."""

    async def begin(self, columns: list[str], rows: list[Row]) -> None:
        """Prepare the target."""
        ...

    async def write(self, rows: list[Row]) -> None:
        """Add rows."""
        ...

    async def commit(self) -> None:
        """Make it all visible."""
        ...

    def ref(self) -> Reference | None:
        """Where the rows are."""
        ...


@asynccontextmanager
async def open_target(target: "Target", mode: str, keys: list[str], call: Call) -> AsyncIterator[RowWriter]:
    """The target; whatever is not committed at the end is undone."""
    if target.kind == "postgres":
        from noetl.tools.parts import transfer_postgres

        call = await with_auth(call, target.auth)
        async with transfer_postgres.open_writer(target, mode, keys, call) as writer:
            yield writer
        return
    if target.kind in ("http", "object"):
        from noetl.tools.parts.transfer_remote import HttpWriter, ObjectWriter

        make = HttpWriter if target.kind == "http" else ObjectWriter
        remote = make(target, mode, keys, await with_auth(call, target.auth))
        try:
            yield remote
        finally:
            await remote.close()
        return
    from noetl.tools.parts.transfer_files import FileWriter

    kinds: dict[str, Any] = {"sqlite": SqliteWriter, "duckdb": DuckdbWriter, "file": FileWriter}
    threaded = Threaded(kinds[target.kind](target, mode, keys, call))
    try:
        yield threaded
    finally:
        await threaded.close()


class Threaded:
    """A writer that blocks, in a thread."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def begin(self, columns: list[str], rows: list[Row]) -> None:
        """Prepare the target."""
        await in_thread(self.inner.begin, columns, rows)

    async def write(self, rows: list[Row]) -> None:
        """Add rows."""
        await in_thread(self.inner.write, rows)

    async def commit(self) -> None:
        """Make it all visible."""
        await in_thread(self.inner.commit)

    async def close(self) -> None:
        """Undo what was not committed and let go."""
        await in_thread(self.inner.close)

    def ref(self) -> Reference | None:
        """Where the rows are."""
        reference: Reference | None = self.inner.ref()
        return reference


def insert_sql(table: str, columns: list[str], keys: list[str]) -> str:
    """An INSERT with `?` for each value; with keys, rows that are there are replaced."""
    names, values = ", ".join(map(quote, columns)), ", ".join("?" * len(columns))
    return f"insert into {quote(table)} ({names}) values ({values}){conflict_sql(columns, keys)}"


def conflict_sql(columns: list[str], keys: list[str]) -> str:
    """What happens to a row whose keys are there."""
    if not keys:
        return ""
    if missing := [key for key in keys if key not in columns]:
        raise Failed("input", f"the key {missing[0]!r} is not among the columns {', '.join(columns)}")
    changes = [f"{quote(name)} = excluded.{quote(name)}" for name in columns if name not in keys]
    action = f"update set {', '.join(changes)}" if changes else "nothing"
    return f" on conflict ({', '.join(map(quote, keys))}) do {action}"


def create_sql(table: str, columns: list[str], types: list[str], keys: list[str]) -> str:
    """A table for the columns, unless it is there."""
    parts = [f"{quote(name)} {kind}".rstrip() for name, kind in zip(columns, types, strict=True)]
    if keys:
        parts.append(f"primary key ({', '.join(map(quote, keys))})")
    return f"create table if not exists {quote(table)} ({', '.join(parts)})"


class SqliteWriter:
    """A table of a SQLite file."""

    def __init__(self, target: "Target", mode: str, keys: list[str], call: Call) -> None:
        from noetl.tools.sqlite import File

        self.table = require(target.table, "table", "sqlite")
        self.file = File(inside(call, require(target.database, "database", "sqlite")), read_only=False)
        self.mode, self.keys = mode, keys

    def begin(self, columns: list[str], rows: list[Row]) -> None:
        """Make the table if need be, and empty it if asked."""
        self.columns = columns
        if columns:
            keys = self.keys if self.mode == "upsert" else []
            self.insert = insert_sql(self.table, columns, keys)
            self._do(create_sql(self.table, columns, [""] * len(columns), keys))
        if self.mode == "replace":
            # Without columns there is nothing to make a table of; emptying one that is not there is done.
            with nullcontext() if columns else suppress(Failed):
                self._do(f"delete from {quote(self.table)}")

    def _do(self, text: str) -> None:
        import apsw

        from noetl.tools.sqlite import failed

        try:
            connection = self.file.open()
            if not connection.in_transaction:
                connection.set_busy_timeout(5000)
                connection.execute("begin immediate")
            connection.execute(text)
        except apsw.Error as problem:
            raise failed(problem, 1) from None

    def write(self, rows: list[Row]) -> None:
        """Add rows."""
        import apsw

        from noetl.tools.sqlite import bindable, failed

        values = ([bindable(row.get(column)) for column in self.columns] for row in rows)
        try:
            self.file.open().executemany(self.insert, values)
        except apsw.Error as problem:
            raise failed(problem, 1) from None

    def commit(self) -> None:
        """Make it all visible."""
        if self.file.connection is not None and self.file.connection.in_transaction:
            self._do("commit")

    def close(self) -> None:
        """Closing rolls back what was not committed."""
        self.file.close()

    def ref(self) -> Reference:
        """Where the rows are."""
        return table_ref("sqlite", self.table, self.file.path)


_DUCKDB_TYPES = {bool: "boolean", int: "bigint", float: "double", str: "varchar"}


class DuckdbWriter:
    """A table of a DuckDB file."""

    def __init__(self, target: "Target", mode: str, keys: list[str], call: Call) -> None:
        self.table = require(target.table, "table", "duckdb")
        self.path = inside(call, require(target.database, "database", "duckdb"))
        self.mode, self.keys = mode, keys
        self.call = call
        self.connection: DuckDBPyConnection | None = None

    def begin(self, columns: list[str], rows: list[Row]) -> None:
        """Make the table if need be, with the types of the first rows, and empty it if asked."""
        self.columns = columns
        if columns:
            types = [_duckdb_type([row.get(column) for row in rows]) for column in columns]
            keys = self.keys if self.mode == "upsert" else []
            self._do(create_sql(self.table, columns, types, keys), [])
            self.insert = self._insert_sql(conflict_sql(columns, keys))
        if self.mode == "replace":
            with nullcontext() if columns else suppress(Failed):
                self._do(f"delete from {quote(self.table)}", [])

    def _do(self, text: str, values: list[Value]) -> "DuckDBPyConnection":
        from noetl.tools.duckdb import Knobs, connect, driver, failed

        try:
            if self.connection is None:
                self.connection = connect(self.path, self.call, Knobs())
                self.connection.begin()
            return self.connection.execute(text, values)
        except driver().Error as problem:
            raise failed(problem, 1) from None

    def _insert_sql(self, conflict: str) -> str:
        """An INSERT of a whole chunk, given as one JSON text: many times as fast as a value for each cell."""
        described = self._do(f"describe {quote(self.table)}", [])
        types = {row[0]: row[1] for row in described.fetchall()}
        cells = (
            f"x[{number}]" if types.get(column) == "JSON" else f"x[{number}]->>'$'"
            for number, column in enumerate(self.columns, 1)
        )
        names = ", ".join(map(quote, self.columns))
        rows = "(select unnest(from_json(?::json, '[[\"JSON\"]]')) as x)"
        return f"insert into {quote(self.table)} ({names}) select {', '.join(cells)} from {rows}{conflict}"

    def write(self, rows: list[Row]) -> None:
        """Add rows."""
        cells = [[row.get(column) for column in self.columns] for row in rows]
        self._do(self.insert, [msgspec.json.encode(cells).decode()])

    def commit(self) -> None:
        """Make it all visible."""
        if self.connection is not None:
            self.connection.commit()

    def close(self) -> None:
        """Undo what was not committed and let go."""
        if self.connection is not None:
            self.connection.close()  # what was not committed is undone

    def ref(self) -> Reference:
        """Where the rows are."""
        return table_ref("duckdb", self.table, self.path)


def _duckdb_type(values: list[Value]) -> str:
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return "double"
    return _DUCKDB_TYPES.get(types.pop(), "json") if len(types) == 1 else "varchar"


def table_ref(kind: str, table: str, database: str | None = None, auth: str | None = None) -> Reference:
    """Where the rows of a table are."""
    locator: dict[str, Value] = {"store": kind, "tool": kind, "table": table}
    if database is not None:
        locator["database"] = database
    return reference("relational", locator, auth=auth, meta={"content_type": "application/json"})
