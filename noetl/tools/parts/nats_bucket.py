"""A bucket of the NATS object store, as the object kind uses buckets."""

from collections.abc import AsyncIterator
from io import BufferedReader
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.bucket import PIECE, Mode, Opened
from noetl.tools.parts.nats_link import library, link, naming_failures

if TYPE_CHECKING:
    from nats.js.api import ObjectInfo
    from nats.js.object_store import ObjectStore


class NatsBucket:
    """A bucket of the NATS object store; made when something is first put into it."""

    def __init__(self, address: str, call: Call) -> None:
        library()  # here, so that what is missing is named before anything is asked of it
        parts = urlsplit(address)
        self.name = parts.netloc
        self.prefix = f"{parts.path.strip('/')}/" if parts.path.strip("/") else ""
        self.call = call

    async def _open(self, *, make: bool = False) -> "ObjectStore":
        import nats.js.errors as js

        stream = (await link(self.call)).jetstream()
        try:
            return await stream.object_store(self.name)
        except js.NotFoundError:
            if not make:
                raise
            return await stream.create_object_store(self.name)

    async def open(self, key: str) -> Opened:
        """An object, to be read piece by piece: it arrives in a file, which keeps the memory free."""
        with naming_failures(key):
            store = await self._open()
            size = int((await store.get_info(self.prefix + key)).size or 0)
        return Opened(size, self._pieces(store, key))

    async def _pieces(self, store: "ObjectStore", key: str) -> AsyncIterator[bytes]:
        import tempfile

        with tempfile.TemporaryFile() as file:
            with naming_failures(key):
                await store.get(self.prefix + key, writeinto=file)
            file.seek(0)
            while piece := file.read(PIECE):
                yield piece

    async def head(self, key: str) -> dict[str, Json]:
        with naming_failures(key):
            return _entry(await (await self._open()).get_info(self.prefix + key), self.prefix)

    async def put(self, key: str, raw: bytes | BufferedReader, mode: Mode) -> str | None:
        with naming_failures(key):
            store = await self._open(make=True)
            if mode == "create" and await self._exists(store, key):
                raise Failed("exists", f"the object {key!r} is there already", answered=True)
            info = await store.put(self.prefix + key, raw)
        return str(info.digest) if info.digest else None

    async def _exists(self, store: "ObjectStore", key: str) -> bool:
        import nats.js.errors as js

        try:
            await store.get_info(self.prefix + key)
        except js.NotFoundError:
            return False
        return True

    async def list(self, prefix: str | None, limit: int) -> list[dict[str, Json]]:
        start = self.prefix + (prefix or "")
        with naming_failures(start):
            infos = await (await self._open()).list(ignore_deletes=True)
        selection = sorted(
            (info for info in infos if info.name.startswith(start)), key=lambda info: str(info.name)
        )
        return [_entry(info, self.prefix) for info in selection[:limit]]

    async def delete(self, key: str) -> None:
        with naming_failures(key):
            await (await self._open()).delete(self.prefix + key)


def _entry(info: "ObjectInfo", prefix: str) -> dict[str, Json]:
    key = info.name.removeprefix(prefix)
    return {"key": key, "bytes": info.size, "modified": info.mtime, "etag": info.digest}
