"""Work tried in a copy of this process: what ends a process, or has no end, ends the copy alone.

Nothing that the copy does is seen here but whether it lived: it must only compute.
"""

import asyncio
import os
import resource
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LIMIT_S = 10.0
MORE_BYTES = 1024**3  # of memory, beside what the process has
LOOK_S = 0.01
NO_MEMORY = 71
Work = Callable[[], object]


async def trial(work: Work) -> str | None:
    """Do something in a copy of this process; how it ended the copy, None when it did not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the copy computes, and needs no other thread
        pid = os.fork()
    if pid == 0:
        _be_the_copy(work)
    code: int | None = None
    try:
        until = asyncio.get_running_loop().time() + LIMIT_S
        while (code := _exit_code(pid)) is None:
            if asyncio.get_running_loop().time() > until:
                return f"it was not done within {LIMIT_S:g} s"
            await asyncio.sleep(LOOK_S)
        return _words(code)
    finally:
        if code is None:
            _kill(pid)


def _exit_code(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _words(code: int) -> str | None:
    if code == 0:
        return None
    if code == NO_MEMORY:
        return f"it wanted more than {MORE_BYTES // 1024**2} MiB of memory"
    return f"it ended its process with {f'signal {-code}' if code < 0 else f'exit code {code}'}"


def _be_the_copy(work: Work) -> None:
    code = 0
    try:
        with suppress(OSError):  # rather this one than the process it is a copy of
            Path("/proc/self/oom_score_adj").write_text("1000")
        _limit()
        work()
    except MemoryError:
        code = NO_MEMORY
    except BaseException as error:  # it raises again where it counts, and is told there
        code = 0 if isinstance(error, Exception) else 1
    finally:
        os._exit(code)


def _limit() -> None:
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MORE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
