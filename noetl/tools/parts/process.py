"""Programs that a task starts: their output bounded, their end certain, with everything they started.

A program leads a process group of its own. The group ends with its task, when the task is cancelled, and with
the worker, however that ends: see Lifeline.
"""

import fcntl
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.ports.call import Call
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from asyncio import Event, SubprocessTransport

DRAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program starts: its folder, its whole environment, and whether it is given input."""

    folder: str
    environment: Mapping[str, str]
    reads: bool = True


def clean_environment(call: Call) -> dict[str, str]:
    """What every program sees; nothing of the worker's own environment but what the call carries."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **call.env}


class Printed:
    """One output of a program: kept up to a limit, the rest counted."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.buffer = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = max(self.limit - len(self.buffer), 0)
        self.buffer += data[:room]
        self.dropped += max(len(data) - room, 0)

    @property
    def size(self) -> int:
        """How many bytes there were."""
        return len(self.buffer) + self.dropped

    @property
    def text(self) -> str:
        """What was kept, as text that a JSON value can hold."""
        text = self.buffer.decode(errors="replace").replace("\0", "\ufffd")
        return f"{text}\n[{self.dropped} more bytes]" if self.dropped else text


class Lifeline:
    """A pipe to a program's group: when the worker's end of it closes, the kernel kills the group.

    The program inherits the other end and hands it on to what it starts. Where a kernel cannot do that, or
    when everything has closed it, the next worker on the machine ends what is left.
    """

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()

    def tie(self, group: int) -> None:
        """From now on the end of this process is the end of a process group."""
        with suppress(ProcessLookupError):  # the group has ended already
            if hasattr(fcntl, "F_SETSIG"):
                fcntl.fcntl(self.theirs, fcntl.F_SETOWN, -group)
                fcntl.fcntl(self.theirs, fcntl.F_SETSIG, signal.SIGKILL)
                fcntl.fcntl(self.theirs, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)

    def cut(self) -> None:
        os.close(self._ours)


class Program:
    """A running program, told by the event loop what it prints and when it ends.

    Its end and the end of its outputs are two things: a child it left behind may hold an output open.
    """

    def __init__(self, limit: int, on_output: Callable[[bytes, int], None] | None = None) -> None:
        import asyncio

        self._on_output = on_output
        self.printed = {1: Printed(limit), 2: Printed(limit)}
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._open = set(self.printed)
        self.lifeline: Lifeline | None = None

    def connection_made(self, transport: "SubprocessTransport") -> None:
        self.transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.printed[fd].add(data)
        if self._on_output is not None:
            self._on_output(data, fd)

    def pipe_connection_lost(self, fd: int, problem: Exception | None) -> None:
        """It has closed an output, or does not read its input, which is its right."""
        self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, problem: Exception | None) -> None:
        self.drained.set()

    def pause_writing(self) -> None:
        """Input is small and kept in memory anyway: there is nothing to pause."""

    def resume_writing(self) -> None:
        """Nothing was paused."""

    def feed(self, data: bytes, *, end: bool = False) -> None:
        """Give it input; with `end`, it gets no more."""
        pipe: Any = self.transport.get_pipe_transport(0)
        pipe.write(data)
        if end:
            pipe.write_eof()

    def signal(self, number: signal.Signals) -> None:
        """Tell the whole process group."""
        try:
            os.killpg(self.transport.get_pid(), number)
        except ProcessLookupError:
            return

    async def stop(self, grace_s: float) -> None:
        """Ask it to stop, then kill it."""
        self.signal(signal.SIGTERM)
        await _within(grace_s, self.exited)
        self.signal(signal.SIGKILL)
        await self.ended(grace_s)

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
            if self.lifeline is not None:
                self.lifeline.cut()
                self.lifeline = None


async def _within(seconds: float, event: "Event") -> None:
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


P = TypeVar("P", bound=Program)


async def start(argv: list[str], place: Place, program: P) -> P:
    """Start a program whole: cancelled half-way, it would be out of our hands."""
    import asyncio

    if not argv or "\0" in "".join(argv):
        raise Failed("input", "the command is empty or contains a NUL character")
    starting = asyncio.ensure_future(_start(argv, place, program))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        if starting.exception() is None:
            program.signal(signal.SIGKILL)
            await program.ended(DRAIN_S)
        raise
    return program


async def _start(argv: list[str], place: Place, program: Program) -> None:
    import asyncio
    from subprocess import DEVNULL, PIPE

    protocol: Any = program
    lifeline = Lifeline()
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *argv,
            cwd=place.folder,
            env=dict(place.environment),
            stdin=PIPE if place.reads else DEVNULL,
            start_new_session=True,  # its own process group, so that all of it can be stopped
            pass_fds=(lifeline.theirs,),
        )
    except OSError as problem:
        raise _start_failure(problem, argv, place) from None
    else:
        lifeline.tie(program.transport.get_pid())
        program.lifeline = lifeline
    finally:
        os.close(lifeline.theirs)
        if program.lifeline is None:
            lifeline.cut()


def _start_failure(problem: OSError, argv: list[str], place: Place) -> Failed:
    """Why a program did not start, as the failure of a call."""
    if isinstance(problem, FileNotFoundError):
        # Not every event loop says which of the two is not there.
        missing = str(problem.filename or (argv[0] if os.path.isdir(place.folder) else place.folder))
        return Failed("not_found", f"there is no program or folder {missing!r}")
    return Failed("shell", f"{argv[0]!r} cannot be started: {problem.strerror}")
