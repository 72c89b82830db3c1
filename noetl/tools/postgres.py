"""Runs SQL on PostgreSQL.

`auth` names the credential to connect with: `host`, `port`, `user`, `password`, `database` and `sslmode`,
or a whole `dsn`. Connections are pooled per credential.

One or several statements run in one transaction, unless they say `BEGIN` themselves or cannot run inside
one. Values are bound with `params`: a list for `$1`, a mapping for `:name`; never write them into the text.
Dates, UUIDs, numerics, JSON, bytea (base64) and arrays convert both ways. The answer has the rows of the
last statement that returned any; with several statements, `statements` has one `{rows, row_count, columns}`
each, and `command_<n>` names them one by one. `copy` loads many rows at once over the COPY protocol.

`output.pg` is `{code, sqlstate, message}` on an error. `error.retryable` is true for the sqlstate classes
08, 40, 53 and 57: lost connections, serialization failures and deadlocks, exhausted resources, and a server
that is shutting down.

Needs the extra `postgres`.
"""

from typing import TYPE_CHECKING, Annotated, Any

from noetl.dsl.tree import Value
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import Input, Seconds, Size, define, doc, read_knobs
from noetl.tools.parts.sql import (
    MAX_ROWS,
    QUERY,
    SHAPE,
    STORE,
    Params,
    Result,
    Store,
    columns_of,
    data_of,
    ref_parts,
)
from noetl.tools.parts.statements import first_word, numbered, one_transaction, split

if TYPE_CHECKING:
    from asyncpg import Connection
    from asyncpg.prepared_stmt import PreparedStatement

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: postgres, path: tools/postgres}
keychain:
  - {name: warehouse, kind: postgres_credential, credential: warehouse}
workflow:
  - step: start
    tool:
      kind: postgres
      auth: warehouse
      input:
        query: "select id, total from sale where day = :day order by id"
        params: {day: "2026-01-31"}
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' and output.pg.sqlstate in ['40001', '40P01'] }}"
              then: {do: retry, attempts: 5, backoff: exponential, delay: 0.2}
            - when: "{{ output.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
"""


class Copy(Input):
    """Rows for one table."""

    table: Annotated[str, doc("The table, with its schema where it has one.")]
    rows: Annotated[list[Any], doc("The rows, as mappings or as lists in the order of `columns`.")]
    columns: Annotated[list[str] | None, doc("The columns; by default the keys of the first row.")] = None


class Sql(Input):
    """The statements, or the rows to load."""

    query: Annotated[str | None, doc(QUERY)] = None
    command: Annotated[str | None, doc(QUERY)] = None
    params: Annotated[Params | None, doc("Values to bind: a list for `$1`, a mapping for `:name`.")] = None
    copy: Annotated[Copy | None, doc("Load rows into a table.")] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(Input):
    """What stands under the task's `spec`."""

    transaction: Annotated[bool, doc("Run several statements in one transaction.")] = True
    statement_timeout: Annotated[Seconds | None, doc("Seconds after which the server ends a statement.")] = (
        None
    )
    pool_size: Annotated[Size, doc("At most this many connections per credential and worker.")] = 8
    max_rows: Annotated[Size, doc("More rows than this are error kind `limit`.")] = MAX_ROWS


async def run(sql: Sql, call: Call) -> Envelope:
    """Run the statements, or load the rows, on a pooled connection."""
    from noetl.tools.parts.postgres_link import borrowed

    knobs: Knobs = read_knobs(Knobs, call)
    async with borrowed(call, knobs.pool_size) as connection:
        if knobs.statement_timeout:
            await connection.execute(f"set statement_timeout = {int(knobs.statement_timeout * 1000)}")
        if sql.copy is not None:
            results = [await load(connection, sql.copy)]
        else:
            results = await _statements(connection, sql, knobs)
    return ok(data_of(results, call), **ref_parts(sql.store, {"store": "postgres"}, call))


