"""The result store of a worker that reaches it through a server: payloads go over the worker's link."""

import hashlib
import tempfile
from collections.abc import AsyncIterator, Sequence

from noetl.core.message import Payload
from noetl.errors import RequestError
from noetl.ports.link import Asked
from noetl.ports.results import Footprint, check_key, stream_key

IN_MEMORY_BYTES = 8 * 1024**2


class LinkedResults:
    """Payloads written and read by a server."""

    def __init__(self, servers: Asked) -> None:
        self._servers = servers

    async def write(self, payload: Payload) -> None:
        """Write a payload durably."""
        await self._servers.write(payload)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Gather bytes as they arrive, since their key is known at their end, then write them."""
        digest, size = hashlib.sha256(), 0
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as gathered:
            async for chunk in chunks:
                gathered.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            gathered.seek(0)
            key = stream_key(execution_id, digest.hexdigest())
            await self._servers.write(Payload(key, gathered.read()))
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        """The bytes of a payload."""
        return await self._servers.read(check_key(key))

    async def footprints(self) -> Sequence[Footprint]:
        """Not for a worker to ask."""
        raise RequestError("a worker does not look after the result store")

    async def discard(self, execution_id: str) -> None:
        """Not for a worker to do."""
        raise RequestError("a worker does not look after the result store")
