"""Where a transfer reads: rows in chunks, from files, tables and queries, without holding them all."""

import json
import os
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from contextlib import aclosing
from itertools import count, islice
from typing import TextIO

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.ports.values import to_json
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.content import csv_rows, decode, format_of, parquet_rows, rows_of
from noetl.tools.parts.databases import MEMORY
from noetl.tools.parts.paths import inside
from noetl.tools.parts.postgres_values import bind, from_pg
from noetl.tools.parts.sql import columns_of, quote
from noetl.tools.parts.statements import number_parameters
from noetl.tools.parts.transfer_places import Row, Source, in_thread, require, source_query
from noetl.tools.parts.transfer_types import POSTGRES_DIGITS, Columns, of_postgres

RowReader = Generator[Row, None, None]
READ_CHARS = 256 * 1024
BLANKS = " \t\r\n"
ITEM_CHARS = 64 * 1024**2  # the largest row


async def chunks(source: Source, size: int, call: Call, columns: Columns) -> AsyncGenerator[list[Row], None]:
    """The source's rows, a list at a time; one that knows its columns says so before the first."""
    if source.kind in ("postgres", "sql"):
        async with aclosing(await _database(source, size, call, columns)) as batches:
            async for rows in batches:
                yield rows
    elif source.kind in ("http", "object"):
        from noetl.tools.parts.transfer_spool import spool

        async with (
            spool(source, call) as (path, form),
            aclosing(_read_in_thread(read_rows(path, form, size), size)) as paced,
        ):
            async for rows in paced:
                yield rows
    else:
        rows_of = {"sqlite": _sqlite, "duckdb": _duckdb, "file": _file}[source.kind]
        async with aclosing(_read_in_thread(rows_of(source, size, call), size)) as paced:
            async for rows in paced:
                yield rows


async def _database(
    source: Source, size: int, call: Call, columns: Columns
) -> AsyncGenerator[list[Row], None]:
    """The rows of a database server, which has a credential."""
    call = await with_auth(call, source.auth)
    if source.kind == "postgres":
        return _postgres(source, size, call, columns)
    from noetl.tools.parts.transfer_sql import sql_rows

    return sql_rows(source, size, call, columns)


async def _read_in_thread(rows: RowReader, size: int) -> AsyncGenerator[list[Row], None]:
    """Rows that block while they are read, a list at a time, in a thread."""
    try:
        while chunk := await in_thread(list[Row], islice(rows, size)):
            yield chunk
    finally:
        await in_thread(rows.close)


def _row(columns: Iterable[str], cells: Iterable[object]) -> Row:
    return {name: to_json(value, name) for name, value in zip(columns, cells, strict=True)}


def _sqlite(source: Source, size: int, call: Call) -> RowReader:
    import apsw

    from noetl.tools.sqlite import File, bindings, failed

    query = source_query(source, quote)
    file = File(inside(call, require(source.database, "database", "sqlite")), read_only=True)
    try:
        cursor = file.open().execute(query, bindings(source.params))
        columns: list[str] = []
        for row in cursor:
            columns = columns or columns_of(column[0] for column in cursor.get_description())
            yield _row(columns, row)
    except apsw.Error as problem:
        raise failed(problem, 1) from None
    finally:
        file.close()


def _duckdb(source: Source, size: int, call: Call) -> RowReader:
    from noetl.tools.duckdb import Knobs, connect, driver, failed

    duckdb = driver()
    query = source_query(source, quote)
    path = inside(call, source.database) if source.database else MEMORY
    if path != MEMORY and not os.path.exists(path):
        raise Failed("not_found", f"there is no file {source.database!r}")
    connection = connect(path, call, Knobs(read_only=path != MEMORY))
    try:
        cursor = connection.execute(query, source.params or [])
        columns = columns_of(column[0] for column in cursor.description or ())
        while rows := cursor.fetchmany(size):
            yield from (_row(columns, row) for row in rows)
    except duckdb.Error as problem:
        raise failed(problem, 1) from None
    finally:
        connection.close()


