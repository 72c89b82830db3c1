"""Runs SQL in DuckDB: over its own files, and over CSV, JSON and Parquet files where they lie.

Statements, transactions and answers are as for `sqlite`; values are bound with a list for `?` or a mapping
for `$name`, and `$idempotency_key` is the key of this call. `database` is a DuckDB file inside the allowed
folders; without it every call has an empty database of its own.

`attach` opens other DuckDB files beside it and makes CSV, JSON and Parquet files readable as tables. With
`{auth: NAME}` it opens the PostgreSQL database of a credential, which needs DuckDB's own extension as the
package `duckdb-extension-postgres-scanner`. Files named in the SQL text need their full path, inside the
allowed folders; nothing is ever downloaded.

A database file is open during a call only, because DuckDB lets one process at a time write it; a file that
another process holds, or another call of this worker with other settings, is error kind `duckdb` with
`retryable: true`. Needs the extra `duckdb`.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import Input, Size, define, doc, read_knobs
from noetl.tools.parts.databases import MEMORY, Database, Databases
from noetl.tools.parts.duckdb_attach import attach_file, attach_postgres
from noetl.tools.parts.paths import inside
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
    ref_parts,
    with_key,
)
from noetl.tools.parts.sql_position import in_duckdb
from noetl.tools.parts.statements import one_transaction

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: duckdb, path: tools/duckdb}
workflow:
  - step: start
    tool:
      kind: duckdb
      input:
        query: "select n, n * n as square from range(1, $top) as t(n)"
        params: {top: 4}
"""


class Login(Input):
    """A PostgreSQL database to attach."""

    auth: Annotated[str, doc("The credential to connect with.")]
    read_only: Annotated[bool, doc("Whether it can only be read.")] = False


class Sql(Statements):
    """The statements and what they work on."""

    database: Annotated[str, doc("The database file; `:memory:` is an empty one for this call.")] = ":memory:"
    params: Annotated[Params | None, doc(PARAMS.format("?", "$name", "$idempotency_key"))] = None
    attach: Annotated[
        dict[str, str | Login] | None,
        doc("By the name they get: DuckDB, CSV, JSON and Parquet files, or `{auth: NAME}` for PostgreSQL."),
    ] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(StatementKnobs):
    memory: Annotated[str | None, doc("DuckDB's memory limit, as in `512MB`.")] = None
    threads: Annotated[Size | None, doc("How many threads it may use.")] = None
    read_only: Annotated[bool, doc("Open the file for reading only.")] = False


FETCHED = 1000
OPEN_ELSEWHERE = "another call of this worker has the file open with other settings (for reading only, say)"


@dataclass(frozen=True, slots=True)
class Attach:
    """What makes something readable in a connection."""

    do: Callable[["DuckDBPyConnection"], None]
    remote: bool = False  # needs access that the call's own SQL does not have


class File(Database):
    """One DuckDB file, open while a call uses it."""

    connection: "DuckDBPyConnection | None" = None

    def interrupt(self) -> None:
        connection = self.connection
        if connection is not None:
            with suppress(driver().ConnectionException):  # the statement's thread was just about to close it
                connection.interrupt()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None


async def run(sql: Sql, call: Call) -> Envelope:
    """Run the statements on the database file, in a thread."""
    knobs: Knobs = read_knobs(Knobs, call)
    driver()
    attach = [await _attachment(name, other, call) for name, other in (sql.attach or {}).items()]
    path = sql.database if sql.database == MEMORY else inside(call, sql.database)
    files = call.resource("duckdb", partial(Databases, "duckdb"))
    file = File(path) if path == MEMORY else files.get(path, partial(File, path))
    results = await files.work(file, partial(_execute, file, sql, attach, knobs, call))
    return ok(data_of(results, call), **ref_parts(sql.store, {"store": "duckdb", "database": path}, call))


async def _attachment(name: str, other: str | Login, call: Call) -> Attach:
    """What attaches a file or a database; paths are checked and secrets fetched before anything is opened."""
    if isinstance(other, str):
        path = inside(call, other)
        return Attach(lambda connection: attach_file(connection, name, path))
    secret = await call.secret(other.auth)
    return Attach(lambda connection: attach_postgres(connection, name, secret, other.read_only), remote=True)


def driver() -> Any:
    try:
        import duckdb
    except ModuleNotFoundError:
        raise MissingExtra("duckdb", "duckdb") from None
    return duckdb


