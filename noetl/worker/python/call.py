"""The data of a call to an isolated process: what it asks, what it is held to, what it printed, how it ended.

No processes and no event loop here: those are process.py and host.py.
"""

import asyncio
import mmap
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from noetl.ports.call import Limits, Raised, Ran
from noetl.worker.python.child import CALLS_KEPT, HEADER_BYTES, NUMBERS_BYTES, PAGE_BYTES, READING, TAKEN

PIPE_BYTES = 1 << 16  # what the system keeps in a pipe: one read empties it
PROGRAMS_MAX = 256
UNKNOWN_S = 1e6


class CallBounds(NamedTuple):
    """What one call is held to; memory only if it is less than the process may use."""

    memory_bytes: int | None
    cpu_s: float | None


OnOutput = Callable[[bytes], None]


def ignore(_: bytes) -> None:
    """Nobody's words."""
    return


@dataclass(frozen=True, slots=True)
class Launch:
    """How processes are started, and what every one of them is held to."""

    python: str
    folder: str
    environment: Mapping[str, str]
    memory_bytes: int
    cpu_s: float | None
    result_bytes: int
    open_files: int
    grace_s: float

    def limits(self, asked: Limits | None) -> CallBounds:
        """What a call is held to: the host's bounds, or narrower ones."""
        asked = asked or Limits()
        cpu_s = min((s for s in (asked.cpu_s, self.cpu_s) if s is not None), default=None)
        return CallBounds(asked.memory_bytes, cpu_s)


Code = tuple[str, str | None, str | None]  # its text, the file it came from, what tracebacks call it


@dataclass(slots=True, eq=False)
class Request:
    """A call on its way: what to run, and where its ending goes."""

    code: Code
    variables: bytes  # a JSON mapping
    timeout_s: float | None
    bounds: CallBounds
    since: float  # when it was made
    done: asyncio.Future[Ran]
    on_output: OnOutput


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """What the process says about a call; number 0 is its first word, that it is ready."""

    number: int
    ended: Literal["ok", "raised", "value", "memory", "stopped", "skipped"]
    fit: bool
    took_us: int
    out_bytes: int  # that the call has printed; -1 where the process cannot tell
    err_bytes: int  # of a pipe of its own, which there is none of here
    type: str
    message: str
    traceback: str
    value: Any = None


class Programs:
    """The pieces of code that one process knows, so that each travels once."""

    def __init__(self) -> None:
        self._ids: dict[Code, int] = {}

    def frame(self, number: int, request: Request) -> bytearray:
        """The request as the process reads it: its size, then JSON."""
        key, bounds = request.code, request.bounds
        program_id, new = self._ids.get(key), None
        if program_id is None:
            if len(self._ids) == PROGRAMS_MAX:
                self._ids.clear()  # number 0 tells the process to forget them as well
            program_id, new = self._ids.setdefault(key, len(self._ids)), key
        frame = bytearray(HEADER_BYTES)
        body = (number, program_id, new, bounds.memory_bytes, bounds.cpu_s, msgspec.Raw(request.variables))
        _requests.encode_into(body, frame, HEADER_BYTES)
        frame[:HEADER_BYTES] = (len(frame) - HEADER_BYTES).to_bytes(HEADER_BYTES, "little")
        return frame


_requests = msgspec.json.Encoder()
_answers = msgspec.json.Decoder(Answer)


def read_answer(body: bytes) -> Answer | None:
    """The answer in a frame; None if it is none."""
    try:
        return _answers.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


class Paces:
    """How long pieces of code take, by what they took before: longer at once, shorter by and by."""

    def __init__(self) -> None:
        self._seconds: dict[Code, float] = {}

    def learn(self, request: Request, seconds: float) -> None:
        """A call took so long."""
        before = self._seconds.get(request.code, 0.0)
        if not before and len(self._seconds) == PROGRAMS_MAX:
            self._seconds.clear()
        self._seconds[request.code] = before + (seconds - before) / 8 if seconds < before else seconds

    def of(self, request: Request) -> float:
        """How long a call may be expected to take; very long when nothing is known."""
        return self._seconds.get(request.code, UNKNOWN_S)


