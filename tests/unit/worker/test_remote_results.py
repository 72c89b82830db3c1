"""What a worker writes through a server: a long stream is not held in memory to be sent."""

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from noetl.core.message import Payload
from noetl.worker.remote_results import IN_MEMORY_BYTES, Gathered, LinkedResults

PIECE = b"0123456789abcdef" * 4096


class Servers:
    """Takes payloads as the link does: their length, then piece by piece."""

    async def write(self, payload: Payload) -> None:
        body: Any = payload.body
        self.kind, self.size = type(body), len(body)
        self.digest = hashlib.sha256()
        for offset in range(0, len(body), 1000_000):
            self.digest.update(body[offset : offset + 1000_000])

    async def read(self, key: str) -> bytes:
        return PIECE * 40


async def stream(pieces: int) -> AsyncIterator[bytes]:
    for _ in range(pieces):
        yield PIECE


@pytest.mark.parametrize(("size", "kind"), [(1, bytes), (IN_MEMORY_BYTES // len(PIECE) + 1, Gathered)])
async def test_a_long_stream_is_sent_from_disk(size: int, kind: type) -> None:
    servers: Any = Servers()
    key, length, digest = await LinkedResults(servers).write_stream("0" * 32, stream(size))
    assert (servers.kind, servers.size, length) == (kind, size * len(PIECE), size * len(PIECE))
    assert servers.digest.hexdigest() == digest
    assert key.startswith("0" * 32)


async def test_a_payload_that_is_read_as_a_stream_comes_in_bounded_pieces() -> None:
    servers: Any = Servers()
    pieces = [piece async for piece in LinkedResults(servers).read_stream(f"{'0' * 32}/{'1' * 32}")]
    assert b"".join(pieces) == PIECE * 40
    assert max(map(len, pieces)) <= 2**20
