"""Sources that give Arrow batches of a bounded size: ADBC drivers, DuckDB, and Parquet files and objects."""

import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.content import format_of, parquet_batches
from noetl.tools.parts.databases import MEMORY
from noetl.tools.parts.paths import inside
from noetl.tools.parts.sql import columns_of, literal, quote
from noetl.tools.parts.sql_adbc import PREFIX, AdbcSession, cut_off
from noetl.tools.parts.sql_clickhouse import ClickhouseSession
from noetl.tools.parts.sql_dbapi import CLICKHOUSE
from noetl.tools.parts.statements import first_word, split
from noetl.tools.parts.transfer_places import Source, in_thread, require, source_query

if TYPE_CHECKING:
    from arro3.core import RecordBatch, RecordBatchReader
    from duckdb import DuckDBPyConnection

    from noetl.tools.parts.sql_session import Lent

# DuckDB's types that Arrow has none for, or that others do not read from it: they go as text.
NOT_ARROW = re.compile(
    r"\b(TIME WITH TIME ZONE|INTERVAL|BIT|BIGNUM|VARINT|UHUGEINT|UNION|VARIANT|GEOMETRY)\b"
)
ROWS_MAX, BYTES = 65_536, 4 * 1024**2  # of a batch: so many rows, or fewer that take so much
QUERIES = ("SELECT", "WITH", "FROM", "VALUES")
# What the rows of a query may take of memory while they wait; the rest is on disk.
MEMORY_MAX, THREADS_MAX = "1GB", 4


def gives_batches(source: Source) -> bool:
    """Whether the rows of a source are Arrow batches."""
    if source.kind == "sql":
        return (source.driver or "").startswith((PREFIX, CLICKHOUSE))
    if source.kind == "duckdb":
        return source.query is None or _is_query(source.query)
    return _is_parquet(source)


def _is_parquet(source: Source) -> bool:
    name = {"file": source.path, "object": source.key}.get(source.kind)
    return bool(name) and format_of(str(name), source.format) == "parquet"


def _is_query(text: str) -> bool:
    """Whether a table can be made of it."""
    return len(split(text, False)) == 1 and first_word(text) in QUERIES


def _nothing() -> None:
    """Files need not be told that nobody reads on."""


@dataclass(frozen=True, slots=True)
class Giver:
    """An open source: its batches, and what makes waiting for one end."""

    reader: "RecordBatchReader"
    failed: Callable[[Exception], Failed]  # what it means when the next batch does not come
    cancel: Callable[[], None] = _nothing


@asynccontextmanager
async def open_batches(source: Source, size: int, call: Call) -> AsyncIterator[Giver]:
    """A source whose batches can be taken inside."""
    if source.kind == "sql":
        from noetl.tools.sql import lend

        async with lend(str(source.driver), await with_auth(call, source.auth)) as lent:
            yield Giver(await _start(lent, source), cut_off, lent.session.cancel)
    elif source.kind == "duckdb":
        opened = DuckdbTable(source, size, call)
        try:
            reader = await in_thread(opened.start, stop=opened.interrupt)
            yield Giver(reader, _unreadable, opened.interrupt)
        finally:
            await in_thread(opened.close)
    elif source.kind == "object":
        from noetl.tools.parts.transfer_spool import spool

        async with spool(source, call) as (path, _), _file(path, size) as giver:
            yield giver
    else:
        async with _file(inside(call, require(source.path, "path", "file")), size) as giver:
            yield giver


async def _start(lent: "Lent", source: Source) -> "RecordBatchReader":
    session = lent.session
    assert isinstance(session, AdbcSession | ClickhouseSession)
    text, values, _ = session.binding.bind(source_query(source, session.quote), source.params)
    await lent.work(session.begin, True)
    return await lent.work(session.batches, text, values)


@asynccontextmanager
async def _file(path: str, size: int) -> AsyncIterator[Giver]:
    try:
        file = await in_thread(open, path, "rb")
    except FileNotFoundError:
        raise Failed("not_found", f"there is no file {path!r}") from None
    except OSError as problem:
        raise Failed("file", f"{path!r} cannot be read: {problem.strerror}") from None
    with file:
        yield Giver(await in_thread(parquet_batches, file, size), _unreadable)


def _unreadable(problem: Exception) -> Failed:
    return Failed("format", f"the rows could not be read: {problem}")


class DuckdbTable:
    """The rows of a query in a temporary table, read by their numbers.

    DuckDB itself gives batches of a million rows, whatever they weigh.
    """

    def __init__(self, source: Source, size: int, call: Call) -> None:
        self.source, self.size, self.call = source, size, call
        self.connection: DuckDBPyConnection | None = None
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self) -> "RecordBatchReader":
        """Run the query; the batches are read while they are taken."""
        from arro3.core import RecordBatchReader, Table

        from noetl.tools.duckdb import driver, failed

        try:
            self._select = f"select {self._make()} from temp.given"
            schema = Table.from_arrow(self._run(f"{self._select} limit 0")).schema
        except driver().Error as problem:
            raise failed(problem, 1) from None
        return RecordBatchReader.from_batches(schema, self._batches())

    def _make(self) -> str:
        """Fill the table; which columns of it are read, and how."""
        query = source_query(self.source, quote)
        self.connection = connection = self._connect()
        connection.execute(f"describe {query}", self.source.params or [])
        names = columns_of(row[0] for row in connection.fetchall())
        connection.execute(f"create temp table given as {query}", self.source.params or [])
        connection.execute("describe temp.given")
        there = [(quote(row[0]), NOT_ARROW.search(row[1])) for row in connection.fetchall()]
        cells = [f"{column}::varchar" if odd else column for column, odd in there]
        return ", ".join(f"{cell} as {quote(name)}" for cell, name in zip(cells, names, strict=True))

    def _connect(self) -> "DuckDBPyConnection":
        from noetl.tools.duckdb import Attach, Knobs, connect

        path = inside(self.call, self.source.database) if self.source.database else MEMORY
        if path != MEMORY and not os.path.exists(path):
            raise Failed("not_found", f"there is no file {self.source.database!r}")
        self.folder = tempfile.TemporaryDirectory(prefix="noetl-transfer-")
        spill = f"set temp_directory = {literal(self.folder.name)}"

        def prepare(connection: "DuckDBPyConnection") -> None:
            connection.execute(spill)

        threads = min(os.cpu_count() or 1, THREADS_MAX)
        knobs = Knobs(memory=MEMORY_MAX, threads=threads, read_only=path != MEMORY)
        return connect(path, self.call, knobs, [Attach(prepare)])

    def _batches(self) -> "Iterator[RecordBatch]":
        from arro3.core import Table

        from noetl.tools.duckdb import driver, failed

        first, size = 0, self.size
        while True:
            where = f"where rowid >= {first} and rowid < {first + size}"
            try:
                part = Table.from_arrow(self._run(f"{self._select} {where}"))
            except driver().Error as problem:
                raise failed(problem, 1) from None
            if not part.num_rows:
                return
            yield from part.to_batches()
            first += part.num_rows
            fitting = BYTES * part.num_rows // max(part.nbytes, 1)
            size = max(self.size, min(fitting, 2 * size, ROWS_MAX))

    def _run(self, text: str) -> Any:
        assert self.connection is not None
        return self.connection.sql(text)

    def interrupt(self) -> None:
        """Make the running statement end."""
        if self.connection is not None:
            self.connection.interrupt()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        if self.folder is not None:
            self.folder.cleanup()
