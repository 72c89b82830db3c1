"""Servers and workers as processes: where each says that it runs, how they are started aside and stopped.

Every such process, in the foreground or not, keeps a small file in the user's noetl folder while it lives.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NotRequired, TypedDict

from noetl.adapters.clock.wall import now_ms
from noetl.cli.exit_codes import EXIT_USAGE
from noetl.cli.terminal import note
from noetl.core.event import iso
from noetl.errors import BackendError, NotFound, RequestError
from noetl.settings import Settings

READY_S = 60.0
STOP_S = 60.0
LOOK_S = 0.05
LOG_LINES = 20
OPEN_FILES = 65_536  # of a server or a worker: each connection is one


class ProcessFields(TypedDict):
    """What a process says of itself in its file."""

    pid: int
    started_at: str
    url: NotRequired[str]  # of a server
    worker_id: NotRequired[str]
    pool: NotRequired[str]
    log: NotRequired[str]


def folder(settings: Settings) -> Path:
    return settings.home / "run"


@contextmanager
def announce(settings: Settings, kind: str, **facts: str) -> Iterator[None]:
    """Say that this process runs, for as long as it does."""
    place = folder(settings) / f"{kind}-{os.getpid()}.json"
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = place.with_suffix(".part")
    draft.write_text(json.dumps({"pid": os.getpid(), "started_at": iso(now_ms()), **facts}))
    draft.replace(place)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)


def running(settings: Settings, kind: str) -> list[ProcessFields]:
    """The processes of a kind that run; what others left behind is cleared away."""
    processes = []
    for place in sorted(folder(settings).glob(f"{kind}-*.json")):
        with suppress(OSError, ValueError):
            process: ProcessFields = json.loads(place.read_text())
            if _is_ours(process["pid"]):
                processes.append(process)
            else:
                place.unlink(missing_ok=True)
    return processes


def _is_ours(pid: int) -> bool:
    """Whether a process lives and is one of ours: its number may have gone to another program."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        return b"noetl" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True  # no /proc here


def start_background(settings: Settings, kind: str, arguments: list[str]) -> ProcessFields:
    """Start a process of its own with its output in a file; what it says once it runs."""
    place = folder(settings)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    began = time.monotonic()
    log = place / f"{kind}-{time.time_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "noetl.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    log_file = log.rename(place / f"{kind}-{process.pid}.log")
    while time.monotonic() - began < READY_S:
        if process.poll() is not None:
            wrong = RequestError if process.returncode == EXIT_USAGE else BackendError
            raise wrong(f"the {kind} ended at once: {_end_of(log_file)}", hint=f"see {log_file}")
        for other in running(settings, kind):
            if other["pid"] == process.pid:
                return {**other, "log": str(log_file)}
        time.sleep(LOOK_S)
    process.terminate()
    raise BackendError(f"the {kind} did not start within {READY_S:g} s", hint=f"see {log_file}")


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return "\n".join(lines) or "it printed nothing"


def stop(settings: Settings, kind: str, pid: int | None) -> list[int]:
    """Ask processes to end, and wait until they have; which they were."""
    pids = [process["pid"] for process in running(settings, kind) if pid in (None, process["pid"])]
    if not pids:
        which = f" with pid {pid}" if pid is not None else ""
        raise NotFound(f"no {kind}{which} runs here", hint=f"noetl {kind} start")
    for process_id in pids:
        with suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGTERM)
    until = time.monotonic() + STOP_S
    while alive := [process_id for process_id in pids if _is_ours(process_id) and not _is_dead(process_id)]:
        if time.monotonic() > until:
            raise BackendError(
                f"{kind} {alive[0]} did not end within {STOP_S:g} s", hint=f"kill -9 {alive[0]}"
            )
        time.sleep(LOOK_S)
    return pids


def _is_dead(pid: int) -> bool:
    """Whether a process has ended and only waits for its parent to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def run_several(arguments: list[str], count: int) -> int:
    """Run so many processes in the foreground, signals passed on; the first exit code that is not 0."""
    processes = [subprocess.Popen([sys.executable, "-m", "noetl.cli", *arguments]) for _ in range(count)]

    def pass_on(number: int, _: object) -> None:
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    note(f"{count} workers run; Ctrl-C stops them")
    codes = [process.wait() for process in processes]
    return next((code for code in codes if code), 0)


def _raise_open_files() -> None:
    """Where the usual limit is low and may be raised, as most systems have it, raise it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run_fast(work: Callable[[], Coroutine[None, None, int]]) -> int:
    """Run on the fastest event loop that is installed, with as many connections as the system allows."""
    import asyncio

    _raise_open_files()
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work())
