"""Large texts are tried in a process that can be ended before anyone here reads them.

Checking a text takes longer than its size alone says: names are compared with names. Small texts cannot take
long. What a trial finds is thrown away; that it came to an end in time is all that matters.
"""

import asyncio
import pickle
import sys
import threading
from dataclasses import replace
from typing import Any

from noetl.dsl.load import load
from noetl.dsl.tool_kind import Kind, Kinds
from noetl.dsl.yaml.tree import plain
from noetl.server.problem import Problem

SMALL = 32 * 1024
DEADLINE_S = 20.0
CPU_S = 10
MEMORY = 2 * 1024**3
_SLOTS = threading.BoundedSemaphore(2)  # so many at once; others are told to come again


async def withstand(text: str, kinds: Kinds) -> None:
    """Return when a text can be checked in time; raises Problem."""
    if len(text) <= SMALL:
        return
    if not _SLOTS.acquire(blocking=False):
        message = "other large playbooks are being checked"
        raise Problem(503, message, hint="try again in a moment", headers={"Retry-After": "2"})
    try:
        ended_well = await _survives(pickle.dumps((text, _sendable(kinds))))
    finally:
        _SLOTS.release()
    if not ended_well:
        message = f"the playbook takes more than {CPU_S} s to check"
        raise Problem(413, message, hint="split it: a playbook can call others")


def _sendable(kinds: Kinds) -> dict[str, Kind]:
    """Kinds as they can be sent to another process: names and rules, without the types of values."""
    return {
        name: replace(
            kind,
            inputs={key: replace(field, type=Any) for key, field in kind.inputs.items()},
            knobs={key: replace(field, type=Any) for key, field in kind.knobs.items()},
            defaults=plain(dict(kind.defaults)),
        )
        for name, kind in kinds.items()
    }


async def _survives(request: bytes) -> bool:
    nothing = asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=nothing, stderr=nothing
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            await child.communicate(request)
    except TimeoutError:
        return False
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return child.returncode == 0


def main() -> None:
    """The process: read a text, check it, and leave."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    text, kinds = pickle.load(sys.stdin.buffer)
    load(text, kinds=kinds)


if __name__ == "__main__":
    main()