async def _statements(connection: "Connection", sql: Sql, knobs: Knobs) -> list[Result]:
    """Run every statement; in one transaction when there are several and none minds."""
    statements = split(sql.query or sql.command or "")
    if knobs.transaction and one_transaction(statements):
        async with connection.transaction():
            return [await _statement(connection, text, sql.params, knobs.max_rows) for text in statements]
    results = [await _statement(connection, text, sql.params, knobs.max_rows) for text in statements]
    if connection.is_in_transaction():
        raise Failed("postgres", "the statements began a transaction and did not end it; it was rolled back")
    return results


async def _statement(connection: "Connection", text: str, params: Params | None, rows_max: int) -> Result:
    from noetl.tools.parts.postgres_values import from_pg, to_pg

    values: list[Value] = params if isinstance(params, list) else []
    if isinstance(params, dict):
        text, values = numbered(text, params)
    prepared = await connection.prepare(text)
    types = prepared.get_parameters()
    if len(values) < len(types):
        raise Failed("input", f"the SQL takes {len(types)} values, but params has {len(values)}")
    bound = [
        to_pg(value, kind.name, number)
        for number, (value, kind) in enumerate(zip(values, types, strict=False), 1)
    ]
    attributes = prepared.get_attributes()
    if not attributes:
        await prepared.fetch(*bound)
        return Result(changed=_changed(prepared.get_statusmsg()))
    result = Result(columns_of(attribute.name for attribute in attributes))
    async for record in _records(connection, prepared, bound, first_word(text)):
        result.add([from_pg(value) for value in record.values()])
        if len(result.rows) > rows_max:
            raise Failed("limit", f"the statements returned more than {rows_max} rows; raise spec.max_rows")
    return result


async def _records(
    connection: "Connection", prepared: "PreparedStatement", bound: list[Any], word: str
) -> Any:
    """Rows a piece at a time where a cursor can be had; other statements give theirs at once."""
    if word not in ("SELECT", "WITH", "VALUES", "TABLE"):
        for record in await prepared.fetch(*bound):
            yield record
        return
    async with connection.transaction():
        async for record in prepared.cursor(*bound, prefetch=1000):
            yield record


def _changed(tag: str) -> int:
    """How many rows a command tag such as `INSERT 0 5` speaks of."""
    last = tag.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0


async def load(connection: "Connection", copy: Copy) -> Result:
    """Load rows over the COPY protocol."""
    from noetl.tools.parts.postgres_values import to_pg
    from noetl.tools.parts.sql import quoted

    columns = copy.columns or _keys(copy.rows)
    if not columns:
        return Result(changed=0)
    names = ", ".join(quoted(column) for column in columns)
    probe = await connection.prepare(f"select {names} from {quoted(copy.table)}")
    types = [attribute.type.name for attribute in probe.get_attributes()]
    records = [
        tuple(
            to_pg(value, kind, number)
            for number, (value, kind) in enumerate(zip(cells, types, strict=True), 1)
        )
        for cells in (_cells(row, columns) for row in copy.rows)
    ]
    schema, _, table = copy.table.rpartition(".")
    tag = await connection.copy_records_to_table(
        table, schema_name=schema or None, columns=columns, records=records
    )
    return Result(changed=_changed(tag))


def _keys(rows: list[Any]) -> list[str]:
    if rows and not isinstance(rows[0], dict):
        raise Failed("input", "copy needs columns when its rows are lists")
    return list(rows[0]) if rows else []


def _cells(row: Any, columns: list[str]) -> list[Value]:
    cells = [row.get(column) for column in columns] if isinstance(row, dict) else row
    if not isinstance(cells, list) or len(cells) != len(columns):
        raise Failed("input", f"a row of copy does not have the columns {', '.join(columns)}")
    return cells


TOOL = define(
    "postgres",
    __doc__,
    Sql,
    run,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command", "copy"),),
    helper="pg",
    sql_text=("query", "command"),
    example=EXAMPLE,
)
