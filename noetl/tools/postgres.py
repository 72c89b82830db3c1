"""Runs SQL on PostgreSQL.

`auth` names the credential to connect with: `host`, `port`, `user`, `password`, `database` and `sslmode`,
or a whole `dsn`. Connections are pooled per credential. Where a `dsn` names several servers, with commas
between, the one that can be written to is used; `?target_session_attrs=any`, or `prefer-standby`, in it
chooses otherwise.

One or several statements run in one transaction, unless they say `BEGIN` themselves or cannot run inside
one. Values are bound with `params`: a list for `$1`, a mapping for `:name`; never write them into the text.
Dates, UUIDs, numerics, JSON, bytea (base64) and arrays convert both ways; a `jsonb` parameter takes the list
or mapping itself, since a text (`| tojson`) would become a JSON string. The answer has the rows of the last
statement that returned any; with several statements, `statements` has one `{rows, row_count, columns}`
each, and `command_<n>` names them one by one. `copy` loads many rows at once over the COPY protocol; its
rows may be a reference to a stored result.

Inserts of values by one task that meet, as in a parallel loop, go to the server together, in one transaction
whose `now()` is the same for all. Each hears how many rows were its own; when the server refuses one, each is
sent alone.

`:idempotency_key` in the text is the key of this call: it stays the same when the engine has to repeat a
call whose answer it never saw, so that `insert ... on conflict do nothing` on it happens once. Rows over
`spec.limits.max_hydrate_bytes` (16 MiB) go into the result store as JSON lines while they arrive: `rows` is
then `null` and `output.ref` says where they are.

`output.pg` is `{code, sqlstate, message}` on an error. `error.retryable` is true for the sqlstate classes
08, 40, 53 and 57 and for 55P03: lost connections, serialization failures and deadlocks, exhausted
resources, a server that is shutting down, a lock that was not to be had. A connection that cannot be made
or is lost is error kind `connect`; whether the statement took effect is then not known, so a retry binds
the same `:idempotency_key`. A call that is cancelled or runs out of time ends its statement on the server
too; inserts that went together end once nobody waits for any of them.

Needs the extra `postgres`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

from noetl.dsl.row_changes import changes_rows
from noetl.json_value import Json, JsonObject
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import Input, Seconds, Size, define, doc, read_knobs
from noetl.tools.parts.postgres_copy import changed_rows, load, rows_of
from noetl.tools.parts.postgres_sessions import ends_session, leaves_session_alone, types_in
from noetl.tools.parts.postgres_together import Bound
from noetl.tools.parts.postgres_values import bind, from_pg
from noetl.tools.parts.spill import gather
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
    ref_parts,
    stored_reference,
    with_key,
)
from noetl.tools.parts.sql_position import in_postgres
from noetl.tools.parts.statements import first_word, number_parameters, one_transaction, split

if TYPE_CHECKING:
    from asyncpg import Connection
    from asyncpg.prepared_stmt import PreparedStatement

FETCHED = 1000
CHANGING = ("INSERT", "UPDATE", "DELETE", "MERGE")  # done whole or not at all, so that they may be sent again
STALE = ("0A", "42")  # what the server says to a statement whose tables have changed
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
    rows: Annotated[
        list[Json] | JsonObject,
        doc("The rows, as mappings or as lists in the order of `columns`; or a reference to them."),
    ]
    columns: Annotated[list[str] | None, doc("The columns; by default the keys of the first row.")] = None


class Sql(Statements):
    """The statements, or the rows to load."""

    params: Annotated[Params | None, doc(PARAMS.format("$1", ":name", ":idempotency_key"))] = None
    copy: Annotated[Copy | None, doc("Load rows into a table.")] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(StatementKnobs):
    statement_timeout: Annotated[Seconds | None, doc("Seconds after which the server ends a statement.")] = (
        None
    )
    pool_size: Annotated[Size, doc("At most this many connections per credential and worker.")] = 8


async def run(sql: Sql, call: Call) -> Envelope:
    """Run the statements, or load the rows, on a pooled connection."""
    knobs: Knobs = read_knobs(Knobs, call)
    purpose = _purpose(sql, knobs, call)
    alone = partial(_run_alone, sql, knobs, call, purpose)
    results = await (_insert(sql, knobs, call, purpose, alone) if purpose else alone())
    parts = ref_parts(sql.store, {"store": "postgres"}, call) or stored_reference(results)
    return ok(data_of(results, call), **parts)


async def _run_alone(sql: Sql, knobs: Knobs, call: Call, purpose: str) -> list[Result]:
    from noetl.tools.parts.postgres_link import borrow

    rows = None if sql.copy is None else await rows_of(sql.copy.rows, call)
    async with borrow(call, knobs.pool_size, purpose) as connection:
        if knobs.statement_timeout:
            await connection.execute(f"set statement_timeout = {int(knobs.statement_timeout * 1000)}")
        if sql.copy is not None:
            return [await load(connection, sql.copy.table, rows or [], sql.copy.columns)]
        try:
            return await _statements(connection, sql, knobs, call)
        finally:
            if ends_session(split(sql.text)):
                connection.terminate()


async def _insert(
    sql: Sql, knobs: Knobs, call: Call, purpose: str, alone: Callable[[], Awaitable[list[Result]]]
) -> list[Result]:
    """Insert rows, with the other calls that insert by the same statement at this moment."""
    from noetl.tools.parts.postgres_link import borrow, together_of

    together = together_of(call, knobs.pool_size, purpose)
    if together.meet and (bound := _bound(sql, call)) is not None:
        count = await together.go(bound, partial(borrow, call, knobs.pool_size, purpose))
        if count is not None:
            return [Result(changed=count)]
    return await together.go_alone(alone)


def _bound(sql: Sql, call: Call) -> Bound | None:
    """A single statement and what it binds, where the types are known and the values fit them."""
    from noetl.tools.parts.postgres_link import types_of

    (statement,) = split(sql.text)
    text, values = _number_values(statement, with_key(sql.params, sql.text, ":", call))
    types = types_of(call).get(text)
    if types is None:
        return None
    try:
        return Bound(text, bind(values, types), types)
    except Failed:
        return None


def _purpose(sql: Sql, knobs: Knobs, call: Call) -> str:
    """What calls have in common that may use a session one after the other as it is; empty: nothing."""
    text = sql.text
    if sql.copy is not None or knobs.statement_timeout or not leaves_session_alone(text):
        return ""
    return f"{call.execution_id} {text}"


async def _statements(connection: "Connection", sql: Sql, knobs: Knobs, call: Call) -> list[Result]:
    """Run every statement; in one transaction when there are several and none minds."""
    text = sql.text
    statements = split(text)
    params = with_key(sql.params, text, ":", call)
    one = knobs.transaction and one_transaction(statements)
    run_statement = partial(_statement, connection, params, knobs.max_rows, call, one)
    with _pointing(text, params):
        if len(statements) == 1 and first_word(statements[0]) in CHANGING:
            typed = await _run_typed(connection, params, call, statements[0])
            if typed is not None:
                return [typed]
        if one:
            async with connection.transaction():
                return [await run_statement(statement) for statement in statements]
        results = [await run_statement(statement) for statement in statements]
    if connection.is_in_transaction():
        raise Failed("postgres", "the statements began a transaction and did not end it; it was rolled back")
    return results


@contextmanager
def _pointing(text: str, params: Params | None) -> Iterator[None]:
    """An error of the server says where in the author's text it is."""
    from noetl.tools.parts.postgres_link import driver, failed

    try:
        yield
    except driver().PostgresError as problem:
        sent, character = getattr(problem, "query", None), getattr(problem, "position", None)
        if not sent or not character:
            raise
        raise failed(problem, in_postgres(text, params, sent, int(character))) from None


