"""Runs SQL on a SQLite file.

One or several statements run in one transaction, unless they say `BEGIN` themselves or cannot run inside
one. Values are bound with `params`: a list for `?`, a mapping for `:name`. Lists and mappings bind as JSON
text; blobs come back as base64. The answer has the rows of the last statement that returned any; with
several statements, `statements` has one `{rows, row_count, columns}` each, and `command_<n>` names them one
by one. `:idempotency_key` is the key of this call, which stays the same when the engine has to repeat a call
whose answer it never saw.

`database` is a file inside the allowed folders, made on first use (in WAL mode). Without it every call has
an empty database of its own, which is enough to calculate with SQL. A locked database is waited for, then
error kind `sqlite` with `retryable: true`; `output.error.code` is SQLite's name of the error. Rows that hold
more than 256 MiB together are error kind `limit`; one text or blob has at most 128 MiB.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import define, doc, read_knobs
from noetl.tools.parts.databases import MEMORY, Database, Databases
from noetl.tools.parts.paths import inside, is_inside
from noetl.tools.parts.sql import (
    PARAMS,
    SHAPE,
    STORE,
    Params,
    Result,
    StatementKnobs,
    Statements,
    Store,
    columns_of,
    data_of,
    literal,
    quote,
    ref_parts,
    with_key,
)
from noetl.tools.parts.sql_position import in_sqlite
from noetl.tools.parts.statements import first_word, one_transaction, only_reads, split

if TYPE_CHECKING:
    import apsw

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sqlite, path: tools/sqlite}
workflow:
  - step: start
    tool:
      - name: fill
        kind: sqlite
        input:
          database: shop.db
          command: |
            create table if not exists sale (item text primary key, price real);
            insert or replace into sale values (:item, :price);
          params: {item: tea, price: 3.5}
      - name: read
        kind: sqlite
        input: {database: shop.db, query: "select item, price from sale where price > ?", params: [1]}
"""

VALUE_BYTES = 128 * 1024**2  # of one text or blob, also inside a statement


class Sql(Statements):
    """The statements and what they work on."""

    database: Annotated[str, doc("The database file; `:memory:` is an empty one for this call.")] = ":memory:"
    params: Annotated[Params | None, doc(PARAMS.format("?", ":name", ":idempotency_key"))] = None
    attach: Annotated[dict[str, str] | None, doc("Other database files by the name they get.")] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(StatementKnobs):
    busy_timeout: Annotated[float, doc("Seconds to wait for a locked database.")] = 5.0
    read_only: Annotated[bool, doc("Open the file for reading only.")] = False


