"""Runs SQL on any database that has an ADBC or a DB-API driver: MySQL, MariaDB, ClickHouse and others.

`driver` says which. `mysql` and `mariadb` come with the extra `sql`; `adbc_driver_postgresql` and
`adbc_driver_sqlite` with the extra `adbc`, and read rows as Arrow batches. `clickhousedb` comes with `pip
install "clickhouse-connect[sqlalchemy]"`. Other databases need a package of their own beside NoETL: any
SQLAlchemy dialect by its name, such as `snowflake`, `bigquery`, `mssql+pyodbc`, `oracle+oracledb`, `trino`,
`redshift+redshift_connector`; any ADBC driver by its module, such as `adbc_driver_flightsql`,
`adbc_driver_snowflake`, `adbc_driver_bigquery`. They go through the same door and are not tested here.
Databases that run inside the worker, as `adbc_driver_sqlite` and chDB, need a worker that may read all files.
PostgreSQL, SQLite and DuckDB have kinds of their own, which know more about them.

For ClickHouse, `url` is `clickhousedb://user:password@host:8123/shop` (`https`: port 8443, or
`?secure=true`), or with chDB, the same engine inside the worker (`pip install chdb`),
`clickhousedb:///?interface=chdb&path=/data/house`; its data are gone with the connection where there is no
`path`, and one worker can have one such folder open. There are no transactions: every statement holds by
itself. Lists and mappings bind as arrays and maps, so that `where id in :ids` and `has(:tags, tag)` work.
Times of a column with a zone have it.

`auth` names the credential to connect with: a `url` such as `mysql://user:password@host:3306/shop`, in which
a driver's own options may stand behind a `?`, or `host`, `port`, `user`, `password` and `database`. ADBC
drivers also take fields that begin with `adbc.`. Connections are pooled per credential, and a pooled one is
tried before it is used.

One or several statements run in one transaction, unless they say `BEGIN` or `START TRANSACTION` themselves or
cannot run inside one; some databases, as MySQL, end a transaction with every `CREATE` or `ALTER`. Values are
bound with `params` in the same way for every driver: a list for `?`, a mapping for `:name`. Lists and
mappings bind as JSON text (not for ClickHouse); dates are texts, which some databases want to be cast. Bytes
come as base64, JSON of MySQL and MariaDB as text, times of day as MySQL writes them (`-838:59:59`). The
answer has the rows of the last statement that returned any; with several statements, `statements` has one
`{rows, row_count, columns}` each, and `command_<n>` names them one by one. Rows over
`spec.limits.max_hydrate_bytes` (16 MiB) go into the result store as JSON lines while they arrive: `rows` is
then `null` and `output.ref` says where they are. A text that creates a procedure, function, trigger or event
of MySQL is one statement, whatever semicolons are in it.

Many rows in one statement are a list of which the database makes a table, as MySQL and MariaDB do:
`insert into sale select * from json_table(:rows, '$[*]' columns (id int path '$.id', item text path
'$.item')) as t`; `where id in (select …)` of such a table takes a list too. From files and other databases
[`transfer`](transfer.md) moves them.

`:idempotency_key` in the text is the key of this call: it stays the same when the engine has to repeat a call
whose answer it never saw, so that `insert ignore` on it happens once.

What the database refuses, a login too, is error kind `sql`; `output.error.code` is the driver's number or
the SQLSTATE.
`error.retryable` is true for deadlocks, serialization failures and locks that were not to be had. A
connection that cannot be made or is lost is error kind `connect`: whether the statement took effect is then
not known, so a retry binds the same `:idempotency_key`. A call that is cancelled or runs out of time ends its
statement on MySQL, MariaDB and with drivers that can cancel; with others it goes on there, and its connection
is not used again.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import define, doc, read_knobs
from noetl.tools.parts.spill import gather
from noetl.tools.parts.sql import (
    PARAMS,
    SHAPE,
    Params,
    Result,
    StatementKnobs,
    Statements,
    data_of,
    stored_reference,
    with_key,
)
from noetl.tools.parts.statements import first_word, one_transaction, split

if TYPE_CHECKING:
    from noetl.tools.parts.sql_session import Answer, Drivers, Lent, Session

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sql, path: tools/sql}
keychain:
  - {name: shop, kind: env, env: SHOP_URL}
workflow:
  - step: start
    tool:
      - name: fill
        kind: sql
        auth: shop
        input:
          driver: mysql
          command: |
            create table if not exists sale (item varchar(40) primary key, price decimal(8, 2));
            replace into sale values (:item, :price);
          params: {item: tea, price: 3.5}
      - name: read
        kind: sql
        auth: shop
        input: {driver: mysql, query: "select item, price from sale where price > ?", params: [1]}
"""
# What has statements inside.
_BODY = re.compile(
    r"\s*create\s+(or\s+replace\s+)?(definer\s*=\s*\S+\s+)?(aggregate\s+)?(procedure|function|trigger|event)\b",
    re.IGNORECASE,
)


