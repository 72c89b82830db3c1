"""The result store in memory."""

import hashlib
from collections.abc import AsyncIterator, Callable

from noetl.core.message import Payload
from noetl.errors import NotFound


class MemoryResults:
    """Payloads by key."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._payloads: dict[str, tuple[bytes, int]] = {}

    async def write(self, payload: Payload) -> None:
        """Keep a payload."""
        self._payloads[payload.key] = (payload.body, self._now())

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Keep bytes as they arrive."""
        body = b"".join([chunk async for chunk in chunks])
        digest = hashlib.sha256(body).hexdigest()
        key = f"{execution_id}/{digest[:32]}"
        await self.write(Payload(key, body))
        return key, len(body), digest

    async def read(self, key: str) -> bytes:
        """The bytes of a payload."""
        try:
            return self._payloads[key][0]
        except KeyError:
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def collect(self, live: frozenset[str], older_than_ms: int) -> int:
        """Remove the payloads of executions that are over."""
        gone = [
            key
            for key, (_, written) in self._payloads.items()
            if key.partition("/")[0] not in live and written <= older_than_ms
        ]
        for key in gone:
            del self._payloads[key]
        return len(gone)
