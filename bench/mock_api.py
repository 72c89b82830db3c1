"""An HTTP API in a process of its own, as cheap as can be: what it answers is a module's own.

Such a module runs `serve` with a function from a request to its answer; whoever measures runs the module.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent


def answer_of(body: object) -> bytes:
    """A whole answer with a JSON body."""
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    return head.encode() + content


class Requests(asyncio.Protocol):
    """Answers each request of a connection in turn."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer, self._buffer = answer, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request that has arrived."""
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            request, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            self._transport.write(self._answer(request))  # type: ignore[attr-defined]


async def serve(answer: Callable[[bytes], bytes]) -> None:
    """Serve on a free port and say where."""
    server = await asyncio.get_running_loop().create_server(lambda: Requests(answer), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@asynccontextmanager
async def running(module: str) -> AsyncIterator[str]:
    """The address of a module's API while it runs."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert server.stdout is not None
        yield (await server.stdout.readline()).decode().strip()
    finally:
        server.kill()
        await server.wait()
