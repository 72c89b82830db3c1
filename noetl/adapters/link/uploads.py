"""Long payloads that workers send piece by piece: each piece is on disk until all are here.

One that is whole goes into the result store in pieces too: no server ever holds it.
"""

import asyncio
import hashlib
import struct
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import IO

from noetl.errors import BackendError, RequestError
from noetl.ports.results import PIECE, check_digest

PLACE = struct.Struct("!16sQ")  # the number of an upload, and where in it a piece begins
NUMBER_BYTES = 16
QUIET_S = 60.0  # so long an upload waits for its next piece
UPLOADS_BYTES = 4 * 1024**3
UPLOADS_MOST = 256
Sender = tuple[Hashable, bytes]  # what proves who the worker is, and the number it gave
WriteStream = Callable[[str, AsyncIterator[bytes]], Awaitable[object]]  # of an execution


@dataclass(slots=True)
class _Upload:
    timer: asyncio.TimerHandle
    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    size: int = 0


class Uploads:
    """What is on its way to the result store of one server."""

    def __init__(self, write_stream: WriteStream) -> None:
        self._write_stream = write_stream
        self._here: dict[Sender, _Upload] = {}
        self.bytes = 0

    async def add(self, body: bytes, caller: Hashable) -> bytes:
        """Take the next piece of an upload; the first one begins it."""
        if len(body) < PLACE.size:
            raise RequestError("a piece of a payload does not say which")
        number, offset = PLACE.unpack(body[: PLACE.size])
        sender, piece = (caller, number), memoryview(body)[PLACE.size :]
        if offset == 0:
            self._begin(sender)
        upload = self._here.get(sender)
        if upload is None or upload.size != offset:
            self.drop(sender)
            raise BackendError("the pieces of the payload before this one are not here; send all of it again")
        if self.bytes + len(piece) > UPLOADS_BYTES:
            self.drop(sender)
            raise _full()
        self._append(sender, upload, piece)
        return b""

    def _begin(self, sender: Sender) -> None:
        self.drop(sender)
        if len(self._here) >= UPLOADS_MOST:
            raise _full()
        self._here[sender] = _Upload(self._later(sender))

    def _later(self, sender: Sender) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(QUIET_S, self.drop, sender)

    def _append(self, sender: Sender, upload: _Upload, piece: memoryview) -> None:
        upload.timer.cancel()
        upload.timer = self._later(sender)
        try:
            upload.file.write(piece)
        except OSError as error:
            self.drop(sender)
            raise BackendError(f"a payload cannot be put down on the server: {error.strerror}") from error
        upload.digest.update(piece)
        upload.size += len(piece)
        self.bytes += len(piece)

    async def keep(self, body: bytes, caller: Hashable) -> bytes:
        """Write a payload whose pieces are all here; raises RequestError when it is not that of its key."""
        upload = self._here.pop((caller, body[:NUMBER_BYTES]), None)
        if upload is None:
            raise BackendError("the pieces of the payload are not here; send all of it again")
        upload.timer.cancel()
        try:
            said = body[NUMBER_BYTES:].decode("utf-8", "replace")
            name = check_digest(said, upload.digest.hexdigest())
            await self._write_stream(name.partition("/")[0], _pieces(upload.file))
        finally:
            self._forget(upload)
        return b""

    def drop(self, sender: Sender) -> None:
        """Forget an upload."""
        upload = self._here.pop(sender, None)
        if upload is not None:
            upload.timer.cancel()
            self._forget(upload)

    def _forget(self, upload: _Upload) -> None:
        upload.file.close()
        self.bytes -= upload.size


async def _pieces(file: IO[bytes]) -> AsyncGenerator[bytes]:
    file.seek(0)
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece


def _full() -> BackendError:
    return BackendError("too many long payloads are on their way at once; ask again")
