"""A NATS connection that asks, answers and tells; messages of any size, errors as ours.

Only the plain protocol is used: nothing that is said here is kept by NATS, so nothing is lost with it. A
message over the server's payload limit goes in parts; who is asked keeps the parts of a long answer until
they are fetched.
"""

import asyncio
import secrets
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

from noetl.errors import BackendError, Conflict, MissingExtra, NoetlError, NotFound, RequestError

Handler = Callable[[bytes], Awaitable[bytes]]
Heard = Callable[[bytes], Awaitable[None]]

WHOLE, PART, MORE, ERROR = b"w", b"p", b"m", b"e"
_PLACE = struct.Struct("!16sII")  # id of the message, this part, how many parts
MARGIN = 4096  # of the payload limit, for what stands around a part
KEPT_S = 60.0  # how long parts wait for the rest, or to be fetched
CONNECT_S = 5.0
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
        self._client: Any = None
        self._parts: dict[bytes, tuple[float, dict[int, bytes]]] = {}  # of long questions, as they come
        self._answers: dict[bytes, tuple[float, list[bytes]]] = {}  # long, until they are fetched
        self._out: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(10_000)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.on_connected: Callable[[], None] = lambda: None

    async def connect(self) -> None:
        """Connect, and stay connected from then on; raises BackendError when the first attempt fails."""
        try:
            import nats
            from nats.errors import Error
        except ImportError:
            raise MissingExtra("nats-py", "nats") from None
        try:
            self._client = await nats.connect(
                self.url,
                name=self.name,
                connect_timeout=CONNECT_S,
                max_reconnect_attempts=1,
                reconnect_time_wait=RECONNECT_S,
                ping_interval=2,
                max_outstanding_pings=2,
                error_cb=_ignore,
                reconnected_cb=self._reconnected,
            )
            self._client.options["max_reconnect_attempts"] = -1  # from now on it comes back, however long
        except (OSError, Error, TimeoutError) as error:
            told = f"NATS cannot be reached at {shown(self.url)}: {str(error) or type(error).__name__}"
            raise BackendError(told, hint="start it, or correct NOETL_BUS") from error
        self._go(self._send())

    async def _reconnected(self) -> None:
        self.on_connected()

    @property
    def client(self) -> Any:
        """The connection itself."""
        return self._client

    def _go(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Telling

    def publish(self, subject: str, body: bytes) -> None:
        """Say something that need not arrive."""
        try:
            self._out.put_nowait((subject, WHOLE + body))
        except asyncio.QueueFull:
            return  # whoever would have heard it asks again, or is told again

    async def _send(self) -> None:
        from nats.errors import Error

        while True:
            subject, body = await self._out.get()
            try:
                await self._client.publish(subject, body)
            except (Error, OSError):
                continue  # the connection is away; it need not arrive

    async def listen(self, subject: str, heard: Heard) -> None:
        """Hear everything that is said under a subject."""

        async def received(message: Any) -> None:
            await heard(message.data[1:])

        await self._client.subscribe(subject, cb=received)

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
        from nats.errors import Error

        try:
            message = await self._client.request(subject, body, timeout=timeout_s)
        except (Error, OSError, TimeoutError) as error:
            raise NoAnswer(f"no answer from {subject}: {str(error) or type(error).__name__}") from None
        answer: bytes = message.data
        return answer

    def long(self, body: bytes) -> bool:
        """Whether a message has to go in parts."""
        return len(body) + 1 > self._room

    @property
    def _room(self) -> int:
        return int(self._client.max_payload) - MARGIN

    # Answering

    async def serve(self, subject: str, handler: Handler, queue: str = "") -> None:
        """Answer what is asked under a subject, many at once."""

        async def received(message: Any) -> None:
            self._go(self._answer(message, handler))

        await self._client.subscribe(subject, queue=queue, cb=received)

    async def serve_parts(self, subject: str) -> None:
        """Let those who ask fetch the parts of long answers."""
        self._place = subject
        await self.serve(subject, self._fetched)

    async def _fetched(self, body: bytes) -> bytes:
        raise RequestError("only parts of an answer are fetched here")

    async def _answer(self, message: Any, handler: Handler) -> None:
        from nats.errors import Error

        try:
            answer = await self._answer_to(message.data, handler)
        except NoetlError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            answer = ERROR + msgspec.json.encode(told)
        if answer:
            try:
                await message.respond(answer)
            except (Error, OSError):
                return  # whoever asked will ask again

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
        if self._client is not None:
            from nats.errors import Error

            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._client.flush()
            except (Error, OSError, TimeoutError):
                pass
            await self._client.close()


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
    """An address without the password in it."""
    head, separator, rest = url.partition("://")
    return f"{head}{separator}{rest.rpartition('@')[2]}"