def _execute(file: File, sql: Sql, attach: list[Attach], knobs: Knobs, call: Call) -> list[Result]:
    """Everything that blocks: open, confine, attach, run, close."""
    duckdb = driver()
    results: list[Result] = []
    try:
        file.connection = connect(file.path, call, knobs, [each for each in attach if each.remote])
        for each in attach:
            if not each.remote:
                each.do(file.connection)
        params = with_key(sql.params, sql.text, "$", call)
        _statements(file.connection, sql, params, knobs, results)
    except duckdb.Error as problem:
        raise failed(problem, len(results), sql.text) from None
    finally:
        file.close()
    return results


def connect(path: str, call: Call, knobs: Knobs, remote: Sequence[Attach] = ()) -> "DuckDBPyConnection":
    """A connection that reaches what was attached, and nothing outside the allowed folders."""
    if path != MEMORY and not knobs.read_only:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if knobs.memory:
        config["memory_limit"] = knobs.memory
    if knobs.threads:
        config["threads"] = knobs.threads
    connection: DuckDBPyConnection = driver().connect(path, read_only=knobs.read_only, config=config)
    for each in remote:  # nothing more can be attached afterwards
        each.do(connection)
    folders = ", ".join(literal(os.path.realpath(root)) for root in call.roots or (call.work_dir,))
    connection.execute(f"set allowed_directories = [{folders}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _statements(
    connection: "DuckDBPyConnection", sql: Sql, params: Params | None, knobs: Knobs, results: list[Result]
) -> None:
    """Run every statement; in one transaction when there are several and none minds."""
    text = sql.text
    statements = connection.extract_statements(text)
    together = knobs.transaction and one_transaction([statement.query for statement in statements])
    if together:
        connection.begin()
    used = start = 0
    for statement in statements:
        start = max(text.find(statement.query, start), 0)
        if start:  # alone, so that it counts from its own beginning
            alone = connection.extract_statements(statement.query)
            statement = alone[0] if len(alone) == 1 else statement
        bound, used = _bind(params, statement.named_parameters, used)
        results.append(Result())
        try:
            cursor = connection.execute(statement, bound)
        except driver().Error as problem:
            raise failed(problem, len(results), text, (statement.query, start)) from None
        _fill(results[-1], cursor, statement, knobs.max_rows)
    if together:
        connection.commit()


def _bind(params: Params | None, names: set[str], used: int) -> tuple[Json, int]:
    """The values one statement takes: by name, or the next ones of the list."""
    if isinstance(params, dict):
        if missing := sorted(names - params.keys()):
            raise Failed("input", f"the SQL names ${missing[0]}, but params does not have it")
        return {name: params[name] for name in names}, used
    end = used + len(names)
    values = params or []
    if end > len(values):
        raise Failed("input", f"the SQL takes {end} values, but params has {len(values)}")
    return values[used:end], end


def _fill(result: Result, cursor: "DuckDBPyConnection", statement: "Statement", rows_max: int) -> None:
    kinds = {str(kind).rpartition(".")[2] for kind in statement.expected_result_type}
    columns = [column[0] for column in cursor.description or ()]
    if "CHANGED_ROWS" in kinds and columns == ["Count"]:
        result.changed = sum(int(row[0]) for row in cursor.fetchall())
        return
    if "QUERY_RESULT" not in kinds or not columns:
        return
    result.columns = columns_of(columns)
    while rows := cursor.fetchmany(FETCHED):
        for row in rows:
            result.add(row)
        if len(result.rows) > rows_max:
            raise Failed("limit", f"the statements returned more than {rows_max} rows; raise spec.max_rows")


def failed(
    problem: Exception, number: int, text: str = "", statement: tuple[str, int] | None = None
) -> Failed:
    """A DuckDB error as the failure of a call, of whose statements so many were begun."""
    duckdb = driver()
    message = str(problem).partition("\n")[0]
    locked = isinstance(problem, duckdb.IOException) and "lock" in message.lower()
    if isinstance(problem, duckdb.ConnectionException) and "different configuration" in message:
        locked, message = True, OPEN_ELSEWHERE
    retryable = locked or isinstance(problem, duckdb.TransactionException)
    code = type(problem).__name__
    details = {"statement": max(number, 1), **in_duckdb(text, str(problem), *(statement or (text, 0)))}
    broken = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException)
    was_answered = locked or not isinstance(problem, broken)
    return Failed("duckdb", message, code=code, retryable=retryable, answered=was_answered, details=details)


TOOL = define(
    "duckdb",
    __doc__,
    Sql,
    run,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command"),),
    sql_text=("query", "command"),
    example=EXAMPLE,
)
