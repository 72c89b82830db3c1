"""The bytes of one connection to NATS, read as the words of its plain protocol; nothing outlives it."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypedDict

import msgspec

LONGEST_LINE = 64 * 1024  # what NATS says of itself and its cluster is longer than any subject
END = b"\r\n"
MessageReceiver = Callable[
    [bytes, bytes, bytes, bytes, bytes], None
]  # subscription, subject, reply, head, body


class ServerInfo(TypedDict, total=False):
    """What NATS says of itself first, as far as it matters here."""

    max_payload: int
    tls_required: bool
    headers: bool
    connect_urls: list[str]
    nonce: str


class Disconnected(Exception):
    """NATS is not there, or does not want us."""


class NatsConnection(asyncio.Protocol):
    """The bytes of one connection, read as the words of NATS."""

    def __init__(self, handler: MessageReceiver) -> None:
        self._subscriptions = handler
        self._rest = b""
        self._unsaid: list[bytes] = []
        loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.info: asyncio.Future[ServerInfo] = loop.create_future()
        self.over: asyncio.Future[str] = loop.create_future()  # why it ended
        self._pongs: list[asyncio.Future[None]] = []
        self._room = asyncio.Event()
        self._room.set()
        self.wrong = ""
        self.heard_at = time.monotonic()  # when the newest bytes came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a way."""
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone; whoever waits is told."""
        why = self.wrong or str(exc or "") or "the connection was closed"
        if not self.over.done():
            self.over.set_result(why)
        waiters: list[asyncio.Future[Any]] = [self.info, *self._pongs]
        for waiting in waiters:
            if not waiting.done():
                waiting.set_exception(Disconnected(why))
                waiting.exception()  # perhaps nobody looks
        self._room.set()

    def pause_writing(self) -> None:
        """The other side does not read fast enough."""
        self._room.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._room.set()

    @property
    def crowded(self) -> bool:
        """Whether what is written waits."""
        return not self._room.is_set()

    async def room(self) -> None:
        """Wait until more may be written."""
        await self._room.wait()

    def write(self, data: bytes) -> None:
        """Say something, together with all else that is said at this moment; raises Away."""
        if self.transport is None or self.transport.is_closing():
            raise Disconnected(self.wrong or "the connection is closed")
        if not self._unsaid:
            asyncio.get_running_loop().call_soon(self._say)
        self._unsaid.append(data)

    def _say(self) -> None:
        lines, self._unsaid = self._unsaid, []
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"".join(lines))

    def ping(self, before: bytes = b"") -> asyncio.Future[None]:
        """Ask for a sign of life; it comes behind everything that was said before."""
        pong: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.write(before + b"PING\r\n")
        self._pongs.append(pong)
        return pong

    @property
    def unanswered(self) -> int:
        """Signs of life that are missing."""
        return len(self._pongs)

    def end(self, why: str) -> None:
        """Give it up."""
        self.wrong = self.wrong or why
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read as many words as are whole."""
        self.heard_at = time.monotonic()
        data = self._rest + data if self._rest else data
        place, size = 0, len(data)
        while place < size:
            end = data.find(END, place)
            if end < 0:
                if size - place > LONGEST_LINE:
                    self.end("NATS said something that has no end")
                break
            behind = self._message(data, place, end) if data[place] in b"MH" else self._word(data[place:end])
            if behind == 0:
                place = end + 2
            elif behind > size:
                break
            else:
                place = behind
        self._rest = data[place:]

    def _message(self, data: bytes, place: int, end: int) -> int:
        """Hand a message on; where it ends, which may be behind what has come so far."""
        parts = data[place:end].split(b" ")
        stop = end + 2 + int(parts[-1])
        if len(data) >= stop + 2:
            with_head = parts[0] == b"HMSG"
            start = end + 2 + (int(parts[-2]) if with_head else 0)
            head = data[end + 2 : start]
            reply = parts[3] if len(parts) - with_head == 5 else b""
            self._subscriptions(parts[2], parts[1], reply, head, data[start:stop])
        return stop + 2

    def _word(self, line: bytes) -> int:
        word, _, rest = line.partition(b" ")
        if word == b"PING":
            with suppress(Disconnected):
                self.write(b"PONG\r\n")
        elif word == b"PONG" and self._pongs:
            pong = self._pongs.pop(0)
            if not pong.done():
                pong.set_result(None)
        elif word == b"INFO" and not self.info.done():
            self.info.set_result(msgspec.json.decode(rest))
        elif word == b"-ERR":
            self.wrong = rest.decode(errors="replace").strip("'")
        return 0
