"""The result store as files: `<folder>/<execution_id>/<digest>`, written whole or not at all."""

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import NamedTemporaryFile

from noetl.core.message import Payload
from noetl.errors import BackendError, NotFound

_KEY = re.compile(r"[0-9a-f]{32}/[0-9a-f]{32}")


class DirectoryResults:
    """Payloads as files of one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise NotFound(f"{key!r} is no key of this result store")
        return self.folder / key

    async def write(self, payload: Payload) -> None:
        """Write a payload durably."""
        path = self._path(payload.key)
        if not path.exists():
            await asyncio.to_thread(_write_whole, path, payload.body)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Write bytes as they arrive."""
        folder = self.folder / execution_id
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with NamedTemporaryFile(dir=folder, prefix=".part-", delete=False) as file:
            try:
                async for chunk in chunks:
                    digest.update(chunk)
                    size += len(chunk)
                    await asyncio.to_thread(file.write, chunk)
                await asyncio.to_thread(_sync, file.fileno(), file.flush)
            except BaseException:
                os.unlink(file.name)
                raise
        key = f"{execution_id}/{digest.hexdigest()[:32]}"
        os.replace(file.name, self._path(key))
        return key, size, digest.hexdigest()

    async def read(self, key: str) -> bytes:
        """The bytes of a payload."""
        try:
            return await asyncio.to_thread(self._path(key).read_bytes)
        except FileNotFoundError:
            raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None

    async def collect(self, live: frozenset[str], older_than_ms: int) -> int:
        """Remove the payloads of executions that are over."""
        return await asyncio.to_thread(self._collect, live, older_than_ms)

    def _collect(self, live: frozenset[str], older_than_ms: int) -> int:
        removed = 0
        for folder in self.folder.iterdir() if self.folder.exists() else ():
            if folder.name in live or folder.stat().st_mtime * 1000 > older_than_ms:
                continue
            removed += sum(1 for _ in folder.iterdir())
            shutil.rmtree(folder)
        return removed


def _write_whole(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as file:
            file.write(body)
            _sync(file.fileno(), file.flush)
        os.replace(file.name, path)
    except OSError as error:
        raise BackendError(f"the payload {path} could not be written: {error}") from error


def _sync(number: int, flush: object) -> None:
    flush()  # type: ignore[operator]
    os.fsync(number)