async def _statement(
    connection: "Connection", params: Params | None, rows_max: int, call: Call, one: bool, text: str
) -> Result:
    """Run a statement, perhaps in `one` transaction with others; one that the author began has no cursors."""
    from noetl.tools.parts.postgres_link import types_of

    text, values = _number_values(text, params)
    prepared = await connection.prepare(text)
    arguments = bind(values, prepared.get_parameters())
    attributes = prepared.get_attributes()
    if not attributes:
        types_of(call).keep(text, prepared.get_parameters())
        await prepared.fetch(*arguments)
        return Result(changed=changed_rows(prepared.get_statusmsg()))
    result = Result(columns_of(attribute.name for attribute in attributes))
    by_cursor = _reads(text) and (one or not connection.is_in_transaction())
    # Closed at once, not when it is collected: it holds a transaction.
    async with aclosing(_chunks(connection, prepared, arguments, by_cursor)) as chunks:
        await gather(result, chunks, rows_max, call)
    return result


def _number_values(text: str, params: Params | None) -> tuple[str, list[Json]]:
    """A statement whose values have numbers, and the values."""
    if isinstance(params, dict):
        return number_parameters(text, params)
    return text, params if isinstance(params, list) else []


async def _run_typed(
    connection: "Connection", params: Params | None, call: Call, statement: str
) -> Result | None:
    """Run a statement that answers no rows and whose types are known: one round trip.

    None when they are not known, or not any more: the server refused it, and nothing was done.
    """
    from noetl.tools.parts.postgres_link import UNSENT, driver, types_of

    text, values = _number_values(statement, params)
    types = types_of(call).get(text)
    if types is None:
        return None
    try:
        if types == await types_in(connection, text):
            return Result(changed=changed_rows(await connection.execute(text, *bind(values, types))))
    except Failed:
        pass  # the value may fit what the tables are by now
    except driver().PostgresError as problem:
        unsent = UNSENT in str(problem)
        if not unsent and not str(problem.sqlstate or "").startswith(STALE):
            raise
    types_of(call).forget(text)
    return None


def _reads(statement: str) -> bool:
    word = first_word(statement)
    return word in ("SELECT", "VALUES", "TABLE") or (word == "WITH" and not changes_rows(statement))


async def _chunks(
    connection: "Connection", prepared: "PreparedStatement", arguments: list[object], by_cursor: bool
) -> AsyncGenerator[list[list[object]], None]:
    """Rows a piece at a time, with a cursor, of what only reads, all at once of what changes something.

    A worker that stood still in the midst would hold those, and whoever does its work would not see them.
    """
    if not by_cursor:
        yield [[from_pg(value) for value in record.values()] for record in await prepared.fetch(*arguments)]
        return
    async with connection.transaction():
        cursor = await prepared.cursor(*arguments)
        while records := await cursor.fetch(FETCHED):
            yield [[from_pg(value) for value in record.values()] for record in records]
            if len(records) < FETCHED:
                return


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
