"""The result store in an S3-compatible object store: `s3://bucket/prefix`, one object per payload."""

import hashlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from noetl.core.message import Payload
from noetl.errors import BackendError, MissingExtra, NotFound, RequestError
from noetl.ports.results import PIECE, Footprint, check_key, stream_key

try:
    import obstore
    from obstore.exceptions import BaseError, NotFoundError
    from obstore.store import S3Store
except ImportError as error:
    raise MissingExtra("obstore", "server") from error

if TYPE_CHECKING:
    from obstore.store import S3Config

SCHEME = "s3"
PART = ".part-"  # a stream whose key is not known yet
RETRIES, RETRY_S, TIMEOUT_S = 4, 15.0, "30s"


class ObjectResults:
    """Payloads as objects of one bucket.

    Keys, region and endpoint are options called as in the environment of AWS tools (`AWS_ENDPOINT_URL`, …);
    what is not given is taken from the environment.
    """

    def __init__(self, url: str, options: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme != SCHEME or not parts.netloc:
            raise RequestError(f"{url!r} is no address of an object store", hint="s3://BUCKET/PREFIX")
        self.url = url
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config=_config(options or {}),
            client_options={"allow_http": True, "timeout": TIMEOUT_S, "connect_timeout": "5s"},
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_S)},
        )

    async def write(self, payload: Payload) -> None:
        key = check_key(payload.key)
        with _store_errors(f"the payload {key} could not be written to {self.url}"):
            await obstore.put_async(self._store, key, payload.body)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Write bytes as they arrive, under a name of their own until their key is known."""
        stream_key(execution_id, hashlib.sha256().hexdigest())
        name = f"{execution_id}/{PART}{secrets.token_hex(8)}"
        errors = partial(_store_errors, f"a payload of {execution_id} could not be written to {self.url}")
        digest, size = hashlib.sha256(), 0
        writer = obstore.open_writer_async(self._store, name)
        async for chunk in chunks:  # what its source raises is not the store's, and nothing is kept then
            digest.update(chunk)
            size += len(chunk)
            with errors():
                await writer.write(chunk)
        key = stream_key(execution_id, digest.hexdigest())
        with errors():
            await writer.close()
            await obstore.rename_async(self._store, name, key)
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        try:
            with _store_errors(f"the payload {key} could not be read from {self.url}"):
                return bytes(await (await obstore.get_async(self._store, check_key(key))).bytes_async())
        except (NotFoundError, FileNotFoundError):
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        try:
            with _store_errors(f"the payload {key} could not be read from {self.url}"):
                answer = await obstore.get_async(self._store, check_key(key))
                async for piece in answer.stream(min_chunk_size=PIECE):
                    yield bytes(piece)
        except (NotFoundError, FileNotFoundError):
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def footprints(self) -> Sequence[Footprint]:
        footprints: dict[str, Footprint] = {}
        async for path, size, written_at in self._listed(None):
            execution_id, _, name = path.partition("/")
            footprint = footprints.setdefault(execution_id, Footprint(execution_id, 0, 0, 0))
            if not name.startswith(PART):
                footprint.payloads, footprint.bytes = footprint.payloads + 1, footprint.bytes + size
            footprint.written_at = max(footprint.written_at, written_at)
        return [footprints[execution_id] for execution_id in sorted(footprints)]

    async def discard(self, execution_id: str) -> None:
        check_key(f"{execution_id}/{'0' * 32}")
        paths = [path async for path, _, _ in self._listed(execution_id)]
        if paths:
            with _store_errors(f"the payloads of {execution_id} could not be removed from {self.url}"):
                await obstore.delete_async(self._store, paths)

    async def _listed(self, prefix: str | None) -> AsyncIterator[tuple[str, int, int]]:
        with _store_errors(f"{self.url} could not be listed"):
            async for some in obstore.list(self._store, prefix):
                for object_meta in some:
                    yield (
                        object_meta["path"],
                        object_meta["size"],
                        int(object_meta["last_modified"].timestamp() * 1000),
                    )


def _config(options: Mapping[str, str]) -> "S3Config":
    return cast("S3Config", {name.lower(): value for name, value in options.items()})


@contextmanager
def _store_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise
    except (BaseError, OSError) as error:
        message = " ".join(str(error).partition("Debug source")[0].split())
        hint = "check the bucket, AWS_ENDPOINT_URL and the keys; the same may work later"
        raise BackendError(f"{what}: {message}", hint=hint) from error