class File(Database):
    """One open SQLite file."""

    def __init__(self, path: str, read_only: bool) -> None:
        super().__init__(path)
        self.read_only = read_only
        self.connection: apsw.Connection | None = None
        self.may_attach: Callable[[str | None], bool] = lambda target: False

    def open(self) -> "apsw.Connection":
        """The connection, made the first time. A file that we make is in WAL mode."""
        import apsw

        if self.connection is not None:
            return self.connection
        is_new = self.path != MEMORY and not self.read_only and not os.path.exists(self.path)
        if is_new:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
        writing = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.connection = apsw.Connection(
            self.path, flags=apsw.SQLITE_OPEN_READONLY if self.read_only else writing
        )
        if is_new:
            self.connection.pragma("journal_mode", "wal")
        self.connection.limit(apsw.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        self.connection.authorizer = self._authorize
        return self.connection

    def _authorize(self, action: int, target: str | None, *rest: object) -> int:
        """Keep SQL from opening files that the call may not use."""
        import apsw

        refused = action == apsw.SQLITE_ATTACH and not self.may_attach(target)
        # These two would hold for every database of the process.
        shared = action == apsw.SQLITE_PRAGMA and str(target).lower().endswith("_store_directory")
        return apsw.SQLITE_DENY if refused or shared else apsw.SQLITE_OK

    def interrupt(self) -> None:
        if self.connection is not None:
            self.connection.interrupt()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close(True)
        self.connection = None


async def run(sql: Sql, call: Call) -> Envelope:
    """Run the statements on the database file, in a thread."""
    knobs: Knobs = read_knobs(Knobs, call)
    attach = {name: inside(call, file) for name, file in (sql.attach or {}).items()}
    files = call.resource("sqlite", partial(Databases, "sqlite"))
    if sql.database == MEMORY:
        file, path = File(MEMORY, read_only=False), MEMORY
    else:
        path = inside(call, sql.database)
        key = f"{path}?{'ro' if knobs.read_only else 'rw'}"
        file = files.get(key, partial(File, path, knobs.read_only))
    try:
        results = await files.work(file, partial(_execute, file, sql, attach, knobs, call))
    finally:
        if path == MEMORY:
            file.close()
    return ok(data_of(results, call), **ref_parts(sql.store, {"store": "sqlite", "database": path}, call))


def _execute(file: File, sql: Sql, attach: dict[str, str], knobs: Knobs, call: Call) -> list[Result]:
    """Everything that blocks: open, attach, run, detach."""
    import apsw

    results: list[Result] = []
    text = sql.text
    try:
        connection = file.open()
        connection.set_busy_timeout(int(knobs.busy_timeout * 1000))
        file.may_attach = lambda target: target is not None and (not target or is_inside(call, target))
        for name, other in attach.items():
            connection.execute(f"attach {literal(other)} as {quote(name)}")
        params = with_key(sql.params, text, ":", call)
        _statements(connection, text, bindings(params), knobs, results)
    except apsw.Error as problem:
        raise failed(problem, len(results), text) from None
    except (KeyError, OverflowError, TypeError) as problem:
        raise Failed("input", _misbound(problem)) from None
    finally:
        _tidy(file)
    return results


def _statements(
    connection: "apsw.Connection", text: str, bindings: "apsw.Bindings", knobs: Knobs, results: list[Result]
) -> None:
    """Run every statement of a text; in one transaction when there are several and none minds."""
    statements = split(text)
    together = knobs.transaction and one_transaction(statements)
    if together:
        connection.execute("begin" if knobs.read_only or only_reads(statements) else "begin immediate")
    _each(connection, text, bindings, knobs.max_rows, results)
    if together:
        connection.execute("commit")
    elif connection.in_transaction and not knobs.read_only:
        raise Failed("sqlite", "the statements began a transaction and did not end it; it was rolled back")


def _each(
    connection: "apsw.Connection", text: str, bindings: "apsw.Bindings", rows_max: int, results: list[Result]
) -> None:
    """Let SQLite find the statements' ends; it tells us when the next one begins."""
    before = connection.total_changes()
    cursor = connection.cursor()

    def begins(cursor: "apsw.Cursor", statement: str, bound: object) -> bool:
        nonlocal before
        _count(connection, results, before)
        before = connection.total_changes()
        if first_word(statement):
            columns = [column[0] for column in cursor.get_description()]
            results.append(Result(columns_of(columns) if columns else None))
        return True

    cursor.exec_trace = begins
    for number, row in enumerate(cursor.execute(text, bindings), 1):
        if number > rows_max:
            raise Failed("limit", f"the statements returned more than {rows_max} rows; raise spec.max_rows")
        results[-1].add(row)
    _count(connection, results, before)


def _count(connection: "apsw.Connection", results: list[Result], before: int) -> None:
    if results and connection.total_changes() > before:
        results[-1].changed = connection.changes()


def _tidy(file: File) -> None:
    """Leave the connection as the next call wants it, or leave none."""
    import apsw

    if file.connection is None:
        return
    try:
        if file.connection.in_transaction:
            file.connection.execute("rollback")
        attached = {str(row[1]) for row in file.connection.execute("pragma database_list")}
        for name in attached - {"main", "temp"}:
            file.connection.execute(f"detach {quote(name)}")
    except apsw.Error:
        file.close()


def bindings(params: Params | None) -> "apsw.Bindings":
    if isinstance(params, dict):
        return {name: bindable(value) for name, value in params.items()}
    return tuple(bindable(value) for value in params or ())


def bindable(value: Json) -> Json:
    """Lists and mappings bind as JSON text, which is how SQLite keeps them."""
    if not isinstance(value, list | dict):
        return value
    return msgspec.json.encode(value).decode()


def _misbound(problem: Exception) -> str:
    if isinstance(problem, KeyError):
        return f"the SQL names :{problem.args[0]}, but params does not have it"
    if isinstance(problem, OverflowError):
        return "a value of params is too large an integer for SQLite (64 bits)"
    return f"a value of params cannot be bound: {problem}"


def failed(problem: "apsw.Error", number: int, text: str = "") -> Failed:
    """A SQLite error as the failure of a call, of whose statements so many were begun."""
    import apsw

    if isinstance(problem, apsw.BindingsError):
        return Failed("input", f"params do not fit the SQL: {problem}")
    extended = apsw.mapping_extended_result_codes.get(getattr(problem, "extendedresult", 0))
    code = extended or apsw.mapping_result_codes.get(getattr(problem, "result", 1))
    retryable = isinstance(problem, apsw.BusyError | apsw.LockedError)
    unknown = isinstance(problem, apsw.IOError | apsw.CorruptError | apsw.FullError)  # as of its commit
    place = in_sqlite(text, number, getattr(problem, "error_offset", -1))
    details = {"statement": number + 1 if place else max(number, 1), **place}
    return Failed(
        "sqlite", str(problem), code=str(code), retryable=retryable, answered=not unknown, details=details
    )


TOOL = define(
    "sqlite",
    __doc__,
    Sql,
    run,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command"),),
    sql_text=("query", "command"),
    example=EXAMPLE,
)
