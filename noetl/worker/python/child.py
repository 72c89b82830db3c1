"""What runs inside an isolated python process: takes a call, runs the author's code, answers, takes the next.

Loaded by name in a fresh interpreter, so it imports little, and from the standard library only.

Calls may stand in the connection before their turn. The host takes back those that were not begun by saying
so in the page it shares with this process; they are answered as skipped.

Every call has a new namespace. After a call the folder, environment, import path, streams, limits and timers
are put back. Imported modules stay, with the state they hold, except those found beside a script. A process
that is left with threads, children, broken streams or little memory says so, and its host replaces it.
"""

from __future__ import annotations  # so that `typing` is not imported: a quarter of the start

import _thread
import fcntl
import json
import math
import mmap
import os
import resource
import signal
import sys
import termios
import time

from noetl.worker.python import log_levels
from noetl.worker.python.program import (
    FILE,
    MESSAGE_CHARS_MAX,
    Problem,
    Program,
    Stop,
    Unfit,
    clean,
    describe,
    encode,
    execute,
    to_json_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

HEADER_BYTES = 4
CHUNK_BYTES = 1 << 16  # larger blocks are mapped and unmapped each time
MEMORY_RESERVE_BYTES = 64 << 20  # room to report that the memory is used up
OUT_OF_THE_WAY = 200  # descriptors from here on
EXIT_BROKEN = 113  # says to the host that the code broke their connection
NULL = b"null"
NO_PROBLEM: Problem = ("", "", "")
# The page shared with the host, which it alone writes. Numbers: whether it reads what was printed (odd), how
# much it has read of each output. After them a byte for each of the last calls: whether it was taken back.
PAGE_BYTES, NUMBERS_BYTES = 8192, 4096
READING, TAKEN = 0, 1
CALLS_KEPT = PAGE_BYTES - NUMBERS_BYTES


class Child:
    """The process: its connection, its programs, and what it puts back after a call."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.connection = _out_of_the_way(setup["connection"])
        self.memory_bytes: int = setup["memory_bytes"]
        self.result_bytes: int = setup["result_bytes"]
        self.programs: dict[int, Program] = {}
        self.received = bytearray()
        self.page, self.taken_back = _map_page(setup["page"])
        self.running = False
        self.is_copy = False
        self.is_limited = False
        self.folder = os.getcwd()
        sys.path.extend(path for path in setup["path"] if path not in sys.path)
        self.path = list(sys.path)
        self.environ = os.environ
        self.variables: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]  # quick to compare
        self.environment = dict(self.variables)
        self.streams = _open_streams()
        log_levels.watch()
        self.outputs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for fd in (1, 2)]
        self.is_one_pipe = os.path.sameopenfile(1, 2)
        self.memory_use = _open_memory_use()
        _limit(resource.RLIMIT_CORE, 0, 0)
        _limit(resource.RLIMIT_NOFILE, setup["open_files"], setup["open_files"])
        _limit(resource.RLIMIT_AS, self.memory_bytes, self.memory_bytes + MEMORY_RESERVE_BYTES)
        _die_with_host(_out_of_the_way(0))
        os.open(os.devnull, os.O_RDONLY)  # takes the place of standard input
        self.on_stop = self._on_stop
        signal.signal(signal.SIGTERM, self.on_stop)
        self.unread = bytearray(4)
        self.printed = self._printed()
        os.register_at_fork(after_in_child=self._become_a_copy)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        if self.running:
            raise Stop("the time of this call is over")

    def _become_a_copy(self) -> None:
        """A fork made by the author's code may finish that code, but never answers for it."""
        self.is_copy = True
        os.close(self.connection)

    def serve(self) -> None:
        """Answer calls until the host closes the connection; end at once if something else has broken it."""
        try:
            self._write(_frame(0, "ok", True, (0, -1, -1), NO_PROBLEM, NULL))
            while (request := self._read()) is not None:
                self._write(self._answer(*json.loads(request)))
        except OSError:
            os._exit(EXIT_BROKEN)
        os.killpg(0, signal.SIGKILL)

    def _read(self) -> bytearray | None:
        """The next request; None when the host is gone. What has come with it waits for its turn."""
        received, end = self.received, HEADER_BYTES
        while True:
            if len(received) >= HEADER_BYTES:
                end = HEADER_BYTES + int.from_bytes(received[:HEADER_BYTES], "little")
                if len(received) >= end:
                    break
            data = os.read(self.connection, CHUNK_BYTES)
            if not data:
                return None
            received += data
        request = received[HEADER_BYTES:end]
        del received[:end]
        return request

    def _write(self, data: bytes) -> None:
        sent = os.write(self.connection, data)
        if sent < len(data):
            rest = memoryview(data)[sent:]
            while rest:
                rest = rest[os.write(self.connection, rest) :]

    def _answer(
        self,
        number: int,
        program_id: int,
        new: list[Any] | None,
        memory_bytes: int | None,
        cpu_s: float | None,
        variables: dict[str, Any],
    ) -> bytes:
        """Run one call and frame what became of it; nothing of the call runs after that."""
        if new is not None:
            self._learn(program_id, *new)
        if self.taken_back[number % CALLS_KEPT]:
            return _frame(number, "skipped", True, (0, 0, 0), NO_PROBLEM, NULL)
        began = time.perf_counter_ns()
        ended, value, problem = self._perform(self.programs[program_id], variables, memory_bytes, cpu_s)
        if self.is_copy:
            self._end_copy()
        if len(value) > self.result_bytes:
            ended, problem = "value", ("", _too_large(len(value), self.result_bytes), "")
            value = NULL
        fit = self._put_back() and ended not in ("memory", "stopped")
        (out, err), took_us = self._newly_printed(), (time.perf_counter_ns() - began) // 1000
        frame = _frame(number, ended, fit, (took_us, out, err), problem, value)
        if not fit:
            self._end_unfit(frame)
        return frame

    def _end_unfit(self, frame: bytes) -> None:
        """Answer, and begin none of the calls that may have come already: another process takes them."""
        self._write(frame)
        while os.read(self.connection, CHUNK_BYTES):
            pass
        os.killpg(0, signal.SIGKILL)

    def _newly_printed(self) -> tuple[int, int]:
        if self.page is None:
            return -1, -1
        before, self.printed = self.printed, self._printed()
        return self.printed[0] - before[0], self.printed[1] - before[1]

    def _printed(self) -> tuple[int, int]:
        """How much was ever written to the outputs: what the host has taken, and what it has yet to take.

        Both are one pipe, mostly: then all of it is of the first.
        """
        page = self.page
        if page is None:
            return 0, 0
        while True:
            moment = page[READING]
            if not moment & 1:
                out = page[TAKEN] + self._unread(self.outputs[0])
                err = 0 if self.is_one_pipe else page[TAKEN + 1] + self._unread(self.outputs[1])
                if page[READING] == moment:
                    return out, err
            os.sched_yield()

    def _unread(self, output: int) -> int:
        fcntl.ioctl(output, termios.FIONREAD, self.unread)
        return int.from_bytes(self.unread, sys.byteorder)

    def _learn(self, program_id: int, text: str, script: str | None, name: str | None) -> None:
        if program_id == 0:  # the host counts from zero again when it has counted enough
            self.programs.clear()
        self.programs[program_id] = Program(text, script, name)

    def _allow(self, memory_bytes: int | None, cpu_s: float | None) -> None:
        """Set the limits of this call, where they are narrower than the host's."""
        self.is_limited = memory_bytes is not None or cpu_s is not None
        if memory_bytes is not None:
            _limit(resource.RLIMIT_AS, min(memory_bytes, self.memory_bytes))
        if cpu_s is not None:
            _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + cpu_s))

    def _perform(
        self, program: Program, variables: dict[str, Any], memory_bytes: int | None, cpu_s: float | None
    ) -> tuple[str, bytes, Problem]:
        module = program.module(variables)
        try:
            self.running = True
            self._allow(memory_bytes, cpu_s)
            return "ok", to_json_text(execute(program, module.__dict__, variables)), NO_PROBLEM
        except Unfit as problem:
            return "value", NULL, ("", clean(str(problem), MESSAGE_CHARS_MAX), "")
        except BaseException as error:  # whatever it is, it is the author's
            self.running = False
            _limit(resource.RLIMIT_AS, self.memory_bytes + MEMORY_RESERVE_BYTES)
            self.is_limited = True
            return _ending(error), NULL, describe(error, program)
        finally:
            self.running = False
            program.unload(module)

    def _end_copy(self) -> None:
        try:
            sys.stdout.flush()
        finally:
            os._exit(0)

    def _put_back(self) -> bool:
        """Undo what the call may have changed; whether the process is fit for another one."""
        try:
            self._put_streams_back()
            os.chdir(self.folder)
            holds_much = self._holds_much_memory()
        except (OSError, ValueError):
            return False
        if self.is_limited:
            _limit(resource.RLIMIT_AS, self.memory_bytes)
            _limit(resource.RLIMIT_CPU, resource.RLIM_INFINITY)
        os.environ = self.environ  # noqa: B003
        if self.variables != self.environment:
            os.environ.clear()
            os.environ.update(
                {os.fsdecode(name): os.fsdecode(text) for name, text in self.environment.items()}
            )
        if sys.path != self.path:
            sys.path[:] = self.path
        signal.setitimer(signal.ITIMER_REAL, 0)
        if signal.getsignal(signal.SIGTERM) is not self.on_stop:
            signal.signal(signal.SIGTERM, self.on_stop)
        return not (holds_much or _thread._count() or _has_children())

    def _put_streams_back(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream not in self.streams and hasattr(stream, "flush"):
                stream.flush()
        if any(stream.closed for stream in self.streams):
            self.streams = _open_streams()
        sys.stdout, sys.stderr = self.streams
        for number, output in enumerate(self.outputs, 1):
            self.streams[number - 1].flush()
            os.dup2(output, number)

    def _holds_much_memory(self) -> bool:
        """Whether the next call would find less than half of the address space it may use."""
        if self.memory_use is None:
            return False
        pages = int(os.pread(self.memory_use, 64, 0).split()[0])
        return pages * resource.getpagesize() > self.memory_bytes // 2


def _open_streams() -> tuple[Any, Any]:
    """Line by line, so that a process that dies has said what it said; closing them leaves 1 and 2 open."""
    options: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "closefd": False}
    sys.stdout = sys.__stdout__ = open(1, "w", buffering=1, **options)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, **options)  # type: ignore[misc]  # noqa: SIM115
    return sys.stdout, sys.stderr


