"""Runs a program, or a command line through `/bin/sh`.

A list is a program and its arguments, passed as they are: nothing in them can be read as shell syntax. A
text is a shell command line; never build one out of data that you do not control. The program starts in the
work folder with a small, clean environment (`PATH`, `HOME`, `LANG`), the entries of `env`, and
`NOETL_EXECUTION_ID`, `NOETL_STEP`, `NOETL_TASK`, `NOETL_ATTEMPT` and `NOETL_IDEMPOTENCY_KEY`.

A non-zero exit is an error of kind `shell` whose `code` is the exit code; `data` still holds what was
printed. Each of the two outputs is kept up to `spec.max_output_bytes` (1 MiB); what goes beyond is
counted and dropped. When the task is cancelled or times out, the program and everything it started are
stopped: asked first, then killed.
"""

import os
import signal
from typing import TYPE_CHECKING, Annotated

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, error, ok
from noetl.ports.tool import Input, define, doc, read_knobs
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.paths import inside

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from asyncio.subprocess import Process

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
    """What stands under the task's `spec`."""

    max_output_bytes: Annotated[int, doc("How much of each output is kept.")] = 1024**2
    grace: Annotated[float, doc("Seconds between asking the program to stop and killing it.")] = 2.0


async def run(command: Command, call: Call) -> Envelope:
    """Start the program, feed it, and answer with what it printed and how it ended."""
    import asyncio

    knobs: Knobs = read_knobs(Knobs, call)
    process = await _start(command, call)
    try:
        output = await _talk(process, command.stdin, knobs.max_output_bytes)
    except asyncio.CancelledError:
        await _stop(process, knobs.grace)
        raise
    data = {"exit_code": process.returncode, "stdout": output[0], "stderr": output[1]}
    if process.returncode == 0:
        return ok(data)
    return error(
        "shell", _failure(process.returncode or 0, output[1]), code=str(process.returncode), data=data
    )


async def _start(command: Command, call: Call) -> "Process":
    import asyncio

    text = command.command
    argv = ["/bin/sh", "-c", text] if isinstance(text, str) else [str(item) for item in text]
    if not argv or "\0" in "".join(argv):
        raise Failed("input", "the command is empty or contains a NUL character")
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            cwd=inside(call, command.cwd or "."),
            env=_environment(command, call),
            stdin=asyncio.subprocess.DEVNULL if command.stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # its own process group, so that all of it can be stopped
        )
    except FileNotFoundError as problem:
        raise Failed("not_found", f"there is no program or folder {problem.filename!r}") from None
    except OSError as problem:
        raise Failed("shell", f"{argv[0]!r} cannot be started: {problem.strerror}") from None


def _environment(command: Command, call: Call) -> dict[str, str]:
    facts = {
        "NOETL_EXECUTION_ID": call.execution_id,
        "NOETL_STEP": call.step,
        "NOETL_TASK": call.task,
        "NOETL_ATTEMPT": str(call.attempt),
        "NOETL_IDEMPOTENCY_KEY": call.idempotency_key,
    }
    own = {name: text_of(value) for name, value in (command.env or {}).items()}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **call.env, **facts, **own}


async def _talk(process: "Process", stdin: str | None, limit: int) -> tuple[str, str]:
    """Feed and read at once; when the program has ended, whatever it left running ends too."""
    import asyncio

    assert process.stdout is not None
    assert process.stderr is not None
    readers = asyncio.gather(_read(process.stdout, limit), _read(process.stderr, limit))
    try:
        if process.stdin is not None:
            await _feed(process.stdin, (stdin or "").encode())
        await process.wait()
        _signal(process, signal.SIGKILL)
        return await readers
    finally:
        readers.cancel()


async def _feed(stdin: "StreamWriter", data: bytes) -> None:
    try:
        stdin.write(data)
        await stdin.drain()
        stdin.close()
    except ConnectionError:
        return  # the program does not read, which is its right


async def _read(stream: "StreamReader", limit: int) -> str:
    """What was printed, up to a limit; the rest is counted."""
    kept = bytearray()
    dropped = 0
    while chunk := await stream.read(64 * 1024):
        room = max(limit - len(kept), 0)
        kept += chunk[:room]
        dropped += max(len(chunk) - room, 0)
    text = kept.decode(errors="replace").replace("\0", "\ufffd")
    return f"{text}\n[{dropped} more bytes]" if dropped else text


async def _stop(process: "Process", grace_s: float) -> None:
    import asyncio

    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(grace_s):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: "Process", number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _failure(exit_code: int, stderr: str) -> str:
    ended = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    last = stderr.strip().splitlines()[-1:]
    return f"the program {ended}: {last[0][:500]}" if last else f"the program {ended}"


TOOL = define(
    "shell", __doc__, Command, run, knobs=Knobs, returns="`{exit_code, stdout, stderr}`", example=EXAMPLE
)
