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

from typing import Annotated, Any

from noetl.ports.tool import Input, define, doc
from noetl.tools.parts.sql import QUERY, SHAPE, STORE, Params, Store

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
    statement_timeout: Annotated[float | None, doc("Seconds after which the server ends a statement.")] = None
    pool_size: Annotated[int, doc("At most this many connections per credential and worker.")] = 8


TOOL = define(
    "postgres",
    __doc__,
    Sql,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command", "copy"),),
    helper="pg",
    sql_text=("query", "command"),
    example=EXAMPLE,
)
