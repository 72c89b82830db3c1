"""Runs Python code in a process of its own.

The code either assigns `result`, or defines `main(...)`, whose return value is the result. Every key of
`input` beyond `code`, `script` and `timeout` is a variable of the code, or a keyword argument of `main` if
it takes one of that name. Code is never a template: hand values in as variables.

The process has its own memory and time bounds, a clean environment and no part in the engine: code that
exits, crashes, eats memory or never returns fails its own task only. What it prints is the task's log, line
by line while it runs; lines of Python's `logging` keep their level. The result may hold anything that has a
JSON form; dates, decimals, UUIDs, bytes, tuples and sets are converted, everything else is error kind
`value`.

An exception is error kind `python`; `error.details.traceback` shows the lines of your code, called by step
and task or by the script's name.
"""

from typing import Annotated

from noetl.json_value import Json
from noetl.ports.call import PYTHON_HOST, Call, Limits, Ran, no_python_host
from noetl.ports.envelope import Envelope, Failed, error, ok
from noetl.ports.tool import Count, Input, Seconds, Size, define, doc, read_knobs
from noetl.tools.parts.paths import inside

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: python, path: tools/python}
workload: {numbers: [1, 2, 3]}
workflow:
  - step: start
    tool:
      kind: python
      input:
        numbers: "{{ workload.numbers }}"
        code: |
          def main(numbers):
              return {"sum": sum(numbers), "largest": max(numbers)}
"""


class Code(Input):
    """What is run; the variables stand beside these keys."""

    code: Annotated[str | None, doc("Python source that assigns `result` or defines `main(...)`.")] = None
    script: Annotated[str | None, doc("A file with such source, inside the allowed folders.")] = None
    timeout: Annotated[Seconds | None, doc("Seconds after which the process is killed.")] = None


class Knobs(Input):
    memory_bytes: Annotated[Size | None, doc("The memory the code may use.")] = None
    cpu_s: Annotated[Seconds | None, doc("The processor time it may use.")] = None
    max_output_bytes: Annotated[Count | None, doc("How much of what it prints is kept.")] = None


async def run(code_and_input: tuple[Code, dict[str, Json]], call: Call) -> Envelope:
    """Have the host run the code, and shape how it ended."""
    code, variables = code_and_input
    knobs: Knobs = read_knobs(Knobs, call)
    host = call.resource(PYTHON_HOST, no_python_host)
    text, script = (code.code or "", None) if code.script is None else await _script(code.script, call)
    name = code.script or _place(call)
    call.output.keep = knobs.max_output_bytes
    ran = await host.run(
        text,
        variables,
        script=script,
        name=name,
        timeout_s=code.timeout,
        limits=_limits(knobs),
        on_output=call.output.write,
    )
    return _answer(ran, code)


def _limits(knobs: Knobs) -> Limits | None:
    if knobs.memory_bytes is knobs.cpu_s is None:
        return None
    return Limits(knobs.memory_bytes, knobs.cpu_s)


def _place(call: Call) -> str:
    """Where the author wrote the code, as its tracebacks name it; a step's only task has no name to show."""
    return call.step if call.task == f"{call.step}_task" else f"{call.step}/{call.task}"


async def _script(name: str, call: Call) -> tuple[str, str]:
    import asyncio

    path = inside(call, name)
    try:
        return await asyncio.to_thread(_text, path), path
    except OSError as problem:
        raise Failed("not_found", f"the script {name!r} cannot be read: {problem.strerror}") from None


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _answer(ran: Ran, code: Code) -> Envelope:
    match ran.ended:
        case "ok":
            return ok(ran.value)
        case "raised" if ran.raised is not None:
            raised = ran.raised
            py = {"exception_type": raised.type, "traceback": raised.traceback}
            reason = f"{raised.type}: {raised.message}".rstrip(": ")
            return error("python", reason, code=raised.type, answered=True, details=_where(ran), py=py)
        case "timeout":
            after = f" after {code.timeout:g} s" if code.timeout else ""
            return error("timeout", f"the code was still running{after} and was killed", retryable=True)
        case "memory":
            reason = ran.message or "the code used more memory than it may"
            return error("limit", reason, code="memory", details=_where(ran))
        case "value":
            return error("value", ran.message, answered=True)
        case _:
            ended = "" if ran.exit_code is None else f" with exit code {ran.exit_code}"
            message = ran.message or f"the process that ran the code ended{ended}"
            return error("crashed", message, code=None if ran.exit_code is None else str(ran.exit_code))


def _where(ran: Ran) -> dict[str, Json]:
    return {} if ran.raised is None else {"traceback": ran.raised.traceback}


TOOL = define(
    "python",
    __doc__,
    Code,
    run,
    knobs=Knobs,
    returns="the value of `result`, or what `main` returns",
    open_input=True,
    one_of=(("code", "script"),),
    helper="py",
    untemplated=("code",),
    example=EXAMPLE,
)
