"""The data of a call to an isolated process: what it asks, what it is held to, what it printed, how it ended.

No processes and no event loop here: those are process.py and host.py.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from noetl.ports.call import Limits, Raised, Ran
from noetl.worker.python.child import HEADER_BYTES

PIPE_BYTES = 1 << 16  # what the system keeps in a pipe: one read empties it
PROGRAMS_MAX = 256


class CallBounds(NamedTuple):
    """What one call is held to; memory only if it is less than the process may use."""

    memory_bytes: int | None
    cpu_s: float | None
    output_bytes: int  # kept of each stream


@dataclass(frozen=True, slots=True)
class Launch:
    """How processes are started, and what every one of them is held to."""

    python: str
    folder: str
    environment: Mapping[str, str]
    memory_bytes: int
    cpu_s: float | None
    output_bytes: int
    result_bytes: int
    open_files: int
    grace_s: float

    def limits(self, asked: Limits | None) -> CallBounds:
        """What a call is held to: the host's bounds, or narrower ones."""
        if asked is None:
            return CallBounds(None, self.cpu_s, self.output_bytes)
        cpu_s = min((s for s in (asked.cpu_s, self.cpu_s) if s is not None), default=None)
        output_bytes = self.output_bytes if asked.output_bytes is None else asked.output_bytes
        return CallBounds(asked.memory_bytes, cpu_s, min(output_bytes, self.output_bytes))


@dataclass(slots=True, eq=False)
class Request:
    """A call on its way: what to run, and where its ending goes."""

    code: str
    script: str | None
    name: str | None
    variables: bytes  # a JSON mapping
    timeout_s: float | None
    limits: Limits | None
    since: float  # when it was made, on the loop's clock
    done: asyncio.Future[Ran]


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """What the process says about a call; number 0 is its first word, that it is ready."""

    number: int
    ended: Literal["ok", "raised", "value", "memory", "stopped"]
    fit: bool
    type: str
    message: str
    traceback: str
    value: Any = None


class Programs:
    """The pieces of code that one process knows, so that each travels once."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str | None, str | None], int] = {}

    def frame(self, number: int, request: Request, bounds: CallBounds) -> bytearray:
        """The request as the process reads it: its size, then JSON."""
        key = (request.code, request.script, request.name)
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


def read_answer(body: memoryview) -> Answer | None:
    """The answer in a frame; None if it is none."""
    try:
        return _answers.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


class Printed:
    """What a call wrote to one stream: the beginning and the end of it, where all of it would be too much."""

    def __init__(self, fd: int, bytes_max: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.bytes_max = bytes_max
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def read(self) -> bool:
        """Take what there is; whether there may be more later."""
        try:
            while data := os.read(self.fd, PIPE_BYTES):
                self._add(data)
                if len(data) < PIPE_BYTES:
                    return True
        except BlockingIOError:
            return True
        return False

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        half = self.bytes_max // 2
        room = half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: max(len(self._tail) - half, 0)]

    def take(self) -> str:
        """The text of the call; the next one starts with none."""
        if not self._size:
            return ""
        left_out = self._size - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        text = (self._head + middle + self._tail).decode("utf-8", "replace").replace("\0", "\ufffd")
        self._head.clear()
        self._tail.clear()
        self._size = 0
        return text


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
