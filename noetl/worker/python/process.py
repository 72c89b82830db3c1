"""One isolated process as its host sees it: start it, hand it a call, read its answer, end it and its own.

Callbacks on the event loop, no threads. Which process takes which call is host.py; what happens inside
is child.py. The process leads a session of its own, so that it is killed with everything it forked.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from noetl.ports.call import Raised, Ran
from noetl.worker.python import child
from noetl.worker.python.call import (
    Answer,
    CallBounds,
    Launch,
    Printed,
    Programs,
    Request,
    death,
    ending,
    read_answer,
)
from noetl.worker.python.child import EXIT_BROKEN, HEADER_BYTES

BOOT = f"import sys; sys.path.append(sys.argv.pop()); from {child.__name__} import main; main()"
ROOT = str(Path(__file__).resolve().parents[3])
CHUNK_BYTES = 1 << 16  # larger blocks are mapped and unmapped each time
ENVELOPE_BYTES = 1 << 17  # what an answer may hold beside the result
CLOSED_GRACE_S = 0.1
EXIT_POLL_S = 0.005
STRAY = "the code wrote to the connection to its host, or closed it"


class Process:
    """One process: starting, free, running one call, or on its way out."""

    def __init__(
        self, launch: Launch, on_free: Callable[["Process"], None], on_gone: Callable[["Process"], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.is_ready = False
        self.is_ending = False
        self.request: Request | None = None
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.last_words = ""
        self._launch = launch
        self._on_free = on_free
        self._on_gone = on_gone
        self._programs = Programs()
        self._number = 0  # of the call it runs or ran last
        self._received = bytearray()
        self._unsent = memoryview(b"")
        self._timer: asyncio.TimerHandle | None = None
        self._verdict: Ran | None = None  # how the call ends once the process is dead
        self._is_broken = False
        self._is_killed = False
        self._connection, self._popen = _start(launch)
        self._pipes = [pipe for pipe in (self._popen.stdout, self._popen.stderr) if pipe is not None]
        self._streams = [Printed(pipe.fileno(), launch.output_bytes) for pipe in self._pipes]
        self._exit_fd = _exit_descriptor(self._popen.pid)
        self._watch()

    def _watch(self) -> None:
        if self._exit_fd is not None:
            self._loop.add_reader(self._exit_fd, self._on_exit)
        self._loop.add_reader(self._connection, self._on_readable)
        for stream in self._streams:
            self._loop.add_reader(stream.fd, self._on_printed, stream)

    def _on_printed(self, stream: Printed) -> None:
        if not stream.read():
            self._loop.remove_reader(stream.fd)

    # ---- a call -----------------------------------------------------------------------------------------

    def start(self, request: Request) -> None:
        """Hand over a call; its future gets the ending."""
        self.request = request
        self._number += 1
        bounds = self._bounds()
        for stream in self._streams:
            stream.bytes_max = bounds.output_bytes
        self._unsent = memoryview(self._programs.frame(self._number, request, bounds))
        self._send()
        if self._unsent:
            self._loop.add_writer(self._connection, self._on_writable)
        if request.timeout_s is not None:
            self._after(request.timeout_s, self._on_timeout)

    def _send(self) -> None:
        try:
            sent = self._connection.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:  # the process is about to be gone, and how it went says more
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]

    def _on_writable(self) -> None:
        self._send()
        if not self._unsent:
            self._loop.remove_writer(self._connection)

    def _on_readable(self) -> None:
        try:
            data = self._connection.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._on_closed()
        elif not self._is_broken and not self._receive(data):
            self._break_off()

    def _receive(self, data: bytes) -> bool:
        """Take in a part of an answer; whether it can be one."""
        self._received += data
        size = int.from_bytes(self._received[:HEADER_BYTES], "little")
        missing = HEADER_BYTES + size - len(self._received)
        if missing > 0:
            return size <= self._launch.result_bytes + ENVELOPE_BYTES
        received, self._received = self._received, bytearray()
        answer = read_answer(memoryview(received)[HEADER_BYTES:]) if missing == 0 else None
        return answer is not None and self._take(answer)

    def _take(self, answer: Answer) -> bool:
        """Act on an answer; whether one was due."""
        if answer.number != self._number or (self.is_ready and self.request is None):
            return False
        if not self.is_ready:
            self.is_ready = True
            self._printed()  # what the interpreter says at its start is nobody's
        elif self._verdict is None:
            self._conclude(ending(answer, self._bounds().memory_bytes or self._launch.memory_bytes))
        elif answer.ended == "stopped":
            raised = Raised("TimeoutError", self._verdict.message, answer.traceback)
            self._verdict = replace(self._verdict, raised=raised)
        if self._verdict is None and answer.fit:
            self._on_free(self)
        else:
            self.kill()
        return True

    def _bounds(self) -> CallBounds:
        return self._launch.limits(self.request.limits if self.request else None)

    def _conclude(self, ran: Ran) -> None:
        request, self.request = self.request, None
        self._no_timer()
        stdout, stderr = self._printed()
        if stdout or stderr:
            ran = replace(ran, stdout=stdout, stderr=stderr)
        if request is None:
            self.last_words = stderr
        elif not request.done.done():
            request.done.set_result(ran)

    def _printed(self) -> tuple[str, str]:
        out, err = self._streams
        out.read()
        err.read()
        return out.take(), err.take()

    # ---- the end ----------------------------------------------------------------------------------------

    def stop(self, verdict: Ran) -> None:
        """Ask the code to end, and soon end it; the verdict counts once the process is dead."""
        if self._verdict is None:
            self._verdict = verdict
            self.is_ending = True
            self._signal(signal.SIGTERM)
            self._after(self._launch.grace_s, self.kill)

    def kill(self) -> None:
        """End the process and everything it started, now."""
        self.is_ending = self._is_killed = True
        self._signal(signal.SIGKILL)
        if self._exit_fd is None:
            self._loop.call_soon(self._poll_exit)

    def _signal(self, number: signal.Signals) -> None:
        if self._popen.returncode is None:  # not waited for yet, so the number is still its own
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def _on_timeout(self) -> None:
        timeout_s = self.request.timeout_s if self.request else None
        self.stop(Ran("timeout", message=f"the code did not finish within {timeout_s:g} s"))

    def _on_closed(self) -> None:
        """Mostly the first sign that the process is ending by itself, and then how it ends says more."""
        self._loop.remove_reader(self._connection)
        self._is_broken = self.is_ending = True
        self._after(CLOSED_GRACE_S, self._break_off)
        if self._exit_fd is None:
            self._poll_exit()

    def _break_off(self) -> None:
        self._is_broken = True
        self.kill()

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        """Set the one timer: a call's time, then the time to end in, then the time to be gone in."""
        self._no_timer()
        self._timer = self._loop.call_later(seconds, act)

    def _no_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll_exit(self) -> None:
        """Where the system has no descriptor that tells of an exit."""
        if self.gone.done():
            return
        if self._popen.poll() is None:
            self._loop.call_later(EXIT_POLL_S, self._poll_exit)
        else:
            self._on_exit()

    def _on_exit(self) -> None:
        self._signal(signal.SIGKILL)  # what it started may have outlived it
        exit_code = self._popen.wait()
        self._conclude(self._verdict or self._last_answer() or self._death(exit_code))
        self._close()
        self.gone.set_result(None)
        self._on_gone(self)

    def _last_answer(self) -> Ran | None:
        """An answer that was sent before the end still counts."""
        with suppress(OSError):
            while data := self._connection.recv(CHUNK_BYTES):
                self._received += data
        answer = read_answer(memoryview(self._received)[HEADER_BYTES:])
        if answer is None or self._is_broken or answer.number != self._number:
            return None
        return ending(answer, self._bounds().memory_bytes or self._launch.memory_bytes)

    def _death(self, exit_code: int) -> Ran:
        if self._is_broken and (exit_code == EXIT_BROKEN or self._is_killed):
            return Ran("crashed", message=STRAY)
        return death(exit_code, self._bounds().cpu_s)

    def _close(self) -> None:
        self._no_timer()
        self._loop.remove_writer(self._connection)
        self._loop.remove_reader(self._connection)
        for stream in self._streams:
            self._loop.remove_reader(stream.fd)
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
        for end in (self._connection, self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if end is not None:
                end.close()


def _start(launch: Launch) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """Start a process: its standard input is the lifeline, which closes when this program ends in any way."""
    ours, theirs = socket.socketpair()
    setup = {
        "connection": theirs.fileno(),
        "memory_bytes": launch.memory_bytes,
        "result_bytes": launch.result_bytes,
        "open_files": launch.open_files,
        "path": [path for path in sys.path if os.path.isabs(path)],
    }
    command = [launch.python, "-I", "-X", "utf8", "-c", BOOT, msgspec.json.encode(setup).decode(), ROOT]
    try:
        popen = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            cwd=launch.folder,
            env=dict(launch.environment),
            start_new_session=True,
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    ours.setblocking(False)
    return ours, popen


def _exit_descriptor(pid: int) -> int | None:
    """What becomes readable when the process ends; None where the system has no such thing."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return None
