"""Runs SQL in DuckDB: over its own files, and over CSV, JSON and Parquet files where they lie.

Statements, parameters and answers are as for `sqlite`. `database` is a DuckDB file inside the allowed
folders; without it every call has an empty database of its own. `attach` opens other databases beside it.
Files named in the SQL text must lie inside the allowed folders as well, and nothing is downloaded.

Needs the extra `duckdb`.
"""

from typing import Annotated

from noetl.ports.tool import Input, define, doc
from noetl.tools.parts.sql import QUERY, SHAPE, STORE, Params, Store

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


class Sql(Input):
    """The statements and what they work on."""

    query: Annotated[str | None, doc(QUERY)] = None
    command: Annotated[str | None, doc(QUERY)] = None
    database: Annotated[str, doc("The database file; `:memory:` is an empty one for this call.")] = ":memory:"
    params: Annotated[Params | None, doc("Values to bind: a list for `?`, a mapping for `$name`.")] = None
    attach: Annotated[dict[str, str] | None, doc("Other database files by the name they get.")] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(Input):
    """What stands under the task's `spec`."""

    memory: Annotated[str | None, doc("DuckDB's memory limit, as in `512MB`.")] = None
    threads: Annotated[int | None, doc("How many threads it may use.")] = None
    transaction: Annotated[bool, doc("Run several statements in one transaction.")] = True
    read_only: Annotated[bool, doc("Open the file for reading only.")] = False


TOOL = define(
    "duckdb",
    __doc__,
    Sql,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command"),),
    sql_text=("query", "command"),
    example=EXAMPLE,
)
