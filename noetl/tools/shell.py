"""Runs a program, or a command line through `/bin/sh`.

A list is a program and its arguments, passed as they are: nothing in them can be read as shell syntax. A
text is a shell command line; never build one out of data that you do not control. The program starts in the
work folder with a small, clean environment (`PATH`, `HOME`, `LANG`), the entries of `env`, and
`NOETL_EXECUTION_ID`, `NOETL_STEP`, `NOETL_TASK`, `NOETL_ATTEMPT` and `NOETL_IDEMPOTENCY_KEY`.

A non-zero exit is an error of kind `shell` whose `code` is the exit code; `data` still holds what was
printed. Each of the two outputs is kept up to `spec.limits.max_output_bytes` (1 MiB); what goes beyond is
counted and dropped. When the task is cancelled or times out, the program and everything it started are
stopped: asked first, then killed.
"""

from typing import Annotated

from noetl.ports.tool import Input, define, doc

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: shell, path: tools/shell}
workload: {name: world}
workflow:
  - step: start
    tool:
      - {name: list, kind: shell, input: {command: [echo, "hello", "{{ workload.name }}"]}}
      - {name: count, kind: shell, input: {command: "wc -c", stdin: "{{ list.data.stdout }}"}}
"""


class Command(Input):
    """The program and what it is given."""

    command: Annotated[
        str | list[str | int | float],
        doc("The program and its arguments as a list, or a shell command line as text."),
    ]
    cwd: Annotated[str | None, doc("The folder to start in, inside the allowed folders.")] = None
    env: Annotated[dict[str, str | int | float | bool] | None, doc("Environment variables to add.")] = None
    stdin: Annotated[str | None, doc("Text to send to the program's standard input.")] = None


TOOL = define("shell", __doc__, Command, returns="`{exit_code, stdout, stderr}`", example=EXAMPLE)