class Page:
    """Memory that a process reads and its host writes (see child.py), where the system has such a thing."""

    def __init__(self) -> None:
        self.fd: int | None = None
        self.numbers: memoryview | None = None
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("noetl-python")
            os.ftruncate(self.fd, PAGE_BYTES)
            self._memory = mmap.mmap(self.fd, PAGE_BYTES)
            self.numbers = memoryview(self._memory)[:NUMBERS_BYTES].cast("Q")

    def take_back(self, number: int, *, is_taken: bool = True) -> None:
        """Have the process not begin a call, or forget that once it has heard it."""
        self._memory[NUMBERS_BYTES + number % CALLS_KEPT] = is_taken

    def take(self, fd: int) -> bytes:
        """Read what was printed, and let the process know how much that was."""
        if self.numbers is None:
            return os.read(fd, PIPE_BYTES)
        self.numbers[READING] += 1
        try:
            data = os.read(fd, PIPE_BYTES)
            self.numbers[TAKEN] += len(data)
        finally:
            self.numbers[READING] += 1
        return data

    def hand_over(self) -> None:
        """The process has the descriptor: here the mapping is enough."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def close(self) -> None:
        """Let go of the memory."""
        self.hand_over()
        if self.numbers is not None:
            self.numbers.release()
            self._memory.close()
            self.numbers = None


class Printed:
    """What a process writes: each byte goes to the call that wrote it, as soon as that is known."""

    def __init__(self, fd: int, page: Page) -> None:
        os.set_blocking(fd, False)
        self.fd, self._page = fd, page
        self.on_output: OnOutput = ignore
        self._count = 0  # bytes that the call that runs has been given
        self._recent = b""  # what was read last: the call may have ended before the end of it

    def read(self) -> bool:
        """Take some of what there is; whether there may be more later. No call has ended since the last."""
        self.hand_on()
        try:
            self._recent = self._page.take(self.fd)
        except BlockingIOError:
            return True
        return bool(self._recent)

    def hand_on(self) -> None:
        """What was read is of the call that runs."""
        if self._recent:
            data, self._recent = self._recent, b""
            self._count += len(data)
            self.on_output(data)

    def end(self, size: int) -> None:
        """A call has ended that wrote so many bytes, or all there is if that is not known (-1)."""
        while size < 0 or self._count + len(self._recent) < size:
            if not self.read() or not self._recent:
                break
        rest = len(self._recent) if size < 0 else max(size - self._count, 0)
        later, self._recent = self._recent[rest:], self._recent[:rest]
        self.hand_on()
        self._recent, self._count, self.on_output = later, 0, ignore


def ending(answer: Answer, memory_bytes: int) -> Ran:
    """How a call ended, by the word of its process."""
    if answer.ended == "ok":
        return Ran("ok", answer.value)
    if answer.ended == "value":
        return Ran("value", message=answer.message)
    raised = Raised(answer.type, answer.message, answer.traceback)
    if answer.ended == "memory":
        message = f"the code needed more memory than the {memory_bytes} bytes it may use"
        return Ran("memory", raised=raised, message=message)
    return Ran("raised", raised=raised)


def death(exit_code: int, cpu_s: float | None) -> Ran:
    """How a call ended whose process ended without a word."""
    if exit_code == -signal.SIGXCPU:
        return Ran(
            "timeout", message=f"the code used up its {cpu_s or 0:g} s of CPU time", exit_code=exit_code
        )
    if exit_code >= 0:
        return Ran(
            "crashed", message=f"the code ended its process with exit code {exit_code}", exit_code=exit_code
        )
    name = signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"signal {-exit_code}"
    hint = "; the machine may be out of memory" if exit_code == -signal.SIGKILL else ""
    return Ran("crashed", message=f"the process of the code was ended by {name}{hint}", exit_code=exit_code)
