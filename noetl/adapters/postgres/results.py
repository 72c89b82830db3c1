"""The result store in PostgreSQL: payloads in chunks, so that a large one passes through in parts."""

import hashlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from noetl.adapters.postgres.database import Database
from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.store import PostgresStore
from noetl.core.message import Payload
from noetl.errors import NotFound
from noetl.ports.results import Footprint, check_key, stream_key

CHUNK = 512 * 1024
READ_AT_ONCE = 8  # chunks


class PostgresResults:
    """Payloads in the database of a store."""

    def __init__(self, store: PostgresStore, now: Callable[[], int | None] = lambda: None) -> None:
        self._database: Database = store.database
        self._now = now

    async def write(self, payload: Payload) -> None:
        key, body = check_key(payload.key), payload.body
        if len(body) <= CHUNK:
            await self._database.fetch(SQL["write_payload"], key, body, self._now())
            return
        starts = range(0, len(body), CHUNK)
        async with self._database.transaction() as connection:
            if not await connection.fetch(SQL["mark_payload"], key, len(starts), len(body), self._now()):
                return
            for part, start in enumerate(starts):
                await connection.fetch(SQL["add_chunk"], key, part, self._now(), body[start : start + CHUNK])

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Write bytes as they arrive, under a name of their own until their key is known."""
        digest, size, parts = hashlib.sha256(), 0, 0
        stream_key(execution_id, digest.hexdigest())
        name = f"{execution_id}/~{secrets.token_hex(8)}"
        try:
            async for chunk in _sized(chunks):
                digest.update(chunk)
                await self._database.fetch(SQL["add_chunk"], name, parts, self._now(), chunk)
                size, parts = size + len(chunk), parts + 1
            key = stream_key(execution_id, digest.hexdigest())
            async with self._database.transaction() as connection:
                if await connection.fetch(SQL["mark_payload"], key, parts, size, self._now()):
                    await connection.fetch(SQL["rename_chunks"], name, key)
        finally:
            await self._database.fetch(SQL["drop_chunks"], name)
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        return b"".join([piece async for piece in self.read_stream(key)])

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        part, parts = 0, 1
        while part < parts:
            rows = await self._database.fetch(SQL["read_payload"], check_key(key), part, part + READ_AT_ONCE)
            if not rows:
                raise NotFound(f"the payload {key} is not in the result store; it may have expired")
            part, parts = part + len(rows), rows[0]["parts"]
            for row in rows:
                yield row["body"]

    async def footprints(self) -> Sequence[Footprint]:
        return [Footprint(*row) for row in await self._database.fetch(SQL["footprints"])]

    async def discard(self, execution_id: str) -> None:
        check_key(f"{execution_id}/{'0' * 32}")
        await self._database.fetch(SQL["discard_payloads"], execution_id)


async def _sized(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in chunks of the one size, at least one chunk."""
    gathered, first = bytearray(), True
    async for chunk in chunks:
        gathered += chunk
        while len(gathered) >= CHUNK:
            yield bytes(gathered[:CHUNK])
            del gathered[:CHUNK]
            first = False
    if gathered or first:
        yield bytes(gathered)
