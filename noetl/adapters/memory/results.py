"""The result store in memory."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from noetl.core.message import Payload
from noetl.errors import NotFound
from noetl.ports.results import Footprint, check_key, pieces_of, stream_key


class MemoryResults:
    """Payloads by key."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._payloads: dict[str, tuple[bytes, int]] = {}

    async def write(self, payload: Payload) -> None:
        self._payloads[check_key(payload.key)] = (payload.body, self._now())

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Keep bytes as they arrive."""
        stream_key(execution_id, hashlib.sha256().hexdigest())
        body = b"".join([chunk async for chunk in chunks])
        digest = hashlib.sha256(body).hexdigest()
        key = stream_key(execution_id, digest)
        await self.write(Payload(key, body))
        return key, len(body), digest

    async def read(self, key: str) -> bytes:
        try:
            return self._payloads[check_key(key)][0]
        except KeyError:
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        for piece in pieces_of(await self.read(key)):
            yield piece

    async def footprints(self) -> Sequence[Footprint]:
        footprints: dict[str, Footprint] = {}
        for key, (body, written_at) in sorted(self._payloads.items()):
            footprint = footprints.setdefault(
                key.partition("/")[0], Footprint(key.partition("/")[0], 0, 0, 0)
            )
            footprint.payloads, footprint.bytes = footprint.payloads + 1, footprint.bytes + len(body)
            footprint.written_at = max(footprint.written_at, written_at)
        return list(footprints.values())

    async def discard(self, execution_id: str) -> None:
        check_key(f"{execution_id}/{'0' * 32}")
        for key in [key for key in self._payloads if key.partition("/")[0] == execution_id]:
            del self._payloads[key]
