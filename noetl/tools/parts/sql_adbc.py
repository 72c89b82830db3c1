"""Databases behind ADBC drivers: results are Arrow batches all the way to where they become rows."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as url_quote

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS
from noetl.tools.parts.paths import EVERYWHERE
from noetl.tools.parts.sql import columns_of, quote
from noetl.tools.parts.sql_binding import Binding, Values
from noetl.tools.parts.sql_session import Answer, Changed
from noetl.tools.parts.statements import first_word

if TYPE_CHECKING:
    from arro3.core import RecordBatch, RecordBatchReader

PREFIX = "adbc_driver_"
# Databases inside the worker, whose SQL can open any of its files.
EMBEDDED = ("adbc_driver_sqlite", "adbc_driver_chdb", "adbc_driver_duckdb", "adbc_driver_datafusion")
RETRYABLE = ("08", "40", "53", "57", "55P03")
BUSY = ("database is locked", "database table is locked")
# What PostgreSQL says, without a number, to who may not come in; what it says to others passes.
REFUSED = re.compile(
    r"FATAL:\s+(password authentication failed|no pg_hba\.conf|role .* (does not exist|is not permitted)"
    r"|database .* does not exist|permission denied|.*authentication failed)"
)
CHANGING = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE")
RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
_MODULE = re.compile(r"adbc_driver_[a-z0-9_]+")


class AdbcSession:
    """One connection of an ADBC driver."""

    def __init__(self, driver: str, call: Call) -> None:
        self.module = _module(driver)
        from adbc_driver_manager import Error  # that of every driver, also of those that do not name it

        self.errors = (Error, RuntimeError, OSError, AttributeError)
        self.arguments = _arguments(driver, call)
        style = "dollar" if driver == "adbc_driver_postgresql" else "qmark"
        self.binding = Binding(style, writes_null=True)
        self.connection: Any = None
        self.cursor: Any = None
        self.answer: AdbcAnswer | None = None
        self.on_cancel: Callable[[], None] = lambda: None  # for what it waits for

    def quote(self, name: str) -> str:
        return quote(name)

    def begin(self, transaction: bool) -> None:
        with naming_failures(connecting=True):
            self.connection = self.module.connect(**self.arguments, autocommit=not transaction)

    def execute(self, text: str, values: Values | None) -> Answer:
        self._close_answer()
        with naming_failures():
            self.cursor = self.connection.cursor()
            row = None if values is None else one_row([*values])
            if first_word(text) in CHANGING and not RETURNING.search(text):
                self.cursor.executemany(text, row)  # which counts the rows that it changed
                return Changed(max(self.cursor.rowcount, 0))
            self.cursor.execute(text, row)
            self.answer = AdbcAnswer(self.cursor)
        return self.answer

    def batches(self, text: str, values: Values | None) -> "RecordBatchReader":
        """Run a query whose batches somebody else takes."""
        from arro3.core import RecordBatchReader

        with naming_failures():
            self.cursor = self.connection.cursor()
            self.cursor.execute(text, None if values is None else one_row([*values]))
            return RecordBatchReader.from_arrow(self.cursor.fetch_arrow())

    def take(self, batches: "RecordBatchReader", table: str, replace: bool) -> None:
        """Add all that comes to a table, which is made if need be."""
        schema, _, name = table.rpartition(".")
        more = {"db_schema_name": schema} if schema else {}
        with naming_failures():
            self.cursor = self.connection.cursor()
            if replace:
                self.cursor.executemany(f"delete from {quote(table)}", None)
            self.cursor.adbc_ingest(name, batches, mode="create_append", **more)

    def has_table(self, table: str) -> bool:
        """Whether there is a table; over a connection of its own, since a no would break a transaction."""
        from adbc_driver_manager import ProgrammingError

        schema, _, name = table.rpartition(".")
        with naming_failures(connecting=True), self.module.connect(**self.arguments) as connection:
            try:
                connection.adbc_connection.get_table_schema(None, schema or None, name)
            except ProgrammingError:
                return False
            return True

    def commit(self) -> None:
        self._close_answer()
        with naming_failures():
            self.connection.commit()

    def cancel(self) -> None:
        self.on_cancel()
        with suppress(
            *self.errors
        ):  # it ended by itself, or cannot be cancelled: it is waited for, then left
            self.cursor.adbc_cancel()

    def close(self, broken: bool) -> None:
        with suppress(*self.errors):
            self._close_answer()
        if self.connection is not None:
            with suppress(*self.errors):  # what was not committed is undone with it
                self.connection.close()
        self.connection = None

    def _close_answer(self) -> None:
        if self.answer is not None:
            self.answer.close()
        self.answer = None
        if self.cursor is not None:
            self.cursor.close()
        self.cursor = None


class AdbcAnswer:
    """The batches of a statement."""

    def __init__(self, cursor: Any) -> None:
        from arro3.core import RecordBatchReader

        self.reader: Any = RecordBatchReader.from_arrow(cursor.fetch_arrow())
        names = [str(name) for name in self.reader.schema.names]
        self.columns = columns_of(names) if names else None
        self.changed = 0 if names else max(cursor.rowcount, 0)
        self._batch: RecordBatch | None = None
        self._at = 0

    def fetch(self, size: int) -> list[list[object]]:
        """The next rows of a batch, or of the batch after it."""
        with naming_failures():
            while self.columns and (self._batch is None or self._at >= self._batch.num_rows):
                self._batch, self._at = next(self.reader, None), 0
                if self._batch is None:
                    return []
            if self._batch is None:
                return []
            part = self._batch.slice(self._at, min(size, self._batch.num_rows - self._at))
            self._at += part.num_rows
            return [list(row) for row in zip(*(column.to_pylist() for column in part.columns), strict=True)]

    def close(self) -> None:
        """Let the stream go, which holds the statement."""
        self.reader = self._batch = None


def one_row(values: list[Json]) -> "RecordBatch":
    """The values of a statement as the one row that it is run with."""
    from arro3.core import Array, DataType, Field, RecordBatch, Schema

    types = {int: DataType.int64, float: DataType.float64, bool: DataType.bool, str: DataType.utf8}
    arrays = []
    for number, value in enumerate(values, 1):
        try:
            arrays.append(Array([value], type=types[type(value)]()))
        except OverflowError:
            raise Failed("value", f"parameter {number} is too large an integer (64 bits)") from None
    fields = [Field(str(number), array.type) for number, array in enumerate(arrays)]
    return RecordBatch.from_arrays(arrays, schema=Schema(fields))


# ---- which database -------------------------------------------------------------------------------------


def _module(driver: str) -> Any:
    if not _MODULE.fullmatch(driver):
        raise Failed("input", f"{driver!r} is no ADBC driver; they are called adbc_driver_NAME")
    try:
        import_module("arro3.core")
        return import_module(f"{driver}.dbapi")
    except ModuleNotFoundError as problem:
        missing = str(problem.name).partition(".")[0]
        if missing in ("adbc_driver_postgresql", "adbc_driver_sqlite", "adbc_driver_manager", "arro3"):
            raise MissingExtra(missing, "adbc") from None
        told = f"the package of the driver {driver!r} is not installed here"
        raise Failed("missing_extra", f"{told}; pip install {driver.replace('_', '-')}") from None


def _arguments(driver: str, call: Call) -> dict[str, Any]:
    """What the driver is connected with: an address, and options that are called as ADBC calls them."""
    secret = call.auth or {}
    if driver in EMBEDDED and EVERYWHERE not in call.roots:
        told = "this worker keeps to its folders, which SQL of this driver does not"
        raise Failed("path", f"{told}: use kind: sqlite or kind: duckdb")
    if driver == "adbc_driver_sqlite":
        return {"uri": str(secret.get("url") or secret.get("uri") or secret.get("database") or ":memory:")}
    if not secret:
        raise Failed("auth", "sql needs auth: a secret with url, or with host, user, password and database")
    address = secret.get("url") or secret.get("uri") or secret.get("dsn") or secret.get("value")
    options = {name: str(value) for name, value in secret.items() if name.startswith("adbc.")}
    if not address and driver == "adbc_driver_postgresql":
        address = _postgres_url(secret)
    if not address and not options:
        raise Failed("auth", f"the credential says no url; its fields are: {', '.join(secret)}")
    return ({"uri": str(address)} if address else {}) | ({"db_kwargs": options} if options else {})


def _postgres_url(secret: Secret) -> str:
    found = {
        ours: str(secret[name]) for name, ours in POSTGRES_FIELDS.items() if secret.get(name) is not None
    }
    if "host" not in found:
        raise Failed("auth", f"the credential says neither url nor host; its fields are: {', '.join(secret)}")
    login = ":".join(url_quote(found[name], safe="") for name in ("user", "password") if name in found)
    place = found["host"] + (f":{found['port']}" if "port" in found else "")
    return (
        f"postgresql://{login}{'@' if login else ''}{place}/{url_quote(found.get('database', ''), safe='')}"
    )


# ---- what errors mean -----------------------------------------------------------------------------------


@contextmanager
def naming_failures(connecting: bool = False) -> Iterator[None]:
    """Errors of the driver inside become the failure of the call."""
    from adbc_driver_manager import Error

    try:
        yield
    except Error as problem:
        raise _failed(problem, connecting) from None
    except OSError as problem:  # how a batch says that the rest of the rows did not come
        raise Failed("connect", f"the rows could not be read: {problem}", retryable=True) from None


def cut_off(problem: Exception) -> Failed:
    """What it means that a batch did not come: the query failed on its way, or nobody is there any more."""
    refused = "ERROR:" in str(problem)  # what the database itself says
    kind = "sql" if refused else "connect"
    return Failed(kind, f"the rows could not be read: {problem}", retryable=not refused, answered=refused)


def _failed(problem: Any, connecting: bool) -> Failed:
    state = (problem.sqlstate or "").strip("\0")
    state = "" if state.strip("0") == "" else state
    message = str(problem).strip()
    status = str(getattr(problem.status_code, "name", problem.status_code))
    lost = state.startswith("08") or (not state and (connecting or status in ("IO", "TIMEOUT")))
    busy = any(words in message for words in BUSY)
    if lost and not busy and not REFUSED.search(message):
        return Failed("connect", f"the database cannot be reached: {message}", code=status, retryable=True)
    again = busy or state.startswith(RETRYABLE)
    known = not state.startswith(("40003", "57P", "58", "XX"))
    return Failed("sql", message, code=state or status, retryable=again, answered=known)
