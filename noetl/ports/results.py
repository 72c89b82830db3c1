"""What the engine needs of a result store: payloads by key, written before the event that names them."""

from collections.abc import AsyncIterator
from typing import Protocol

from noetl.core.message import Payload


class Results(Protocol):
    """Payloads of executions. Keys are `<execution_id>/<digest>`; writing the same key again is harmless."""

    async def write(self, payload: Payload) -> None:
        """Write a payload durably."""
        ...

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Write bytes as they arrive; the key, their number, and their sha256."""
        ...

    async def read(self, key: str) -> bytes:
        """The bytes of a payload; raises NotFound."""
        ...

    async def collect(self, live: frozenset[str], older_than_ms: int) -> int:
        """Remove payloads of executions that are not live and older than a moment; how many were removed."""
        ...
