"""A NATS connection that asks, answers and tells; messages of any size, errors as ours.

Only the plain protocol is used: nothing that is said here is kept by NATS, so nothing is lost with it. A
message over the server's payload limit goes in parts; who is asked keeps the parts of a long answer until
they are fetched.
"""

import asyncio
import secrets
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from noetl.adapters.nats.spoken import Away
from noetl.adapters.nats.wire import CONNECT_S, Message, Unheard, Wire
from noetl.errors import BackendError, Conflict, MissingExtra, NoetlError, NotFound, RequestError

Handler = Callable[[bytes], Awaitable[bytes]]
Heard = Callable[[bytes], None]

WHOLE, PART, MORE, ERROR = b"w", b"p", b"m", b"e"
_PLACE = struct.Struct("!16sII")  # id of the message, this part, how many parts
MARGIN = 4096  # of the payload limit, for what stands around a part
KEPT_S = 60.0  # how long parts wait for the rest, or to be fetched
RECONNECT_S = 0.2
ERRORS: dict[str, type[NoetlError]] = {
    kind.code: kind for kind in (NotFound, Conflict, RequestError, BackendError)
}


class NoAnswer(BackendError):
    """Nobody answered in time, or nobody is there."""


class Bus:
    """One connection to NATS."""

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name = url, name
        self._wire = Wire(url, name, lambda: self.on_connected())
        self._library: Any = None
        self._parts: dict[bytes, tuple[float, dict[int, bytes]]] = {}  # of long questions, as they come
        self._answers: dict[bytes, tuple[float, list[bytes]]] = {}  # long, until they are fetched
        self._tasks: set[asyncio.Task[Any]] = set()
        self.on_connected: Callable[[], None] = lambda: None

    async def connect(self) -> None:
        """Connect, and stay connected from then on; raises BackendError when the first attempt fails."""
        try:
            await self._wire.connect()
        except (OSError, Away, TimeoutError) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> BackendError:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        told = f"NATS cannot be reached at {shown(self.url)}: {why}"
        return BackendError(told, hint="start it, or correct NOETL_BUS")

    async def client(self) -> Any:
        """A connection of the client library, for what NATS keeps: streams and objects."""
        if self._library is None:
            try:
                import nats
                from nats.errors import Error
            except ImportError:
                raise MissingExtra("nats-py", "nats") from None
            try:
                self._library = await nats.connect(
                    self.url.split(","),
                    name=self.name,
                    connect_timeout=CONNECT_S,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=RECONNECT_S,
                    ping_interval=2,
                    max_outstanding_pings=2,
                    error_cb=_ignore,
                )
            except (OSError, Error, TimeoutError) as error:
                raise self._unreachable(error) from error
            self._library.options["max_reconnect_attempts"] = -1  # from now on it comes back, however long
        return self._library

    def go(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside, while there is a connection."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Telling

    def publish(self, subject: str, body: bytes) -> None:
        """Say something that need not arrive: whoever would have heard it asks again, or is told again."""
        if not self._wire.crowded:
            with suppress(Away):
                self._wire.publish(subject, WHOLE + body)

    def tell(self, subject: str, body: bytes, unheard: Callable[[], None]) -> bool:
        """Say something to one listener, unless it is too long or there is no way; whether it was said."""
        if self._wire.crowded or self.long(body):
            return False
        try:
            self._wire.tell(subject, WHOLE + body, unheard)
        except Away:
            return False
        return True

    def listen(self, subject: str, heard: Heard) -> None:
        """Hear everything that is said under a subject."""
        self._wire.subscribe(subject, lambda message: heard(message.body[1:]))

    # Asking

    async def request(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        """Ask and wait for the answer; raises NoAnswer, or the error that was answered."""
        if self.long(body):
            return await self._request_in_parts(subject, body, timeout_s)
        return await self._opened(subject, await self._ask(subject, WHOLE + body, timeout_s), timeout_s)

    async def _request_in_parts(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        number, pieces = secrets.token_bytes(16), list(_cut(body, self._room))
        for index, piece in enumerate(pieces):
            place = _PLACE.pack(number, index, len(pieces))
            answer = await self._ask(subject, PART + place + piece, timeout_s)
        return await self._opened(subject, answer, timeout_s)

    async def _opened(self, subject: str, answer: bytes, timeout_s: float) -> bytes:
        kind, rest = answer[:1], answer[1:]
        if kind == WHOLE:
            return rest
        if kind == MORE:
            number, _, count = _PLACE.unpack(rest[: _PLACE.size])
            place = rest[_PLACE.size :].decode()
            asks = [PART + _PLACE.pack(number, index, count) for index in range(count)]
            pieces = [(await self._ask(place, ask, timeout_s))[1:] for ask in asks]
            return b"".join(pieces)
        raise _error(rest)

    async def _ask(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        try:
            return await self._wire.request(subject, body, timeout_s)
        except (Away, Unheard, TimeoutError) as error:
            raise NoAnswer(f"no answer from {subject}: {str(error) or type(error).__name__}") from None

    def long(self, body: bytes) -> bool:
        """Whether a message has to go in parts."""
        return len(body) + 1 > self._room

    @property
    def _room(self) -> int:
        return self._wire.max_payload - MARGIN

    # Answering

    def serve(self, subject: str, handler: Handler, queue: str = "") -> None:
        """Answer what is asked under a subject, many at once."""
        self._wire.subscribe(subject, lambda message: self.go(self._answer(message, handler)), queue)

    def serve_parts(self, subject: str) -> None:
        """Let those who ask fetch the parts of long answers."""
        self._place = subject
        self.serve(subject, self._fetched)

    async def _fetched(self, body: bytes) -> bytes:
        raise RequestError("only parts of an answer are fetched here")

    async def _answer(self, message: Message, handler: Handler) -> None:
        try:
            answer = await self._answer_to(message.body, handler)
        except NoetlError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            answer = ERROR + msgspec.json.encode(told)
        if answer and message.reply:
            if self._wire.crowded:
                await self._wire.room()
            with suppress(Away):  # whoever asked will ask again
                self._wire.publish(message.reply, answer)

    async def _answer_to(self, data: bytes, handler: Handler) -> bytes:
        kind, body = data[:1], data[1:]
        if kind == PART:
            place: tuple[bytes, int, int] = _PLACE.unpack(body[: _PLACE.size])
            number, index, count = place
            if number in self._answers:
                return WHOLE + self._answers[number][1][index]
            whole = self._joined(number, index, count, body[_PLACE.size :])
            if whole is None:
                return WHOLE
            body = whole
        return self._closed(await handler(body))

    def _joined(self, number: bytes, index: int, count: int, piece: bytes) -> bytes | None:
        """The whole question, once all its parts are here."""
        self._drop_old()
        _, pieces = self._parts.setdefault(number, (time.monotonic(), {}))
        pieces[index] = piece
        if len(pieces) < count:
            return None
        del self._parts[number]
        return b"".join(pieces[place] for place in range(count))

    def _closed(self, answer: bytes) -> bytes:
        if not self.long(answer):
            return WHOLE + answer
        self._drop_old()
        number, pieces = secrets.token_bytes(16), list(_cut(answer, self._room))
        self._answers[number] = (time.monotonic(), pieces)
        return MORE + _PLACE.pack(number, 0, len(pieces)) + self._place.encode()

    _place = ""

    def _drop_old(self) -> None:
        old = time.monotonic() - KEPT_S
        for kept in (self._parts, self._answers):
            for number in [number for number, (since, _) in kept.items() if since < old]:
                del kept[number]

    async def close(self) -> None:
        """Send what is waiting, then disconnect."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._library is not None:
            await self._library.close()
        await self._wire.close()


async def _ignore(error: Exception) -> None:
    """The client reconnects by itself; who waits for an answer is told by its absence."""


def _cut(body: bytes, size: int) -> Iterator[bytes]:
    size -= _PLACE.size
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _error(body: bytes) -> NoetlError:
    told = msgspec.json.decode(body)
    kind = ERRORS.get(told["code"], BackendError)
    return kind(told["message"], hint=told["hint"])


def shown(url: str) -> str:
    """An address without the passwords in it."""
    return ",".join(_without_password(one) for one in url.split(","))


def _without_password(url: str) -> str:
    head, separator, rest = url.rpartition("://")
    return f"{head}{separator}{rest.rpartition('@')[2]}"
