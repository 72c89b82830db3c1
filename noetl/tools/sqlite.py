"""Runs SQL on a SQLite file.

One or several statements run in one transaction, unless they say `BEGIN` themselves or cannot run inside
one. Values are bound with `params`: a list for `?`, a mapping for `:name`. Lists and mappings bind as JSON
text; blobs come back as base64. The answer has the rows of the last statement that returned any; with
several statements, `statements` has one `{rows, row_count, columns}` each, and `command_<n>` names them one
by one.

`database` is a file inside the allowed folders, made on first use (in WAL mode). Without it every call has
an empty database of its own, which is enough to calculate with SQL. A locked database is waited for, then
error kind `sqlite` with `retryable: true`; `output.error.code` is SQLite's name of the error.
"""

from typing import Annotated

from noetl.ports.tool import Input, define, doc
from noetl.tools.parts.sql import PARAMS, QUERY, SHAPE, STORE, Params, Store

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


class Sql(Input):
    """The statements and what they work on."""

    query: Annotated[str | None, doc(QUERY)] = None
    command: Annotated[str | None, doc(QUERY)] = None
    database: Annotated[str, doc("The database file; `:memory:` is an empty one for this call.")] = ":memory:"
    params: Annotated[Params | None, doc(PARAMS)] = None
    attach: Annotated[dict[str, str] | None, doc("Other database files by the name they get.")] = None
    store: Annotated[Store | None, doc(STORE)] = None


class Knobs(Input):
    """What stands under the task's `spec`."""

    busy_timeout: Annotated[float, doc("Seconds to wait for a locked database.")] = 5.0
    transaction: Annotated[bool, doc("Run several statements in one transaction.")] = True
    read_only: Annotated[bool, doc("Open the file for reading only.")] = False


TOOL = define(
    "sqlite",
    __doc__,
    Sql,
    knobs=Knobs,
    returns=SHAPE,
    one_of=(("query", "command"),),
    sql_text=("query", "command"),
    example=EXAMPLE,
)
