"""Running code in a host, and waiting for what it does, in the words of the tests."""

import asyncio
import os
import select
import textwrap
from pathlib import Path
from typing import Any

from noetl.ports.call import PythonHost, Ran

PID = "import os; result = os.getpid()"
HANG = "import signal\nwhile True: signal.pause()"


async def run(host: PythonHost, code: str, **variables: Any) -> Ran:
    return await host.run(textwrap.dedent(code), variables, timeout_s=20)


async def value(host: PythonHost, code: str, **variables: Any) -> Any:
    ran = await run(host, code, **variables)
    assert ran.ended == "ok", ran
    return ran.value


def wait_until_dead(pid: int) -> None:
    """Returns when the process is gone; fails after ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    readable, _, _ = select.select([descriptor], [], [], 10)
    os.close(descriptor)
    assert readable, f"process {pid} is still there"


async def read_line(fifo: Path) -> str:
    """The line that code writes to a named pipe: waits for it without a thread left over."""
    return (await asyncio.to_thread(fifo.read_text)).strip()
