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
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, error, ok
from noetl.ports.tool import Count, Input, Seconds, define, doc, read_knobs
from noetl.tools.parts.http_request import text_of
from noetl.tools.parts.paths import inside

if TYPE_CHECKING:
    from asyncio import Event, SubprocessTransport

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


DRAIN_S = 1.0


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

    max_output_bytes: Annotated[Count, doc("How much of each output is kept.")] = 1024**2
    grace: Annotated[Seconds, doc("Seconds between asking the program to stop and killing it.")] = 2.0


class Printed:
    """One output of a program: kept up to a limit, the rest counted."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Take one piece."""
        room = max(self.limit - len(self.kept), 0)
        self.kept += data[:room]
        self.dropped += max(len(data) - room, 0)

    @property
    def text(self) -> str:
        """What was kept, as text that a JSON value can hold."""
        text = self.kept.decode(errors="replace").replace("\0", "\ufffd")
        return f"{text}\n[{self.dropped} more bytes]" if self.dropped else text


class Program:
    """A running program, told by the event loop what it prints and when it ends.

    Its end and the end of its outputs are two things: a child it left behind may hold an output open.
    """

    def __init__(self, limit: int) -> None:
        import asyncio

        self.printed = {1: Printed(limit), 2: Printed(limit)}
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._open = set(self.printed)

    def connection_made(self, transport: "SubprocessTransport") -> None:
        """It has started."""
        self.transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It has printed something."""
        self.printed[fd].add(data)

    def pipe_connection_lost(self, fd: int, problem: Exception | None) -> None:
        """It has closed an output, or does not read its input, which is its right."""
        self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        """It has ended."""
        self.exited.set()

    def connection_lost(self, problem: Exception | None) -> None:
        """Nothing more will come."""
        self.drained.set()

    def pause_writing(self) -> None:
        """The input is written whole: there is nothing to pause."""

    def resume_writing(self) -> None:
        """See pause_writing."""

    def feed(self, data: bytes) -> None:
        """Give it its whole input."""
        pipe: Any = self.transport.get_pipe_transport(0)
        pipe.write(data)
        pipe.write_eof()

    def signal(self, number: signal.Signals) -> None:
        """Tell the whole process group."""
        try:
            os.killpg(self.transport.get_pid(), number)
        except ProcessLookupError:
            return

    async def ended(self, grace_s: float) -> None:
        """Wait for its end; cancelled, ask it to stop and then kill it. Whatever it left running ends too."""
        import asyncio

        try:
            await self.exited.wait()
        except asyncio.CancelledError:
            self.signal(signal.SIGTERM)
            await _within(grace_s, self.exited)
            raise
        finally:
            self.signal(signal.SIGKILL)
            await self.exited.wait()
            await _within(DRAIN_S, self.drained)
            self.transport.close()


async def _within(seconds: float, event: "Event") -> None:
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def run(command: Command, call: Call) -> Envelope:
    """Start the program, feed it, and answer with what it printed and how it ended."""
    knobs: Knobs = read_knobs(Knobs, call)
    program = await _started(command, call, knobs)
    if command.stdin is not None:
        program.feed(command.stdin.encode())
    await program.ended(knobs.grace)
    exit_code = program.transport.get_returncode() or 0
    stdout, stderr = program.printed[1].text, program.printed[2].text
    data = {"exit_code": exit_code, "stdout": stdout, "stderr": stderr}
    if exit_code == 0:
        return ok(data)
    return error("shell", _failure(exit_code, stderr), code=str(exit_code), data=data)


async def _started(command: Command, call: Call, knobs: Knobs) -> Program:
    """The program, started whole: cancelled half-way, it would be out of our hands."""
    import asyncio

    start = asyncio.ensure_future(_start(command, call, knobs.max_output_bytes))
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        await asyncio.wait([start])
        if start.exception() is None:
            start.result().signal(signal.SIGKILL)
            await start.result().ended(knobs.grace)
        raise


async def _start(command: Command, call: Call, limit: int) -> Program:
    import asyncio
    from subprocess import DEVNULL, PIPE

    text = command.command
    argv = ["/bin/sh", "-c", text] if isinstance(text, str) else [str(item) for item in text]
    if not argv or "\0" in "".join(argv):
        raise Failed("input", "the command is empty or contains a NUL character")
    make: Any = partial(Program, limit)
    try:
        _, program = await asyncio.get_running_loop().subprocess_exec(
            make,
            *argv,
            cwd=inside(call, command.cwd or "."),
            env=_environment(command, call),
            stdin=DEVNULL if command.stdin is None else PIPE,
            start_new_session=True,  # its own process group, so that all of it can be stopped
        )
    except FileNotFoundError as problem:
        raise Failed("not_found", f"there is no program or folder {problem.filename!r}") from None
    except OSError as problem:
        raise Failed("shell", f"{argv[0]!r} cannot be started: {problem.strerror}") from None
    started: Program = program
    return started


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


def _failure(exit_code: int, stderr: str) -> str:
    ended = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    last = stderr.strip().splitlines()[-1:]
    return f"the program {ended}: {last[0][:500]}" if last else f"the program {ended}"


TOOL = define(
    "shell", __doc__, Command, run, knobs=Knobs, returns="`{exit_code, stdout, stderr}`", example=EXAMPLE
)
