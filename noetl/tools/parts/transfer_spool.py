"""Rows that come over the network: their bytes arrive in a file first, so that memory stays free."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.ports.tool import read_knobs
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.content import format_of
from noetl.tools.parts.transfer_places import Source, in_thread, require

if TYPE_CHECKING:
    import tempfile

MEDIA = {
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


@asynccontextmanager
async def spool(source: Source, call: Call) -> AsyncIterator[tuple[str, str]]:
    """The path of a file with what an address or an object holds, and its format."""
    import tempfile

    call = await with_auth(call, source.auth)
    with tempfile.NamedTemporaryFile(prefix="noetl-transfer-") as file:
        if source.kind == "http":
            form = await _http(source, call, file)
        else:
            form = await _object(source, call, file)
        await in_thread(file.flush)
        yield file.name, form


async def _http(source: Source, call: Call, file: "tempfile._TemporaryFileWrapper[bytes]") -> str:
    from noetl.tools.http import Knobs, Request, send
    from noetl.tools.parts.http_answer import RETRYABLE, pieces

    url = require(source.url, "url", "http")
    knobs: Knobs = read_knobs(Knobs, call)
    request = Request(url=url, headers=source.headers, params=source.query_params())
    async with send(request, knobs, call) as response:
        if not 200 <= response.status < 300:
            again = response.status in RETRYABLE
            raise Failed(
                "http", f"{url} answered {response.status}", code=str(response.status), retryable=again
            )
        async for piece in pieces(response, knobs.max_response_bytes):
            await in_thread(file.write, piece)
        media_format = MEDIA.get(response.content_type)
        return str(source.format or media_format or format_of(urlsplit(str(response.url)).path, None))


async def _object(source: Source, call: Call, file: "tempfile._TemporaryFileWrapper[bytes]") -> str:
    from noetl.tools.parts.object_stores import bucket

    key = require(source.key, "key", "object")
    stream = await (await bucket(require(source.store, "store", "object"), call)).open(key)
    async for piece in stream.chunks:
        await in_thread(file.write, piece)
    return format_of(key, source.format)
