"""What the tasks of a worker leave running when it is killed, and how the next worker on the machine ends it.

Everything that a worker starts carries the worker's mark in its environment, and hands it on to whatever it
starts itself. A process whose mark names a worker that is gone belongs to nobody any more. Programs mostly
end with their worker already (see tools/parts/process.py); these are the ones that got away.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

MARK = "NOETL_WORKER_PROCESS"
_PROCESSES = Path("/proc")
_STATE, _START = 0, 19  # where they stand in a process's stat, counted after its name
_DEAD = ("Z", "X")


def mark() -> str:
    """What this process marks its programs with: where its number counts, its number, and when it started."""
    return f"{_numbering()}-{os.getpid()}-{_started(os.getpid()) or 0}"


def end_orphans() -> list[int]:
    """Kill the processes whose worker is gone; their numbers. Without a /proc none are seen."""
    ended = []
    for number, worker in _marked():
        if _is_gone(worker):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
                ended.append(number)
    return ended


def _marked() -> list[tuple[int, str]]:
    """The processes with a mark, and the mark; those of other users cannot be read."""
    prefix = f"{MARK}=".encode()
    processes = []
    with suppress(OSError):
        for name in os.listdir(_PROCESSES):
            if not name.isdecimal():
                continue
            with suppress(OSError):
                environment = (_PROCESSES / name / "environ").read_bytes()
                if prefix in environment:
                    processes += [
                        (int(name), entry[len(prefix) :].decode(errors="replace"))
                        for entry in environment.split(b"\0")
                        if entry.startswith(prefix)
                    ]
    return processes


def _is_gone(worker: str) -> bool:
    """Whether a mark is of a worker that can be looked for here and is not there."""
    numbering, _, rest = worker.partition("-")
    number, _, started = rest.partition("-")
    if numbering != _numbering() or not number.isdecimal() or not started.isdecimal():
        return False
    return _started(int(number)) != int(started)


def _numbering() -> str:
    """Within what the numbers of processes are unique: a container has its own."""
    try:
        return str(os.stat(_PROCESSES / "self" / "ns" / "pid").st_ino)
    except OSError:
        return ""


def _started(number: int) -> int | None:
    """When a process started, in ticks since the machine did; None when there is none, or it has ended."""
    try:
        stat = (_PROCESSES / str(number) / "stat").read_text()
    except OSError:
        return None
    facts = stat.rpartition(")")[2].split()
    return None if facts[_STATE] in _DEAD else int(facts[_START])
