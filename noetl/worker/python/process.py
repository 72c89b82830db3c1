"""One isolated process as its host sees it: start it, hand it calls, read its answers, end it and its own.

Callbacks on the event loop, no threads. Which process takes which call is host.py; what happens inside
is child.py. The process leads a session of its own, so that it is killed with everything it forked.

A process may be handed calls before their turn. It runs one at a time, in the order they were handed over,
and begins one only when the answer to the one before is written: whatever is not answered, but for the first,
was not begun, and can be taken back.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from noetl.ports.call import Raised, Ran
from noetl.worker.python import call, child
from noetl.worker.python.child import CALLS_KEPT, EXIT_BROKEN, HEADER_BYTES

BOOT = f"import sys; sys.path.append(sys.argv.pop()); from {child.__name__} import main; main()"
ROOT = str(Path(__file__).resolve().parents[3])
CHUNK_BYTES = 1 << 16  # larger blocks are mapped and unmapped each time
ENVELOPE_BYTES = 1 << 17  # what an answer may hold beside the result
CLOSED_GRACE_S = 0.1
EXIT_POLL_S = 0.005
CALLS_MAX = 64  # that a process is handed before their turn
TOGETHER = 4  # so many calls go in one write at most
EARLY_BYTES = 1 << 14  # a larger call is handed over in its turn
EARLY_S = 0.005  # nor does a call wait for one process for longer, as far as can be foreseen
LAST_WORDS_CHARS = 4000
STRAY = "the code wrote to the connection to its host, or closed it"


class Process:
    """One process: starting, free, running a call and perhaps holding others, or on its way out."""

    def __init__(
        self,
        launch: call.Launch,
        paces: call.Paces,
        on_room: Callable[["Process"], None],
        on_gone: Callable[["Process"], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.is_ready = False
        self.is_ending = False
        self.calls: deque[tuple[int, call.Request, float]] = (
            deque()
        )  # number, and how long it may take; the first runs
        self.returned: list[call.Request] = []  # calls that were handed over and never begin here
        self.backlog_s = 0.0  # how long its calls may be expected to take
        self.began = 0.0  # when the first one did
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.last_words = ""
        self._launch = launch
        self._paces = paces
        self._on_room = on_room
        self._on_gone = on_gone
        self._programs = call.Programs()
        self._number = 0  # of the call it was handed last
        self._answered = 0  # the number of the last answer
        self._taken_back: set[int] = set()  # numbers of calls that it is yet to skip
        self._received = bytearray()
        self._unsent = bytearray()
        self._flush: asyncio.Handle | None = None
        self._is_writing = False  # the connection is full
        self._timer: asyncio.TimerHandle | None = None
        self._verdict: Ran | None = None  # how the call ends once the process is dead
        self._is_broken = False
        self._is_killed = False
        self._page = call.Page()
        self._connection, self._popen = _start(launch, self._page)
        assert self._popen.stdout is not None
        self._printed = call.Printed(self._popen.stdout.fileno(), self._page)
        self._printed.on_output = self._before_calls
        self._exit_fd = _exit_descriptor(self._popen.pid)
        self._watch()

    def _watch(self) -> None:
        if self._exit_fd is not None:
            self._loop.add_reader(self._exit_fd, self._on_exit)
        self._loop.add_reader(self._connection, self.catch_up)
        self._loop.add_reader(self._printed.fd, self._on_printed)

    def _on_printed(self) -> None:
        self.catch_up()  # so that what is read now is of the call that runs, or of one after it
        if self.gone.done():
            return
        if not self._printed.read():
            self._loop.remove_reader(self._printed.fd)
        self._hand_on()

    def _hand_on(self) -> None:
        """What was read is of the call that runs when the process has no other."""
        if len(self.calls) == 1 and self.is_ready:
            self._printed.hand_on()

    def _before_calls(self, data: bytes) -> None:
        """What the interpreter says at its start is nobody's; should it end then, it says why."""
        self.last_words = (self.last_words + data.decode("utf-8", "replace"))[-LAST_WORDS_CHARS:]

    # ---- calls ------------------------------------------------------------------------------------------

    @property
    def request(self) -> call.Request | None:
        """The call it runs."""
        return self.calls[0][1] if self.calls else None

    def accepts(self, request: call.Request) -> bool:
        """Whether a call can be handed over before its turn: all are quick and small, and none is held up."""
        return (
            self._page.numbers is not None
            and self.is_ready
            and not (self.is_ending or self._is_writing)
            and len(self.calls) < CALLS_MAX
            and self._number - self._answered < CALLS_KEPT // 2
            and len(request.variables) < EARLY_BYTES
            and self.backlog_s + self._paces.of(request) < EARLY_S
        )

    def start(self, request: call.Request) -> None:
        """Hand over a call; its future gets the ending."""
        self._number += 1
        expected_s = self._paces.of(request)
        self.calls.append((self._number, request, expected_s))
        self.backlog_s += expected_s
        self._unsent += self._programs.frame(self._number, request)
        if len(self.calls) == 1:
            self._begin()
            self._send()
        elif len(self.calls) % TOGETHER == 0:  # it is not to run out of work while more comes
            self._send()
        elif self._flush is None:  # it is busy: what comes in this moment goes together
            self._flush = self._loop.call_soon(self._send)

    def _begin(self) -> None:
        """The turn of a call has come."""
        request = self.calls[0][1]
        self.began = time.monotonic()
        self._printed.on_output = request.on_output
        if request.timeout_s is not None:
            self._after(request.timeout_s, self._on_timeout)

    def _send(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._is_writing or not self._unsent:
            return
        if self._write():
            self._is_writing = True
            self._loop.add_writer(self._connection, self._on_writable)

    def _write(self) -> bool:
        """Send what is to be sent; whether something is left."""
        try:
            sent = self._connection.send(self._unsent)
        except BlockingIOError:
            return True
        except OSError:  # the process is about to be gone, and how it went says more
            sent = len(self._unsent)
        del self._unsent[:sent]
        return bool(self._unsent)

    def _on_writable(self) -> None:
        if not self._write():
            self._is_writing = False
            self._loop.remove_writer(self._connection)

    def take_back(self) -> None:
        """Have the calls after the first returned.

        Answers that were given before are taken first. If there are any, whether the call after them has
        begun is for the process to say: it stays.
        """
        self.catch_up()
        if len(self.calls) < 2:
            return
        back = {number for number, _, _ in self.calls} - {self.calls[0][0]}
        for number in back:
            self._page.take_back(number)
        self._taken_back |= back
        self.catch_up()
        self._return(lambda place, number: place > 0 and number in back)
        self._hand_on()

    def _return(self, is_returned: Callable[[int, int], bool]) -> None:
        calls, self.calls, self.backlog_s = self.calls, deque(), 0.0
        for place, (number, request, expected_s) in enumerate(calls):
            if is_returned(place, number):
                self.returned.append(request)
            else:
                self.calls.append((number, request, expected_s))
                self.backlog_s += expected_s

    def catch_up(self) -> None:
        """Take every answer that is there."""
        while not self._is_broken:
            try:
                data = self._connection.recv(CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._on_closed()
            elif not self._receive(data):
                self._break_off()
            elif len(data) < CHUNK_BYTES:
                return

    def _receive(self, data: bytes) -> bool:
        """Take in a part of the answers; whether it can be one."""
        received = self._received
        received += data
        begin = 0
        while len(received) - begin >= HEADER_BYTES:
            size = int.from_bytes(received[begin : begin + HEADER_BYTES], "little")
            end = begin + HEADER_BYTES + size
            if size > self._launch.result_bytes + ENVELOPE_BYTES:
                return False
            if end > len(received):
                break
            answer = call.read_answer(bytes(received[begin + HEADER_BYTES : end]))
            begin = end
            if answer is None or not self._take(answer):
                return False
        del received[:begin]
        return True

    def _take(self, answer: call.Answer) -> bool:
        """Act on an answer; whether one was due."""
        is_returned = self._is_over(answer)
        if self.is_ready and not (self.calls and answer.number == self.calls[0][0]):
            return is_returned
        if not self.is_ready:
            self.is_ready = True
            self._printed.end(-1)
        elif answer.ended == "skipped":
            self._return(lambda place, number: place == 0)
            self._next()
        elif self._verdict is None:
            self._paces.learn(self.calls[0][1], answer.took_us / 1e6)
            self._conclude(call.ending(answer, self._memory_bytes()), answer)
            self._next()
        elif answer.ended == "stopped":
            raised = Raised("TimeoutError", self._verdict.message, answer.traceback)
            self._verdict = replace(self._verdict, raised=raised)
        if self._verdict is not None or not answer.fit:
            if self._verdict is None:
                self._return(lambda place, number: True)
            self.kill()
        self._on_room(self)
        return True

    def _is_over(self, answer: call.Answer) -> bool:
        """Note how far the process has come; whether this is a call that was taken back."""
        self._answered = answer.number
        if answer.number not in self._taken_back:
            return False
        self._taken_back.remove(answer.number)
        self._page.take_back(answer.number, is_taken=False)
        return answer.ended == "skipped"

    def _memory_bytes(self) -> int:
        own = self.calls[0][1].bounds.memory_bytes
        return own or self._launch.memory_bytes

    def _conclude(self, ran: Ran, answer: call.Answer | None = None) -> None:
        """The first call has ended; what a dead process has said, it has said in that call."""
        self._printed.end(answer.out_bytes if answer else -1)
        self._no_timer()
        if not self.calls:
            return
        _, request, expected_s = self.calls.popleft()
        self.backlog_s -= expected_s
        if not request.done.done():
            request.done.set_result(ran)

    def _next(self) -> None:
        if self.calls:
            self._begin()
        else:
            self.backlog_s = 0.0

    # ---- the end ----------------------------------------------------------------------------------------

    def stop(self, request: call.Request, verdict: Ran) -> bool:
        """Ask the code of a call to end, and soon end it; the verdict counts once the process is dead.

        False when the call does not run here: it has ended meanwhile, or is returned.
        """
        was_ending, self.is_ending = self.is_ending, True  # so that it gets no more calls
        self.take_back()
        runs = self.request is request
        if runs and self._verdict is None:
            self._verdict = verdict
            self._signal(signal.SIGTERM)
            self._after(self._launch.grace_s, self.kill)
        elif not runs:
            self.is_ending = was_ending or self._is_killed or self._is_broken
        self._on_room(self)
        return runs

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
        if (request := self.request) is not None:
            message = f"the code did not finish within {request.timeout_s:g} s"
            self.stop(request, Ran("timeout", message=message))

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
        self.is_ending, broken = True, self._is_broken
        exit_code = self._popen.wait()
        self.catch_up()  # what was answered before the end still counts
        self._conclude(self._verdict or self._death(exit_code, broken))
        self._return(lambda place, number: True)
        self._close()
        self.gone.set_result(None)
        self._on_gone(self)

    def _death(self, exit_code: int, broken: bool) -> Ran:
        if broken and (exit_code == EXIT_BROKEN or self._is_killed):
            return Ran("crashed", message=STRAY)
        return call.death(exit_code, self.request.bounds.cpu_s if self.request else None)

    def _close(self) -> None:
        self._no_timer()
        if self._flush is not None:
            self._flush.cancel()
        self._page.close()
        self._loop.remove_writer(self._connection)
        self._loop.remove_reader(self._connection)
        self._loop.remove_reader(self._printed.fd)
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
        for end in (self._connection, self._popen.stdin, self._popen.stdout):
            if end is not None:
                end.close()


def _start(launch: call.Launch, page: call.Page) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """Start a process: its standard input is the lifeline, which closes when this program ends in any way."""
    ours, theirs = socket.socketpair()
    setup = {
        "connection": theirs.fileno(),
        "memory_bytes": launch.memory_bytes,
        "result_bytes": launch.result_bytes,
        "open_files": launch.open_files,
        "page": page.fd,
        "path": [path for path in sys.path if os.path.isabs(path)],
    }
    command = [launch.python, "-I", "-X", "utf8", "-c", BOOT, msgspec.json.encode(setup).decode(), ROOT]
    try:
        popen = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # one pipe: lines come in the order they were written
            pass_fds=[fd for fd in (theirs.fileno(), page.fd) if fd is not None],
            cwd=launch.folder,
            env=dict(launch.environment),
            start_new_session=True,
        )
    except OSError:
        ours.close()
        page.close()
        raise
    finally:
        theirs.close()
    page.hand_over()
    ours.setblocking(False)
    return ours, popen


def _exit_descriptor(pid: int) -> int | None:
    """What becomes readable when the process ends; None where the system has no such thing."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return None
