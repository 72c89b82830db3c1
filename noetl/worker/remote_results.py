"""The result store of a worker that reaches it through a server: payloads go over the worker's link."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import IO, Any

from noetl.core.message import Payload
from noetl.errors import RequestError
from noetl.ports.link import WorkerRequests
from noetl.ports.results import Footprint, check_key, pieces_of, stream_key

IN_MEMORY_BYTES = 8 * 1024**2


class Gathered:
    """Bytes that rest on disk: only the pieces that are asked for are held in memory."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, end, _ = part.indices(self._size)
        self._file.seek(start)
        return self._file.read(end - start)


class LinkedResults:
    """Payloads written and read by a server."""

    def __init__(self, servers: WorkerRequests) -> None:
        self._servers = servers

    async def write(self, payload: Payload) -> None:
        await self._servers.write(payload)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Gather bytes as they arrive, since their key is known at their end, then write them."""
        digest, size = hashlib.sha256(), 0
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as gathered:
            async for chunk in chunks:
                gathered.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            key = stream_key(execution_id, digest.hexdigest())
            body: Any = Gathered(gathered, size)  # as much of bytes as sending them piece by piece takes
            await self._servers.write(Payload(key, body if size > IN_MEMORY_BYTES else body[:]))
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        return await self._servers.read(check_key(key))

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        """The bytes in pieces; a server sends all of them first."""
        for piece in pieces_of(await self.read(key)):
            yield piece
            await asyncio.sleep(0)  # the worker's other tasks go on meanwhile

    async def footprints(self) -> Sequence[Footprint]:
        """Not for a worker to ask."""
        raise RequestError("a worker does not look after the result store")

    async def discard(self, execution_id: str) -> None:
        """Not for a worker to do."""
        raise RequestError("a worker does not look after the result store")
