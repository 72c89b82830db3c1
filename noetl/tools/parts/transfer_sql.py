"""Databases of kind `sql` in a transfer: rows of a query, and a table that is filled in one transaction."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.ports.values import to_json
from noetl.tools.parts.sql_adbc import PREFIX
from noetl.tools.parts.sql_binding import bindable
from noetl.tools.parts.sql_clickhouse import ClickhouseSession
from noetl.tools.parts.sql_dbapi import MYSQL, DbapiAnswer, DbapiSession, naming_failures
from noetl.tools.parts.transfer_cells import Cell, mysql_cells
from noetl.tools.parts.transfer_clickhouse import ClickhouseWriter
from noetl.tools.parts.transfer_places import Row, Source, Target, require, source_query
from noetl.tools.parts.transfer_types import Columns, Types, of_mysql
from noetl.tools.sql import lend

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Insert, TableClause
    from sqlalchemy.types import TypeEngine

    from noetl.tools.parts.sql_session import Answer, Lent

KEY_CHARS = 255  # what every database takes as part of a key


async def sql_rows(source: Source, size: int, call: Call, known: Columns) -> AsyncGenerator[list[Row], None]:
    """The rows of a table or query, a list at a time."""
    async with lend(require(source.driver, "driver", "sql"), call) as lent:
        query = source_query(source, lent.session.quote)
        text, values, _ = lent.session.binding.bind(query, source.params)
        await lent.work(lent.session.begin, True)
        answer = await lent.work(lent.session.execute, text, values)
        columns = answer.columns or []
        known.names, known.types = columns, _types(columns, answer)
        while rows := await lent.work(answer.fetch, size):
            yield [
                {name: to_json(cell, name) for name, cell in zip(columns, row, strict=True)} for row in rows
            ]


def _types(columns: list[str], answer: "Answer") -> Types:
    """The types of the columns, where the driver is PyMySQL."""
    if not isinstance(answer, DbapiAnswer) or not type(answer.cursor).__module__.startswith("pymysql."):
        return {}
    return of_mysql(columns, answer.cursor._result.fields)


@asynccontextmanager
async def open_writer(
    target: Target, mode: str, keys: list[str], call: Call
) -> AsyncIterator["SqlWriter | ClickhouseWriter"]:
    """A table; what is not committed at the end is undone with its connection."""
    driver, table = require(target.driver, "driver", "sql"), require(target.table, "table", "sql")
    if driver.startswith(PREFIX):
        raise Failed(
            "input",
            f"{driver} takes rows as Arrow batches, of a query of DuckDB, of Parquet or of an ADBC driver; "
            "for others use kind: postgres, sqlite or duckdb, or a driver that is none of ADBC",
        )
    async with lend(driver, call) as lent:
        if isinstance(lent.session, ClickhouseSession):
            with closing(ClickhouseWriter(lent, table, mode, call)) as writer:
                yield writer
        else:
            yield SqlWriter(lent, table, mode, keys)


class SqlWriter:
    """A table behind a DB-API driver, made if need be; SQLAlchemy writes its SQL."""

    def __init__(self, lent: "Lent", table: str, mode: str, keys: list[str]) -> None:
        assert isinstance(lent.session, DbapiSession)
        self.lent, self.session = lent, lent.session
        self.schema, _, self.name = table.rpartition(".")
        self.mode, self.keys = mode, keys if mode == "upsert" else []
        self.columns: list[str] = []
        self.cells: dict[str, Cell] = {}  # of columns that do not take values of JSON as they are

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """Make the table if need be, with the types of the first rows, and empty it if asked."""
        self.columns = columns if rows else []
        if self.columns:
            await self.lent.work(self._create, rows)
        if self.columns or self.mode == "replace":
            await self.lent.work(self._start)

    async def write(self, rows: list[Row]) -> None:
        await self.lent.work(self._insert, rows)

    async def commit(self) -> None:
        if self.session.connection is not None:
            await self.lent.work(self.session.commit)

    def ref(self) -> None:
        """`resolve` does not read what a driver of somebody else's keeps."""

    # ---- in a thread ----

    def _create(self, rows: list[Row]) -> None:
        """Beside the transaction, which some databases would end for it."""
        from sqlalchemy import Column, MetaData, Table

        if missing := [key for key in self.keys if key not in self.columns]:
            raise Failed(
                "input", f"the key {missing[0]!r} is not among the columns {', '.join(self.columns)}"
            )
        columns: list[Any] = [
            Column(
                name,
                _type([row.get(name) for row in rows], is_key=name in self.keys),
                primary_key=name in self.keys,
                autoincrement=False,
            )
            for name in self.columns
        ]
        table = Table(self.name, MetaData(), *columns, schema=self.schema or None)
        with naming_failures(self.session.engine, connecting=True), self.session.engine.begin() as connection:
            table.create(connection, checkfirst=True)
            if self.keys:
                _check_unique(connection, self.name, self.schema or None, self.keys)
            if self.session.engine.dialect.name in MYSQL:
                self.cells = mysql_cells(connection, self.name, self.schema or None)

    def _start(self) -> None:
        from sqlalchemy import column, table

        self.table = table(self.name, *map(column, self.columns), schema=self.schema or None)
        self.insert = _insert(self.table, self.columns, self.keys, self.session.engine)
        self.session.begin(transaction=True)
        # A source without rows makes no table.
        if self.mode == "replace" and (self.columns or self._is_there()):
            self._execute(self.table.delete())

    def _is_there(self) -> bool:
        from sqlalchemy import inspect

        assert self.session.connection is not None
        with naming_failures(self.session.engine):
            return inspect(self.session.connection).has_table(self.name, self.schema or None)

    def _insert(self, rows: list[Row]) -> None:
        self._execute(
            self.insert, [{name: self._cell(name, row.get(name)) for name in self.columns} for row in rows]
        )

    def _cell(self, name: str, value: Json) -> object:
        return self.cells[name](value) if name in self.cells else bindable(value)

    def _execute(self, statement: Any, values: list[dict[str, object]] | None = None) -> None:
        assert self.session.connection is not None
        with naming_failures(self.session.engine):
            self.session.connection.execute(statement, values)


