"""Runs a dlt pipeline: takes data from a source in Python, or rows of the playbook, into a destination.

`script` and `source` name a function of a file inside the allowed folders: a `@dlt.source`, a
`@dlt.resource`, or a plain generator; `args` are its arguments. Instead of them, `data` are rows, or a
reference to them. `destination` is one of dlt's: `duckdb`, with `database` as its file, and `postgres` come
with the extra `dlt`; others, such as `bigquery`, `snowflake`, `clickhouse` and `filesystem`, need dlt's
packages for them, go through the same door and are not tested here.

`auth` names the credential of the destination: for a database a `url` (or `value`), or `host`, `port`,
`user`, `password` and `database`; for others the fields that dlt calls so. The fields of `source_auth` are
what `dlt.secrets.value` stands for in arguments of the source. Both are handed over in memory; neither is
written to a file.

The pipeline runs in a process of its own, with no folder to keep: dlt's state and schema live in the
destination and are read from there at the beginning, so that incremental loads go on where they ended,
whichever worker runs them. With the load comes the state, and in it the call's idempotency key: a call that
is repeated because its answer was lost loads nothing, and answers with `repeated: true` and without `rows`
(the last 50 calls are known). A load that was cut off in the middle leaves rows in `append` tables whose
`_dlt_load_id` is not in `_dlt_loads`; use `merge` with a key, or `replace`, where that matters. Let one
pipeline run once at a time: two at once do not see each other's state.

What it prints and how far it is are the lines of the task's log. An error of dlt is error kind `dlt`;
`output.error.code` is its class, `error.details.step` is `extract`, `normalize`, `load` or `sync`, and
`error.details.traceback` has the lines of the source. `error.retryable` is true for what dlt calls transient,
for lost connections, and for answers 429 and 5xx that a source got. Needs the extra `dlt`, which is not part
of `all`.
"""

from typing import Annotated, Any, Literal

from noetl.core.values.output import is_reference
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Input, Seconds, Spec, doc
from noetl.tools.parts.function import tool
from noetl.tools.parts.tool_context import ToolContext

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: dlt, path: tools/dlt}
workflow:
  - step: start
    tool:
      - name: sales
        kind: dlt
        input:
          pipeline: sales
          destination: duckdb
          database: sales.duckdb
          data: [{id: 1, item: tea, tags: [hot]}, {id: 2, item: milk, tags: [cold, white]}]
          table: sale
          write_disposition: merge
          primary_key: id
      - name: read
        kind: duckdb
        input:
          database: sales.duckdb
          query: select item from sales_dataset.sale order by id
"""


class Pipeline(Input):
    """What is taken from where into what."""

    pipeline: Annotated[str, doc("The pipeline's name, under which its state is kept.")]
    destination: Annotated[str, doc("A destination of dlt, such as `duckdb` or `postgres`.")]
    dataset: Annotated[str | None, doc("The schema or dataset there; by default `PIPELINE_dataset`.")] = None
    database: Annotated[str | None, doc("The file of the destination `duckdb`.")] = None
    script: Annotated[str | None, doc("The file with the source, inside the allowed folders.")] = None
    source: Annotated[str | None, doc("The function of the script that is the source.")] = None
    args: Annotated[dict[str, Any] | None, doc("The arguments of the source.")] = None
    source_auth: Annotated[str | None, doc("The secret whose fields the source takes as its own.")] = None
    data: Annotated[Json, doc("Rows, or a reference to them, instead of a script.")] = None
    table: Annotated[str | None, doc("The table of `data`, or of a source that names none.")] = None
    write_disposition: Annotated[
        Literal["append", "replace", "merge"] | None,
        doc("What happens to rows that are there; by default as the source says, or `append`."),
    ] = None
    primary_key: Annotated[str | list[str] | None, doc("The columns that identify a row.")] = None
    schema_contract: Annotated[
        str | dict[str, str] | None, doc("Whether tables and columns may change: dlt's `schema_contract`.")
    ] = None
    refresh: Annotated[
        Literal["drop_sources", "drop_resources", "drop_data"] | None,
        doc("What is dropped first, to load everything again."),
    ] = None


class Knobs(Spec):
    grace: Annotated[Seconds, doc("Seconds between asking the pipeline to stop and killing it.")] = 5.0


@tool(
    name="dlt",
    page=__doc__,
    returns="`{pipeline, destination, dataset, rows, load_ids, schema, cursors, repeated}`; `rows` by table, "
    "`schema` with its `name`, `version` and the columns that are new by table, `cursors` the last values of "
    "incremental loads",
    example=EXAMPLE,
)
async def run_pipeline(pipeline: Pipeline, knobs: Knobs, context: ToolContext) -> object:
    """Have a process of its own run it; it answers once."""
    from noetl.tools.parts.dlt_order import order_of, run_order

    _check(pipeline)
    rows = pipeline.data
    if is_reference(rows):
        rows = await context.load(rows)
    source_secret = await context.secret(pipeline.source_auth) if pipeline.source_auth else {}
    return await run_order(order_of(pipeline, rows, source_secret, context), knobs.grace, context.call)


def _check(pipeline: Pipeline) -> None:
    if (pipeline.script is None) == (pipeline.data is None):
        raise Failed("input", "dlt needs exactly one of script, data")
    if pipeline.script is not None and not pipeline.source:
        raise Failed("input", "dlt needs input 'source': the function of the script")
    if pipeline.data is not None and not pipeline.table:
        raise Failed("input", "dlt needs input 'table' for its data")
    if (pipeline.destination == "duckdb") != (pipeline.database is not None):
        raise Failed("input", "dlt needs input 'database' for the destination duckdb, and for no other")
