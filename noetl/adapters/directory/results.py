"""The result store as files: `<folder>/<execution_id>/<digest>`, written whole or not at all.

A payload that was written is durable: its bytes, its name and the name of its folder are synced first.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkstemp
from types import TracebackType
from typing import IO

from noetl.core.message import Payload
from noetl.errors import BackendError, NotFound
from noetl.ports.results import PIECE, Footprint, check_key, stream_key

Raised = tuple[type[BaseException], BaseException, TracebackType]

PART = ".part-"


class DirectoryResults:
    """Payloads as files of one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    async def write(self, payload: Payload) -> None:
        await asyncio.to_thread(self._write, self.folder / check_key(payload.key), payload.body)

    def _write(self, path: Path, body: bytes) -> None:
        if path.exists():
            return
        with _store_errors(f"the payload {path} could not be written"):
            self._make_folder(path.parent)
            with _part(path.parent) as (file, name):
                file.write(body)
                _keep(file, name, path)

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        digest, size = hashlib.sha256(), 0
        folder = (self.folder / stream_key(execution_id, digest.hexdigest())).parent
        errors = partial(_store_errors, f"a payload of {execution_id} could not be written")
        with errors():
            await asyncio.to_thread(self._make_folder, folder)
        with _part(folder) as (file, name):
            async for chunk in chunks:  # what its source raises is not the store's
                digest.update(chunk)
                size += len(chunk)
                with errors():
                    await asyncio.to_thread(file.write, chunk)
            key = stream_key(execution_id, digest.hexdigest())
            with errors():
                await asyncio.to_thread(_keep, file, name, self.folder / key)
        return key, size, digest.hexdigest()

    def _make_folder(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        _sync(self.folder)

    async def read(self, key: str) -> bytes:
        path = self.folder / check_key(key)
        with _read_errors(key, path):
            return await asyncio.to_thread(path.read_bytes)

    async def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        path = self.folder / check_key(key)
        with _read_errors(key, path):
            file = await asyncio.to_thread(path.open, "rb")
        with file:
            while True:
                with _read_errors(key, path):
                    piece = await asyncio.to_thread(file.read, PIECE)
                if not piece:
                    return
                yield piece

    async def footprints(self) -> Sequence[Footprint]:
        return await asyncio.to_thread(lambda: list(self._footprints()))

    def _footprints(self) -> Iterator[Footprint]:
        for folder in sorted(self.folder.iterdir()) if self.folder.exists() else ():
            stats = [file.stat() for file in folder.iterdir()]
            newest = max((stat.st_mtime for stat in (*stats, folder.stat())), default=0.0)
            yield Footprint(folder.name, len(stats), sum(stat.st_size for stat in stats), int(newest * 1000))

    async def discard(self, execution_id: str) -> None:
        folder = (self.folder / check_key(f"{execution_id}/{'0' * 32}")).parent
        with _store_errors(f"the payloads of {execution_id} could not be removed"):
            await asyncio.to_thread(shutil.rmtree, folder, onerror=_unless_gone)


@contextmanager
def _store_errors(what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        hint = "check the space on the disk and the rights of the folder"
        raise BackendError(f"{what}: {error}", hint=hint) from error


@contextmanager
def _read_errors(key: str, path: Path) -> Iterator[None]:
    try:
        with _store_errors(f"the payload {path} could not be read"):
            yield
    except FileNotFoundError:
        raise NotFound(f"the payload {key} is not in the result store; it may have expired") from None


@contextmanager
def _part(folder: Path) -> Iterator[tuple[IO[bytes], str]]:
    """A file that is gone again, unless it was given a name."""
    with _store_errors(f"a payload could not be begun in {folder}"):
        descriptor, name = mkstemp(dir=folder, prefix=PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file, name
    finally:
        Path(name).unlink(missing_ok=True)


def _keep(file: IO[bytes], name: str, path: Path) -> None:
    """Bytes first, then their name: after a crash there is the whole payload or none."""
    file.flush()
    os.fsync(file.fileno())
    os.replace(name, path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unless_gone(
    function: Callable[..., object],
    path: str,
    error: tuple[type[BaseException], BaseException, TracebackType],
) -> None:
    if not isinstance(error[1], FileNotFoundError):
        raise error[1]