async def _postgres(source: Source, size: int, call: Call, known: Columns) -> AsyncGenerator[list[Row], None]:
    from noetl.tools.parts.postgres_link import borrow

    text, values = source_query(source, quote), source.params or []
    if isinstance(values, dict):
        text, values = number_parameters(text, values)
    async with borrow(call) as connection, connection.transaction():
        prepared = await connection.prepare(text)
        arguments = bind(values, prepared.get_parameters())
        attributes = prepared.get_attributes()
        columns = columns_of(attribute.name for attribute in attributes)
        modifiers = await connection.fetch(POSTGRES_DIGITS, quote(source.table)) if source.table else []
        known.names, known.types = columns, of_postgres(attributes, columns, dict(modifiers))
        cursor = await prepared.cursor(*arguments)
        while records := await cursor.fetch(size):
            yield [_row(columns, map(from_pg, record.values())) for record in records]


def _file(source: Source, size: int, call: Call) -> RowReader:
    path = inside(call, require(source.path, "path", "file"))
    try:
        yield from read_rows(path, format_of(path, source.format), size)
    except FileNotFoundError:
        raise Failed("not_found", f"there is no file {source.path!r}") from None
    except OSError as problem:
        raise Failed("file", f"{source.path!r} cannot be read: {problem.strerror}") from None


def read_rows(path: str, form: str, size: int) -> RowReader:
    """The rows of a file in a format that has rows."""
    readers = {"csv": _csv, "jsonl": _lines, "json": _items, "parquet": _parquet}
    if form not in readers:
        raise Failed("input", f"the source is {form}; a transfer reads csv, jsonl, json and parquet")
    yield from readers[form](path, size)


def _csv(path: str, size: int) -> Iterator[Row]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        yield from csv_rows(file)


def _lines(path: str, size: int) -> Iterator[Row]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = to_json(msgspec.json.decode(line))
            except (msgspec.DecodeError, RecursionError) as problem:
                raise Failed("format", f"line {number} is not JSON: {problem}") from None
            if not isinstance(row, dict):
                raise Failed("format", f"line {number} is not a mapping")
            yield row


def _items(path: str, size: int) -> Iterator[Row]:
    """The mappings of a JSON list, one after the other; a mapping around the list is read whole."""
    with open(path, encoding="utf-8-sig") as file:
        text = file.read(READ_CHARS).lstrip()
        if not text.startswith("["):
            yield from rows_of(decode((text + file.read()).encode(), "json"), "json")
            return
        items = JsonItems(file, text, 1)
        for number in count(1):
            if items.next_char() == "]":
                return
            try:
                row = items.item()
            except (RecursionError, ValueError) as problem:
                raise Failed("format", f"item {number} is not JSON: {problem}") from None
            if not isinstance(row, dict):
                raise Failed("format", f"item {number} is not a mapping")
            yield to_json(row)
            if items.next_char() == ",":
                items.skip()
            elif items.next_char() != "]":
                raise Failed("format", f"after item {number} there is neither a comma nor the list's end")


class JsonItems:
    """JSON values in a text that is read piece by piece; what was passed is dropped with the next one."""

    def __init__(self, file: TextIO, text: str, at: int) -> None:

        self._file, self._text, self._at = file, text, at
        self._decoder = json.JSONDecoder(parse_constant=_no_number)

    def next_char(self) -> str:
        """The next character that is no blank, which is not passed; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in BLANKS:
                self._at += 1
            if self._at < len(self._text) or not self._read(READ_CHARS):
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def item(self) -> Json:
        """The value that begins here; more is read while it is incomplete. ValueError: it is no JSON."""
        value: Json
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
            except ValueError:
                rest = len(self._text) - self._at
                if rest > ITEM_CHARS or not self._read(max(READ_CHARS, rest)):
                    raise
            else:
                return value

    def _read(self, size: int) -> bool:
        more = self._file.read(size)
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _parquet(path: str, size: int) -> Iterator[Row]:
    with open(path, "rb") as file:
        yield from parquet_rows(file, size)
