"""Runs a program, or a command line through `/bin/sh`.

A list is a program and its arguments, passed as they are: nothing in them can be read as shell syntax. A
text is a shell command line; never build one out of data that you do not control. The program starts in the
work folder with a small, clean environment (`PATH`, `HOME`, `LANG`), the entries of `env`, and
`NOETL_EXECUTION_ID`, `NOETL_STEP`, `NOETL_TASK`, `NOETL_ATTEMPT` and `NOETL_IDEMPOTENCY_KEY`. What it
leaves running ends with it, with its task, and with the worker, however that ends.

A non-zero exit is an error of kind `shell` whose `code` is the exit code; `data` still holds what was
printed, `error.details.stderr` the end of the error output. Each of the two outputs is kept up to
`spec.max_output_bytes` (1 MiB); what goes beyond is counted and dropped. The lines of both are the task's
log, in the order they arrive, while the program runs. When the task is cancelled or times
out, the program and everything it started are stopped: asked first, then killed.
"""

from typing import Annotated

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, error, ok
from noetl.ports.tool import Count, Input, Seconds, define, doc, read_knobs
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.paths import inside
from noetl.tools.parts.process import Place, Program, clean_environment, start

STDERR_CHARS = 8_000  # more than is shown: secrets are taken out before it is cut

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


class Knobs(Input):
    max_output_bytes: Annotated[Count, doc("How much of each output is kept.")] = 1024**2
    grace: Annotated[Seconds, doc("Seconds between asking the program to stop and killing it.")] = 2.0


async def run(command: Command, call: Call) -> Envelope:
    """Start the program, feed it, and answer with what it printed and how it ended."""
    knobs: Knobs = read_knobs(Knobs, call)
    program = await start(
        _argv(command), _place(command, call), Program(knobs.max_output_bytes, call.output.write)
    )
    if command.stdin is not None:
        program.feed(command.stdin.encode(), end=True)
    await program.ended(knobs.grace)
    exit_code = program.transport.get_returncode() or 0
    stdout, stderr = program.printed[1].text, program.printed[2].text
    data = {"exit_code": exit_code, "stdout": stdout, "stderr": stderr}
    if exit_code == 0:
        return ok(data)
    details = {"stderr": stderr[-STDERR_CHARS:]} if stderr.strip() else {}
    message, code = _failure(exit_code, stderr), str(exit_code)
    return error("shell", message, code=code, answered=exit_code > 0, details=details, data=data)


def _argv(command: Command) -> list[str]:
    text = command.command
    return ["/bin/sh", "-c", text] if isinstance(text, str) else [str(item) for item in text]


def _place(command: Command, call: Call) -> Place:
    folder = inside(call, command.cwd or ".")
    return Place(folder, _environment(command, call), reads=command.stdin is not None)


def _environment(command: Command, call: Call) -> dict[str, str]:
    facts = {
        "NOETL_EXECUTION_ID": call.execution_id,
        "NOETL_STEP": call.step,
        "NOETL_TASK": call.task,
        "NOETL_ATTEMPT": str(call.attempt),
        "NOETL_IDEMPOTENCY_KEY": call.idempotency_key,
    }
    own = {name: text_of(value) for name, value in (command.env or {}).items()}
    return {**clean_environment(call), **facts, **own}


def _failure(exit_code: int, stderr: str) -> str:
    ended = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    last = stderr.strip().splitlines()[-1:]
    return f"the program {ended}: {last[0][:500]}" if last else f"the program {ended}"


TOOL = define(
    "shell", __doc__, Command, run, knobs=Knobs, returns="`{exit_code, stdout, stderr}`", example=EXAMPLE
)
