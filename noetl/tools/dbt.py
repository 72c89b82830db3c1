"""Builds, tests and seeds the models of a dbt project, each node's result in its answer.

dbt is not part of NoETL: its program is one of the worker's machine, best in an environment of its own:
`python3 -m venv /opt/dbt && /opt/dbt/bin/pip install dbt-core dbt-duckdb dbt-postgres`, then
`program: /opt/dbt/bin/dbt`. Without `program`, it is the `dbt` on the `PATH` of the worker. It runs in the
project's folder with a small, clean environment, as programs of kind `shell` do, and does not report usage.

`auth` names the credential of the database, `profile` the fields that are no secret, in the words of dbt's
adapter, such as `{type: duckdb, path: shop.duckdb}` or `{type: snowflake, account: …, warehouse: …}`. For
PostgreSQL the credential is a `url` (or `value`), or `host`, `port`, `user`, `password` and `database`; for
others its fields are those of the adapter. A profile made of both lives in a folder of the task's own,
without any text in it: dbt takes them from its environment, where it knows secrets as such and masks them in
what it says. With neither, the project's own `profiles.yml` is used. dbt 1.11 with DuckDB and PostgreSQL is
tested here. A DuckDB of dbt that is newer than that of kind `duckdb` may write files which that one cannot
read.

Packages of the project are those that `dbt deps` has put into its folder. What dbt writes beside tables,
such as compiled SQL, goes with the task. Never put a secret into `vars`: dbt shows and keeps them.

What dbt says are the lines of the task's log, with their levels, while it runs. `status` of a node is dbt's
own word; in `counts`, what passed or had nothing to do is `success`. There are 1,000 nodes at most in the
answer, failed ones first where there are more; `counts` counts all. When a node fails, the error is of kind
`dbt`: its message begins with the first failing node, `code` is that node's status (`error` or `fail`),
`details.node` its name in full, `details.failed` how many failed, and `data` still has the results. Where no
node ran, `code` is the exit code. `error.retryable` is true when the database was out of reach. A repeated
call runs all that is selected again; give the next one the names of `output.data.nodes` that failed, with a
`+` after them, to run them and what needs them alone. When the task is cancelled or times out, dbt and
everything it started are stopped: asked first, then killed.
"""

import tempfile
from typing import Annotated, Any, Literal

from noetl.ports.tool import Input, Seconds, Size, Spec, doc
from noetl.tools.parts.function import tool
from noetl.tools.parts.tool_context import ToolContext

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: dbt, path: tools/dbt}
workload: {program: dbt}
workflow:
  - step: start
    tool:
      - name: project
        kind: file
        input: {action: write, path: shop/dbt_project.yml, format: text, content: "name: shop"}
      - name: model
        kind: file
        input: {action: write, path: shop/models/sale.sql, format: text, content: "select 1 as id"}
      - name: build
        kind: dbt
        input:
          program: "{{ workload.program }}"
          project: shop
          profile: {type: duckdb, path: shop.duckdb}
      - name: read
        kind: duckdb
        input: {database: shop.duckdb, query: select id from sale}
"""


class Project(Input):
    """What is done with which part of which project."""

    project: Annotated[str, doc("The folder of the project, inside the allowed folders.")]
    command: Annotated[
        Literal["build", "run", "test", "seed", "snapshot", "compile"], doc("What dbt does with it.")
    ] = "build"
    select: Annotated[str | list[str] | None, doc("The nodes, as dbt selects them; by default all.")] = None
    exclude: Annotated[str | list[str] | None, doc("Nodes that are left out.")] = None
    vars: Annotated[dict[str, Any] | None, doc("The project's variables.")] = None
    target: Annotated[str | None, doc("The name of the target, which models see as `target.name`.")] = None
    profile: Annotated[
        dict[str, Any] | None, doc("Fields of the profile that are no secret; `type` is the adapter.")
    ] = None
    full_refresh: Annotated[bool, doc("Whether incremental models and seeds are made anew.")] = False
    threads: Annotated[Size | None, doc("How many nodes run at once.")] = None
    program: Annotated[str, doc("The dbt program: a name on the `PATH`, or a path from the work folder.")] = (
        "dbt"
    )


class Knobs(Spec):
    grace: Annotated[Seconds, doc("Seconds between asking dbt to stop and killing it.")] = 5.0


@tool(
    name="dbt",
    page=__doc__,
    returns="`{nodes, counts, seconds}`; `nodes` a list of `{name, resource, status, seconds, rows, "
    "failures, message, relation}`, `counts` by `success`, `error`, `fail`, `skipped` and `warn`",
    example=EXAMPLE,
)
async def run_project(project: Project, knobs: Knobs, context: ToolContext) -> object:
    """Run dbt, read what it has written of the nodes, and say how it ended."""
    from noetl.tools.parts.dbt_command import command_of, run_command

    with tempfile.TemporaryDirectory(prefix="noetl-dbt-", ignore_cleanup_errors=True) as folder:
        return await run_command(command_of(project, folder, context), knobs.grace, context.call)
