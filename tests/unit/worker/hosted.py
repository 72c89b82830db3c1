"""Running code in a host, and waiting for what it does, in the words of the tests."""

import asyncio
import os
import select
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noetl.ports.call import PythonHost, Ran

PID = "import os; result = os.getpid()"
HANG = "import signal\nwhile True: signal.pause()"


@dataclass(frozen=True)
class Heard(Ran):
    """How a call ended, and what it printed."""

    printed: str = ""


async def heard(host: PythonHost, code: str, variables: Mapping[str, Any], **options: Any) -> Heard:
    parts: list[bytes] = []
    ran = await host.run(textwrap.dedent(code), variables, on_output=parts.append, **options)
    fields = {name: getattr(ran, name) for name in Ran.__dataclass_fields__}
    return Heard(**fields, printed=b"".join(parts).decode())


async def run(host: PythonHost, code: str, **variables: Any) -> Heard:
    return await heard(host, code, variables, timeout_s=20)


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
