"""One connection of the direct link, either end: messages over frames, long ones in pieces, signs of life.

A message has a kind and a number: requests are numbered by whoever asks, an answer has the number of its
request. What is longer than a frame goes as pieces before it, beside other messages.

What is said in one turn of the event loop is written together: one system call here, one wake-up there.
"""

import asyncio
import logging
import struct
from typing import Any

from noetl import __version__
from noetl.adapters.direct.frames import (
    BINARY,
    CLOSE,
    FRAME_BYTES,
    PING,
    PONG,
    TOO_LONG,
    UNFIT,
    FrameError,
    FrameReader,
    close_reason,
    encode_close,
    encode_frame,
)
from noetl.adapters.link.error_reply import decode_error, encode_error
from noetl.errors import RequestError

_LOG = logging.getLogger("noetl.link")
_HEAD = struct.Struct("!BI")  # kind and number
REQUEST, ANSWER, FAILURE, NOTICE, PIECE = range(1, 6)
PIECE_BYTES = 256 * 1024
ROOM = FRAME_BYTES // 2  # of a message that goes at once
HELD_BYTES = 64 * 1024  # so many are written without waiting for more
UNANSWERED_PINGS = 3
NUMBERS = 2**32


class LinkClosed(Exception):
    """The connection is over, or was never there."""


class Budget:
    """Bytes that may be held for others, over all connections that share it."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    def take(self, size: int) -> bool:
        """Whether so many more may be held; they are then."""
        if self.held + size > self.most:
            return False
        self.held += size
        return True

    def give(self, size: int) -> None:
        """They are not held any more."""
        self.held -= size


class LinkConnection(asyncio.Protocol):
    """What both ends do."""

    client = False

    def __init__(self, budget: Budget) -> None:
        self._reader = FrameReader(self._received, masked=not self.client)
        self._budget = budget  # of messages that are not whole yet
        self._pieces: dict[int, list[bytes]] = {}
        self._unanswered = 0
        self._warned = False
        self._unwritten: list[bytes] = []  # frames of this turn
        self._unwritten_bytes = 0
        self.transport: Any = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.why = ""  # it ended
        self.loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[str] = self.loop.create_future()

    # What each end does with messages

    def message(self, kind: int, number: int, body: bytes) -> None:
        """A whole message has come."""
        raise NotImplementedError

    def ended(self) -> None:
        """The connection is over."""

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a way."""
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone; whoever waits is told."""
        self.why = self.why or str(exc or "") or "the connection was closed"
        self._writable.set()
        for number in list(self._pieces):
            self._joined(number)
        if not self.lost.done():
            self.lost.set_result(self.why)
        self.ended()

    def pause_writing(self) -> None:
        """The other side does not read fast enough."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._writable.set()

    @property
    def crowded(self) -> bool:
        """Whether what is written waits, or is lost."""
        return not self._writable.is_set() or self.closed

    @property
    def closed(self) -> bool:
        """Whether nothing can be said any more."""
        return self.transport is None or bool(self.transport.is_closing())

    def data_received(self, data: bytes) -> None:
        """Hand on the messages that are whole."""
        self._unanswered = 0
        try:
            self._reader.feed(data)
        except FrameError as error:
            self.close(error.code, str(error))

    def _received(self, opcode: int, body: bytes) -> None:
        if opcode == BINARY:
            self._message(body)
        elif opcode == PING:
            self._write(encode_frame(PONG, body, masked=self.client))
        elif opcode == CLOSE:
            self.why = self.why or close_reason(body)
            self._write_all()
            self.transport.close()

    def _message(self, body: bytes) -> None:
        if len(body) < _HEAD.size:
            raise FrameError(UNFIT, "a message has a kind and a number")
        kind, number = _HEAD.unpack_from(body)
        if kind == PIECE:
            self._keep(number, body[_HEAD.size :])
            return
        body = body[_HEAD.size :]
        if self._pieces and kind != NOTICE and number in self._pieces:
            body = self._joined(number) + body
        self.message(kind, number, body)

    def _keep(self, number: int, piece: bytes) -> None:
        if not self._budget.take(len(piece)):
            raise FrameError(TOO_LONG, f"more than {self._budget.most} bytes of long messages at once")
        self._pieces.setdefault(number, []).append(piece)

    def _joined(self, number: int) -> bytes:
        whole = b"".join(self._pieces.pop(number))
        self._budget.give(len(whole))
        return whole

    # Saying

    def _write(self, frame: bytes) -> None:
        """Write a frame at the end of this turn, with what else is said in it."""
        if not self._unwritten:
            self.loop.call_soon(self._write_all)
        self._unwritten.append(frame)
        self._unwritten_bytes += len(frame)
        if self._unwritten_bytes > HELD_BYTES:
            self._write_all()

    def _write_all(self) -> None:
        frames, self._unwritten, self._unwritten_bytes = self._unwritten, [], 0
        if frames and not self.closed:
            self.transport.write(b"".join(frames))

    def send(self, kind: int, number: int, body: bytes) -> None:
        """Say something that goes at once; raises LinkClosed."""
        if self.closed:
            raise LinkClosed(self.why or "there is no connection")
        self._write(encode_frame(BINARY, _HEAD.pack(kind, number) + body, masked=self.client))

    async def send_long(self, kind: int, number: int, body: bytes) -> None:
        """Say something of any length, as fast as the other side reads; raises LinkClosed."""
        place = 0
        while len(body) - place > ROOM:
            await self._writable.wait()
            self.send(PIECE, number, body[place : place + PIECE_BYTES])
            place += PIECE_BYTES
        await self._writable.wait()
        self.send(kind, number, body[place:])

    def ping(self) -> None:
        """Ask for a sign of life; gives up when several were not answered by anything."""
        if self.closed:
            return
        if self._unanswered >= UNANSWERED_PINGS:
            self.abort("the other side does not answer any more")
            return
        self._unanswered += 1
        self._write(encode_frame(PING, b"", masked=self.client))

    def refuse(self, kind: int, number: int, body: bytes) -> None:
        """Answer a message of a kind that nobody here knows; a refusal itself is noted, not answered."""
        name = f"a notice of kind {body[:1]!r}" if kind == NOTICE else f"a message of kind {kind}"
        if kind == FAILURE:
            self._warn(f"the other side says: {decode_error(body).message}")
            return
        self._warn(f"{name} came, which release {__version__} does not know")
        if not self.closed:
            error = RequestError(f"{name} is nothing that release {__version__} knows")
            self.send(FAILURE, number, encode_error(error))

    def _warn(self, message: str) -> None:
        """Say once per connection that the ends do not understand each other."""
        if not self._warned:
            self._warned = True
            _LOG.warning(message)

    def close(self, code: int, reason: str) -> None:
        """Say why, and end."""
        self.why = self.why or reason
        if not self.closed:
            self._write(encode_close(code, reason, masked=self.client))
            self._write_all()
            self.transport.close()

    def abort(self, reason: str) -> None:
        """End at once."""
        self.why = self.why or reason
        if self.transport is not None:
            self.transport.abort()
