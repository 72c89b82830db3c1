"""The result store in a NATS object store: one object per payload. It goes when NATS is wiped."""

import asyncio
import base64
import hashlib
import io
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import cast

from noetl.core.message import Payload
from noetl.errors import BackendError, MissingExtra, NotFound
from noetl.ports.results import PIECE, Footprint, check_key, stream_key

try:
    from nats.aio.client import Client
    from nats.errors import Error
    from nats.js.api import ObjectInfo
    from nats.js.errors import BucketNotFoundError, NotFoundError
    from nats.js.object_store import ObjectStore
except ImportError as error:
    raise MissingExtra("nats-py", "nats") from error

BUCKET = "noetl_results"
IN_MEMORY_BYTES = 8 * 1024**2
PATIENCE_S = 60.0  # for one payload
EPOCH = "1970-01-01T00:00:00Z"  # of an object that does not say when it was written


class NatsResults:
    """Payloads as objects, over a connection that someone else looks after."""

    def __init__(self, client: Client, bucket: str = BUCKET) -> None:
        self._stream, self._bucket = client.jetstream(), bucket

    async def _objects(self) -> ObjectStore:
        """The bucket; it is made when it is not there, perhaps not any more."""
        try:
            return await self._stream.object_store(self._bucket)
        except (BucketNotFoundError, NotFoundError):
            return await self._stream.create_object_store(self._bucket)

    async def write(self, payload: Payload) -> None:
        await self._put(check_key(payload.key), io.BytesIO(payload.body))

    async def _put(self, key: str, body: io.BufferedIOBase) -> None:
        with _store_errors(f"the payload {key} could not be written to NATS"):
            async with asyncio.timeout(PATIENCE_S):
                objects = await self._objects()
                try:
                    await objects.get_info(key)
                except NotFoundError:
                    await objects.put(key, body)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Gather bytes as they arrive, since their key is known at their end, then write them."""
        digest, size = hashlib.sha256(), 0
        stream_key(execution_id, digest.hexdigest())
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as gathered:
            async for chunk in chunks:
                gathered.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            gathered.seek(0)
            key = stream_key(execution_id, digest.hexdigest())
            await self._put(key, cast(io.BufferedIOBase, gathered))
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        body = io.BytesIO()
        await self._get(key, body)
        return body.getvalue()

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        """Gather the bytes, since its client verifies them at their end, then read them again."""
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as gathered:
            await self._get(key, cast(io.BufferedIOBase, gathered))
            gathered.seek(0)
            while piece := gathered.read(PIECE):
                yield piece

    async def _get(self, key: str, body: io.BufferedIOBase) -> None:
        try:
            with _store_errors(f"the payload {check_key(key)} could not be read from NATS"):
                async with asyncio.timeout(PATIENCE_S):
                    await (await self._objects()).get(key, writeinto=body)
        except NotFoundError:
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def footprints(self) -> Sequence[Footprint]:
        footprints: dict[str, Footprint] = {}
        for info in await self._listed():
            execution_id = info.name.partition("/")[0]
            footprint = footprints.setdefault(execution_id, Footprint(execution_id, 0, 0, 0))
            footprint.payloads, footprint.bytes = footprint.payloads + 1, footprint.bytes + (info.size or 0)
            footprint.written_at = max(
                footprint.written_at, int(datetime.fromisoformat(info.mtime or EPOCH).timestamp() * 1000)
            )
        return [footprints[execution_id] for execution_id in sorted(footprints)]

    async def _listed(self) -> list[ObjectInfo]:
        with _store_errors("the payloads in NATS could not be listed"):
            async with asyncio.timeout(PATIENCE_S):
                try:
                    return list(await (await self._objects()).list(ignore_deletes=True))
                except NotFoundError:
                    return []

    async def discard(self, execution_id: str) -> None:
        """Remove every payload of an execution, and the marks that removing leaves."""
        check_key(f"{execution_id}/{'0' * 32}")
        own = [info.name for info in await self._listed() if info.name.startswith(f"{execution_id}/")]
        with _store_errors(f"the payloads of {execution_id} could not be removed from NATS"):
            for name in own:
                try:
                    await (await self._objects()).delete(name)
                except NotFoundError:
                    continue  # another was quicker
                mark = base64.urlsafe_b64encode(name.encode()).decode()
                await self._stream.purge_stream(f"OBJ_{self._bucket}", subject=f"$O.{self._bucket}.M.{mark}")


@contextmanager
def _store_errors(what: str) -> Iterator[None]:
    try:
        yield
    except NotFoundError:
        raise
    except (Error, OSError, TimeoutError) as error:
        raise BackendError(f"{what}: {str(error) or type(error).__name__}") from error