def _insert(table: "TableClause", columns: list[str], keys: list[str], engine: "Engine") -> "Insert":
    """The statement that adds rows, or changes those that have their keys."""
    if not keys:
        return table.insert()
    changed = [name for name in columns if name not in keys]
    if engine.dialect.name in MYSQL:
        from sqlalchemy.dialects import mysql

        mine = mysql.insert(table)
        return mine.on_duplicate_key_update({name: mine.inserted[name] for name in changed or keys})
    if engine.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        theirs = postgresql.insert(table)
        if not changed:
            return theirs.on_conflict_do_nothing(index_elements=keys)
        return theirs.on_conflict_do_update(
            index_elements=keys, set_={name: theirs.excluded[name] for name in changed}
        )
    raise Failed("input", f"a transfer cannot upsert into {engine.dialect.name}; use append or replace")


def _check_unique(connection: "Connection", name: str, schema: str | None, keys: list[str]) -> None:
    """Without such a key, rows would be added to those that they should replace."""
    from sqlalchemy import inspect

    known = inspect(connection)
    found = [set(known.get_pk_constraint(name, schema)["constrained_columns"])]
    found += [{*map(str, each["column_names"])} for each in known.get_indexes(name, schema) if each["unique"]]
    if set(keys) not in found:
        raise Failed("input", f"upsert needs a primary or unique key of {name!r} over {', '.join(keys)}")


def _type(values: list[Json], is_key: bool) -> "TypeEngine[Any]":
    from sqlalchemy import BigInteger, Boolean, Double, String, Text
    from sqlalchemy.dialects.mysql import LONGTEXT

    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return Boolean()
    if types == {int}:
        return BigInteger()
    if types and types <= {int, float}:
        return Double()
    return String(KEY_CHARS) if is_key else Text().with_variant(LONGTEXT(), *MYSQL)
