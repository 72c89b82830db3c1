"""ClickHouse through the driver of its makers: rows that come while they are read, and batches of Arrow.

Its dialect of SQLAlchemy makes the connections, to a server or to chDB inside the worker. What it can do
beyond PEP 249 is asked of the driver's own client.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

from noetl.tools.parts.sql import columns_of, quote
from noetl.tools.parts.sql_binding import Binding, Values
from noetl.tools.parts.sql_dbapi import DbapiSession, naming_failures
from noetl.tools.parts.sql_session import Answer, Changed
from noetl.tools.parts.statements import first_word

if TYPE_CHECKING:
    from arro3.core import RecordBatchReader
    from sqlalchemy import Engine

STREAMED = ("SELECT", "WITH")
# Types that are numbers or bytes in Arrow, and what they are read as instead.
READ_AS = (
    (re.compile(r"\bDate\b(?!\()"), "Date32"),
    (re.compile(r"\bDateTime\('([^']*)'\)"), r"DateTime64(0, '\1')"),
    (re.compile(r"\bDateTime\b(?!\()"), "DateTime64(0)"),
    (re.compile(r"\bEnum\d+\((?:[^'()]|'(?:[^'\\]|\\.)*')*\)"), "String"),
    (
        re.compile(r"\b(?:UUID|IPv[46]|U?Int(?:128|256)|JSON(?:\([^()]*\))?|Dynamic|Time(?:64\(\d\))?)\b"),
        "String",
    ),
)


class ClickhouseSession(DbapiSession):
    """A pooled connection of ClickHouse's driver; it has no transactions."""

    def __init__(self, engine: "Engine") -> None:
        super().__init__(engine)
        self.binding = Binding(self.binding.style, escapes=True, nested=True)

    @property
    def client(self) -> Any:
        assert self.connection is not None
        driver_connection: Any = self.connection.connection.driver_connection
        return driver_connection.client

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Errors of the client inside become the failure of the call, as those of a cursor do."""
        from sqlalchemy.exc import DBAPIError

        theirs: Any = self.engine.dialect.dbapi
        with naming_failures(self.engine):
            try:
                yield
            except theirs.Error as problem:
                raise DBAPIError.instance(None, None, problem, theirs.Error) from None

    def execute(self, text: str, values: Values | None) -> Answer:
        self._close_answer()
        with self.asking():
            asked = self.client.create_query_context(query=text, parameters=values)
            if asked.is_command or asked.is_insert:
                done = self.client.command(text, parameters=values)
                return Changed(max(int(getattr(done, "written_rows", 0)), 0))
            if first_word(text) in STREAMED:
                answer = Rows(self.client.query_rows_stream(context=asked), self)
            else:  # a short answer, which chDB does not stream
                answer = Rows(nullcontext(self.client.query(context=asked)), self)
        self.answer = answer
        return answer

    def batches(self, text: str, values: Values | None) -> "RecordBatchReader":
        """Run a query whose batches somebody else takes."""
        from arro3.core import RecordBatchReader
        from arro3.io import read_ipc_stream

        query = f"({text.rstrip().rstrip(';')}\n)"
        with self.asking():
            described = self.client.query(f"describe table {query}", parameters=values).result_set
            cells = ", ".join(_cell(str(row[0]), str(row[1])) for row in described)
            given = cells.replace("%", "%%") if values else cells
            stream = self.client.raw_stream(
                f"select {given} from {query}", parameters=values, fmt="ArrowStream"
            )
            return RecordBatchReader.from_arrow(read_ipc_stream(stream))


class Rows:
    """The rows of a query; those of a stream come a block of the server's at a time."""

    changed = 0

    def __init__(self, opening: "AbstractContextManager[Any]", session: ClickhouseSession) -> None:
        self._stack, self._session = ExitStack(), session
        opened = self._stack.enter_context(opening)
        self._rows = iter(getattr(opened, "result_rows", opened))
        names = opened.column_names if hasattr(opened, "column_names") else opened.source.column_names
        self.columns: list[str] | None = columns_of(map(str, names))

    def fetch(self, size: int) -> list[list[object]]:
        with self._session.asking():
            return [list(row) for row in islice(self._rows, size)]

    def close(self) -> None:
        self._stack.close()


def _cell(name: str, kind: str) -> str:
    """A column of a query, of a type that Arrow has."""
    wanted = kind
    for found, instead in READ_AS:
        wanted = found.sub(instead, wanted)
    column = quote(name).replace("\\", "\\\\")
    return column if wanted == kind else f"cast({column} as {wanted}) as {column}"