def _open_memory_use() -> int | None:
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return None


def _map_page(fd: int | None) -> tuple[memoryview | None, memoryview]:
    """The page shared with the host: its numbers, none where the system has no such memory, and its bytes."""
    if fd is None:
        return None, memoryview(bytes(CALLS_KEPT))
    mapped = memoryview(mmap.mmap(fd, PAGE_BYTES, mmap.MAP_SHARED, mmap.PROT_READ))
    os.close(fd)
    return mapped[:NUMBERS_BYTES].cast("Q"), mapped[NUMBERS_BYTES:]


def _limit(kind: int, soft: int, hard: int = resource.RLIM_INFINITY) -> None:
    """Set a limit as far as the system's own hard limit allows."""
    hard = _smaller(hard, resource.getrlimit(kind)[1])
    resource.setrlimit(kind, (_smaller(soft, hard), hard))


def _smaller(one: int, other: int) -> int:
    return min((n for n in (one, other) if n != resource.RLIM_INFINITY), default=resource.RLIM_INFINITY)


def _out_of_the_way(fd: int) -> int:
    """The descriptor under a number that code will hardly touch, and that no program inherits."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    os.close(fd)
    return moved


def _die_with_host(lifeline: int) -> None:
    """Have the kernel kill this whole group when the host's end of the lifeline closes, however it ends.

    Where a kernel cannot do that, the process ends at its next read from the connection.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _ending(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "memory"
    return "stopped" if isinstance(error, Stop) else "raised"


def _too_large(size: int, size_max: int) -> str:
    return f"the result is {size} bytes of JSON, at most {size_max}; write it to a file and return its path"


def _frame(
    number: int, ended: str, fit: bool, figures: tuple[int, int, int], problem: Problem, value: bytes
) -> bytes:
    """An answer: what the host needs of every call, the exception if there was one, the value."""
    words = '"","",""' if problem is NO_PROBLEM else encode(problem)[1:-1]
    took_us, out, err = figures
    head = f'[{number},"{ended}",{"true" if fit else "false"},{took_us},{out},{err},{words},'.encode()
    size = (len(head) + len(value) + 1).to_bytes(HEADER_BYTES, "little")
    return b"%b%b%b]" % (size, head, value)


def main() -> None:
    """Take the setup from the command line and serve."""
    setup = json.loads(sys.argv[1])
    sys.argv[:] = [FILE]
    Child(setup).serve()
