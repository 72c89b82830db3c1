"""Processes of the command line that do not begin with an interpreter and its imports.

The fork server has imported what commands import. For each command line it forks a process that runs the
command, with its own folder, environment, streams and exit, and another that waits for its end and passes the
status on. Where the start itself or a terminal is the point, tests start the installed program.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = str(Path(sys.executable).with_name("noetl"))
REQUEST_BYTES = 100_000
INPUT_BYTES = 60_000  # what a pipe takes while nobody reads it
AT_START = ("PYTHON", "LANG", "LC_")  # names of variables that only a new interpreter reads


class ForkedProcess:
    """One process of the command line; what is asked of it is asked as of a `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], status: int) -> None:
        """`status` is a pipe: the number of the process, and once it has ended, how."""
        self.args = [PROGRAM, *arguments]
        self.returncode: int | None = None
        self._status = os.fdopen(status, "rb")
        self.pid = int(self._status.readline())

    def poll(self) -> int | None:
        """How it ended, if it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code, or the signal with a minus."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._status:
                self.returncode = os.waitstatus_to_exitcode(int(self._status.readline()))
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a crash would."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The side of the tests: a server per process of tests, started with the first command.

    `root` is the folder of the release whose commands are run.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._starting = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._requests, self._their_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], data: bytes = b""
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run one command line to its end, as `subprocess.run` does."""
        words = [PROGRAM, *arguments]
        at_start = any(name.startswith(AT_START) for name in environment)
        if at_start or len(json.dumps(words)) > REQUEST_BYTES or len(data) > INPUT_BYTES:
            return subprocess.run(words, cwd=folder, env=environment, input=data, capture_output=True)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self.start(arguments, folder, environment, out.fileno(), err.fileno(), data).wait()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), err.read())

    def start(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        out: int,
        err: int,
        data: bytes = b"",
    ) -> ForkedProcess:
        """Begin one command line, which writes to these files and reads these few data."""
        self._start()
        request = json.dumps([[PROGRAM, *arguments], str(folder), dict(environment)]).encode()
        (typed, keyboard), (status, end) = os.pipe(), os.pipe()
        with os.fdopen(keyboard, "wb") as writing:
            writing.write(data)
        socket.send_fds(self._requests, [request], [typed, out, err, end])
        os.close(typed)
        os.close(end)
        return ForkedProcess(arguments, status)

    def _start(self) -> None:
        with self._starting:
            if self._server is None:
                handle = self._their_requests.fileno()
                self._server = subprocess.Popen(
                    [sys.executable, __file__, str(handle), str(self._root)],
                    cwd=self._root,
                    env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self._root)},
                    pass_fds=[handle],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
                self._their_requests.close()


FORK_SERVER = ForkServer()


def serve(requests: socket.socket, root: Path) -> None:
    """The side of the server: fork for each request, until the process of tests is gone."""
    _import_commands(root)
    gc.freeze()  # pages that nobody writes stay shared
    while True:
        request, streams, _, _ = socket.recv_fds(requests, 2 * REQUEST_BYTES, 4)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _run_and_wait(*json.loads(request), *streams)
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _import_commands(root: Path) -> None:
    for file in sorted((root / "noetl").rglob("*.py")):
        if not file.stem.startswith("__"):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


def _run_and_wait(
    words: list[str], folder: str, environment: dict[str, str], typed: int, out: int, err: int, end: int
) -> NoReturn:
    command = os.fork()
    if command == 0:
        os.close(end)
        for number, stream in enumerate((typed, out, err)):
            os.dup2(stream, number)
            os.close(stream)
        _run(words, folder, environment)
    for stream in (typed, out, err):
        os.close(stream)
    os.write(end, f"{command}\n".encode())
    os.write(end, f"{os.waitpid(command, 0)[1]}\n".encode())
    os._exit(0)


def _run(words: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    """Be as the program is after its start, and end as it does, but for the taking apart of modules."""
    from noetl.cli.main import main

    os.chdir(folder)
    # Without a locale Python takes one with UTF-8, and says so to its children.
    locale = {name: text for name, text in os.environ.items() if name == "LC_CTYPE"}
    os.environ.clear()
    os.environ.update(locale | environment)
    time.tzset()
    sys.stdin = os.fdopen(0, "r", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", errors="surrogateescape", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    sys.argv, sys.path[0] = words, str(Path(words[0]).parent)
    try:
        main()
    except SystemExit as end:
        threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does: it waits for threads
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]))
