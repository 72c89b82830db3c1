"""The API of a clinic in a process of its own, as cheap as can be: patients, pages of records, records.

`/patients` lists the patients, `/patients/P/KIND?page=N` a page of record numbers, `/patients/P/KIND/R` one
record; any other address answers a small body.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PATIENTS, PAGES, ON_A_PAGE = 100, 2, 19
KINDS = ("visits", "results", "letters", "scans")
CALLS = 1 + PATIENTS * len(KINDS) * PAGES * (1 + ON_A_PAGE)
RECORDS = PATIENTS * len(KINDS) * PAGES * ON_A_PAGE
ROOT = Path(__file__).parent.parent
_RECORD = re.compile(rb"GET /patients/(\d+)/(\w+)/(\d+) ")
_PAGE = re.compile(rb"GET /patients/(\d+)/(\w+)\?page=(\d+) ")
_LIST = re.compile(rb"GET /patients ")


def _body(request: bytes) -> object:
    if record := _RECORD.match(request):
        patient, kind, number = (part.decode() for part in record.groups())
        return {"id": int(number), "patient": int(patient), "kind": kind, "text": "as it was found " * 20}
    if page := _PAGE.match(request):
        number = int(page.group(3))
        first = (number - 1) * ON_A_PAGE
        return {"ids": list(range(first, first + ON_A_PAGE)), "more": number < PAGES}
    if _LIST.match(request):
        return {"patients": list(range(PATIENTS))}
    return {"rows": list(range(10))}


class Records(asyncio.Protocol):
    """Answers each request of a connection in turn."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole request that has arrived."""
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            request, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            body = json.dumps(_body(request)).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)  # type: ignore[attr-defined]


async def serve() -> None:
    """Serve on a free port and say where."""
    server = await asyncio.get_running_loop().create_server(Records, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@asynccontextmanager
async def api() -> AsyncIterator[str]:
    """The address of the API while it runs."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.records_api", stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert server.stdout is not None
        yield (await server.stdout.readline()).decode().strip()
    finally:
        server.kill()
        await server.wait()


if __name__ == "__main__":
    asyncio.run(serve())
