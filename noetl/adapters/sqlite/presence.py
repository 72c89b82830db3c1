"""Who is alive: an owner of executions holds a lock on a file of its own, and a lock ends with its process.

So the work of a killed process can be taken over at once, before its claim has run out. Locks say nothing
about a process that hangs: its claim runs out, because it is not renewed.
"""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path

_UNSAFE = re.compile(r"[^\w.-]")


class Presence:
    """The lock files of one database's owners."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}

    def _file(self, owner: str) -> Path:
        return self._folder / _UNSAFE.sub("_", owner)

    def enter(self, owner: str) -> None:
        """Be seen to be alive from now on."""
        if owner in self._held:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in self._folder.iterdir():
            _remove_unless_locked(file)
        descriptor = None
        while descriptor is None:
            descriptor = _lock(self._file(owner))
        self._held[owner] = descriptor

    def gone(self, owner: str) -> bool:
        """Whether an owner is dead: nobody holds the lock on its file, or there is none any more."""
        return owner not in self._held and not _locked(self._file(owner))

    def leave(self) -> None:
        """Everything this process owned has been let go of."""
        for owner, descriptor in self._held.items():
            with suppress(OSError):
                self._file(owner).unlink(missing_ok=True)
            os.close(descriptor)
        self._held.clear()


def _locked(file: Path) -> bool:
    """Whether someone holds a file; those who only ask do not stand in each other's way."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _remove_unless_locked(file: Path) -> None:
    """Only who holds a file removes it, so nobody's is removed while they take hold of it."""
    with suppress(FileNotFoundError):
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(file, descriptor):
                file.unlink()
        except BlockingIOError:
            return
        finally:
            os.close(descriptor)


def _lock(file: Path) -> int | None:
    """A locked file; None when another process removed it before the lock was there."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with suppress(FileNotFoundError):
        if _is(file, descriptor):
            return descriptor
    os.close(descriptor)
    return None


def _is(file: Path, descriptor: int) -> bool:
    return os.stat(file).st_ino == os.fstat(descriptor).st_ino