class Sql(Statements, kw_only=True):
    """The statements, and the driver that they go through."""

    driver: Annotated[str, doc("Which driver: `mysql`, `adbc_driver_postgresql`, a SQLAlchemy dialect.")]
    params: Annotated[Params | None, doc(PARAMS.format("?", ":name", ":idempotency_key"))] = None


async def run(sql: Sql, call: Call) -> Envelope:
    """Run the statements on a connection of the driver."""
    async with lend(sql.driver, call) as lent:
        results = await _statements(lent, sql, read_knobs(StatementKnobs, call), call)
    return ok(data_of(results, call), **stored_reference(results))


@asynccontextmanager
async def lend(driver: str, call: Call) -> AsyncIterator["Lent"]:
    """A session of a driver, which connects when it begins; after a failure its connection is dropped."""
    from noetl.tools.parts.sql_session import Drivers, Lent

    drivers = call.resource("sql", Drivers)
    lent = Lent(_session(driver, call, drivers), drivers)
    broken = True
    try:
        yield lent
        broken = False
    finally:
        await lent.give_back(broken)


def _session(driver: str, call: Call, drivers: "Drivers") -> "Session":
    from noetl.tools.parts import sql_adbc

    if driver.startswith(sql_adbc.PREFIX):
        return sql_adbc.AdbcSession(driver, call)
    from noetl.tools.parts.sql_dbapi import CLICKHOUSE, DbapiSession, engine_of

    engine = engine_of(driver, call, drivers)
    if engine.dialect.name == CLICKHOUSE:
        from noetl.tools.parts.sql_clickhouse import ClickhouseSession

        return ClickhouseSession(engine)
    return DbapiSession(engine)


async def _statements(lent: "Lent", sql: Sql, knobs: StatementKnobs, call: Call) -> list[Result]:
    """Run every statement; in one transaction when there are several and none minds."""
    text = sql.text
    binding = lent.session.binding
    statements = [text.strip()] if _BODY.match(text) else split(text, binding.escapes)
    _check_ends(statements)
    together = len(statements) == 1 and first_word(statements[0]) not in _ALONE
    together = together or (knobs.transaction and one_transaction(statements))
    params = with_key(sql.params, text, ":", call)
    results: list[Result] = []
    used = 0
    await lent.work(lent.session.begin, together)
    for number, statement in enumerate(statements, 1):
        bound, values, used = binding.bind(statement, params, used)
        try:
            answer = await lent.work(lent.session.execute, bound, values)
        except Failed as failure:
            failure.output["error"]["details"]["statement"] = number
            raise
        results.append(Result(answer.columns, changed=answer.changed))
        if answer.columns is not None:
            await gather(results[-1], _chunks(lent, answer), knobs.max_rows, call)
    if together:
        await lent.work(lent.session.commit)
    return results


_ALONE = ("VACUUM", "CALL", "PRAGMA", "ATTACH", "DETACH")  # minds a transaction around it
_BEGINS = ("BEGIN", "START")
_ENDS = ("COMMIT", "ROLLBACK", "END", "ABORT")


def _check_ends(statements: list[str]) -> None:
    words = [word for word in map(first_word, statements) if word in _BEGINS + _ENDS]
    if words and words[-1] in _BEGINS:
        raise Failed("input", "the statements begin a transaction and do not end it; add commit")


async def _chunks(lent: "Lent", answer: "Answer") -> AsyncGenerator[list[list[object]], None]:
    from noetl.tools.parts.sql_session import FETCHED

    while rows := await lent.work(answer.fetch, FETCHED):
        yield rows


TOOL = define(
    "sql",
    __doc__,
    Sql,
    run,
    knobs=StatementKnobs,
    returns=SHAPE,
    one_of=(("query", "command"),),
    sql_text=("query", "command"),
    example=EXAMPLE,
)
