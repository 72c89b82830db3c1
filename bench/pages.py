"""A paged HTTP API in a process of its own: 100 pages of ten rows per endpoint, as cheap as can be."""

import asyncio
import json
import re

from bench.figure import Figure

PAGES = 100
_PAGE = re.compile(rb"[?&]page=(\d+)")


def run() -> list[Figure]:
    """Nothing is measured here."""
    return []


def _answer(more: bool) -> bytes:
    body = json.dumps({"rows": list(range(10)), "more": more}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


ANSWERS = {more: _answer(more) for more in (True, False)}


class Pages(asyncio.Protocol):
    """Answers each request of a connection in turn."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request that has arrived."""
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            request, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            found = _PAGE.search(request)
            page = int(found.group(1)) if found else 1
            self._transport.write(ANSWERS[page < PAGES])  # type: ignore[attr-defined]


async def serve() -> None:
    """Serve on a free port and say where."""
    server = await asyncio.get_running_loop().create_server(Pages, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
