"""A NATS connection that asks, answers and tells; messages of any size, errors as ours.

Only the plain protocol is used: nothing that is said here is kept by NATS, so nothing is lost with it. A
message over the server's payload limit goes in parts; who is asked keeps the parts of a long answer until
they are fetched. Anyone may speak here, so whatever is kept or begun for others has its bounds.
"""

import asyncio
import logging
import secrets
import struct
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from noetl.adapters.link.error_reply import decode_error, encode_error
from noetl.adapters.link.requests import NoAnswer
from noetl.adapters.nats.chunk_buffer import ChunkBuffer
from noetl.adapters.nats.login import NO_LOGIN, BusLogin
from noetl.adapters.nats.protocol import Disconnected
from noetl.adapters.nats.wire import CONNECT_S, Message, NatsClient, NoResponder
from noetl.errors import BackendError, MissingExtra, NoetlError, RequestError
from noetl.ports.shown_address import each_address

if TYPE_CHECKING:
    from nats.aio.client import Client

_LOG = logging.getLogger("noetl.nats")
Handler = Callable[[bytes], Awaitable[bytes]]
SubjectHandler = Callable[[str, bytes], Awaitable[bytes]]
BodyHandler = Callable[[bytes], None]

WHOLE, PART, MORE, ERROR = b"w", b"p", b"m", b"e"
_PLACE = struct.Struct("!16sII")  # id of the message, this part, how many parts
MARGIN = 4096  # of the payload limit, for what stands around a part
QUESTIONS_BYTES = 256 * 1024**2  # of long questions that are not whole yet, or not answered
ANSWERS_BYTES = 256 * 1024**2  # of long answers that are being fetched, unless one alone is longer
BUSY_BYTES = 256 * 1024**2  # of messages that are being dealt with; more are as if they had not been heard
BUSY_MOST = 20_000
RECONNECT_S = 0.2


class Bus:
    """One connection to NATS."""

    def __init__(self, url: str, name: str, login: BusLogin = NO_LOGIN) -> None:
        self.url, self.name, self._login = url, name, login
        self._wire = NatsClient(url, name, lambda: self.on_connected(), login)
        self._library: Client | None = None
        self._questions = ChunkBuffer(QUESTIONS_BYTES)
        self._answers = ChunkBuffer(ANSWERS_BYTES)
        self._tasks: dict[asyncio.Task[None], int] = {}  # and the bytes that each deals with
        self._busy_bytes = 0
        self._place = ""  # the subject under which parts of long answers are fetched
        self.on_connected: Callable[[], None] = lambda: None

    async def connect(self) -> None:
        """Connect, and stay connected from then on; raises BackendError when the first attempt fails."""
        try:
            await self._wire.connect()
        except (OSError, Disconnected, TimeoutError) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> BackendError:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"NATS cannot be reached at {shown(self.url)}: {why}"
        return BackendError(message, hint="start it, or correct NOETL_BUS")

    async def client(self) -> "Client":
        """A connection of the client library, for what NATS keeps: streams and objects."""
        if self._library is None:
            try:
                from nats.aio.client import Client as LibraryClient
                from nats.errors import Error
            except ImportError:
                raise MissingExtra("nats-py", "nats") from None
            try:
                client = LibraryClient()
                credentials = self._login.credentials
                client._public_nkey = None if credentials is None else credentials.public
                options: dict[str, Any] = {
                    "name": self.name,
                    "connect_timeout": CONNECT_S,
                    "max_reconnect_attempts": 1,
                    "reconnect_time_wait": RECONNECT_S,
                    "ping_interval": 2,
                    "max_outstanding_pings": 2,
                    "error_cb": _ignore,
                    **self._login.library_options(),
                }
                await client.connect(self.url.split(","), **options)
                self._library = client
            except (OSError, Error, TimeoutError) as error:
                raise self._unreachable(error) from error
            self._library.options["max_reconnect_attempts"] = -1  # from now on it comes back, however long
        return self._library

    def go(self, work: Coroutine[object, None, None], size: int) -> bool:
        """Deal with a message of so many bytes beside others; False when there are too many."""
        if len(self._tasks) >= BUSY_MOST or self._busy_bytes + size > BUSY_BYTES:
            work.close()
            return False
        task = asyncio.create_task(work)
        self._tasks[task] = size
        self._busy_bytes += size
        task.add_done_callback(self._done)
        return True

    def _done(self, task: asyncio.Task[None]) -> None:
        self._busy_bytes -= self._tasks.pop(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("a message could not be dealt with", exc_info=task.exception())

    # Telling

    def publish(self, subject: str, body: bytes) -> None:
        """Say something that need not arrive: whoever would have heard it asks again, or is told again."""
        if not self._wire.crowded and not self.long(body):  # NATS ends a connection that says too much
            with suppress(Disconnected):
                self._wire.publish(subject, WHOLE + body)

    def tell(self, subject: str, body: bytes, on_no_responder: Callable[[], None]) -> bool:
        """Say something to one listener, unless it is too long or there is no way; whether it was said."""
        if self._wire.crowded or self.long(body):
            return False
        try:
            self._wire.tell(subject, WHOLE + body, on_no_responder)
        except Disconnected:
            return False
        return True

    @property
    def quiet_s(self) -> float:
        """For how many seconds nothing has come from NATS; without end while there is no connection."""
        return self._wire.quiet_s

    def listen(self, subject: str, heard: BodyHandler) -> None:
        """Hear everything that is said under a subject."""
        self._wire.subscribe(subject, lambda message: heard(message.body[1:]))

    # Asking

    async def request(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        """Ask and wait for the answer; raises NoAnswer, or the error that was answered."""
        if self.long(body):
            return await self._request_in_parts(subject, body, timeout_s)
        return await self._opened(await self._ask(subject, WHOLE + body, timeout_s), timeout_s)

    async def _request_in_parts(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        number, pieces = secrets.token_bytes(16), list(_cut(body, self.room))
        for index, piece in enumerate(pieces):
            place = _PLACE.pack(number, index, len(pieces))
            answer = await self._ask(subject, PART + place + piece, timeout_s)
            if index + 1 < len(pieces):
                _whole(answer)
        return await self._opened(answer, timeout_s)

    async def _opened(self, answer: bytes, timeout_s: float) -> bytes:
        if answer[:1] != MORE:
            return _whole(answer)
        number, _, count = _placed(answer[1:])
        place = answer[1 + _PLACE.size :].decode()
        asks = (PART + _PLACE.pack(number, index, count) for index in range(count))
        return b"".join([_whole(await self._ask(place, ask, timeout_s)) for ask in asks])

    async def _ask(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        try:
            return await self._wire.request(subject, body, timeout_s)
        except (Disconnected, NoResponder, TimeoutError) as error:
            raise NoAnswer(f"no answer from {subject}: {str(error) or type(error).__name__}") from None

    def long(self, body: bytes) -> bool:
        """Whether a message has to go in parts."""
        return len(body) + 1 > self.room

    @property
    def room(self) -> int:
        """How long a message may be that goes at once."""
        return self._wire.max_payload - MARGIN

    # Answering

    def serve(self, pattern: str, handler: SubjectHandler, queue: str = "") -> None:
        """Answer what is asked under the subjects of a pattern, many at once."""

        def heard(message: Message) -> None:
            handle = partial(handler, message.subject)
            self.go(self._answer(message, lambda data: self._answer_to(data, handle)), len(message.body))

        self._wire.subscribe(pattern, heard, queue)

    def serve_parts(self, subject: str) -> None:
        """Let those who ask fetch the parts of long answers."""

        def heard(message: Message) -> None:
            self.go(self._answer(message, self._fetched), len(message.body))

        self._place = subject
        self._wire.subscribe(subject, heard)

    async def _answer(self, message: Message, answer_to: Handler) -> None:
        try:
            answer = await answer_to(message.body)
        except NoetlError as error:
            answer = ERROR + encode_error(error)
        if answer and message.reply:
            if self._wire.crowded:
                await self._wire.room()
            with suppress(Disconnected):  # whoever asked will ask again
                self._wire.publish(message.reply, answer)

    async def _answer_to(self, data: bytes, handler: Handler) -> bytes:
        if data[:1] != PART:
            return self._closed(await handler(data[1:]))
        number, index, count = _placed(data[1:])
        whole = self._joined(number, index, count, data[1 + _PLACE.size :])
        if whole is None:
            return WHOLE
        try:
            return self._closed(await handler(whole))
        finally:
            self._questions.drop(number)

    def _joined(self, number: bytes, index: int, count: int, piece: bytes) -> bytes | None:
        """Keep a part of a question, which come in order; the question, once it is whole."""
        if index == 0:
            if count * len(piece) > QUESTIONS_BYTES:
                raise RequestError(f"a message of {count} parts of {len(piece)} bytes is too long")
            self._questions.put(number, [])
        before = self._questions.get(number)
        if before is None or len(before) != index:
            raise BackendError("the parts of the message before this one are not here; say all of it again")
        self._questions.add(number, piece)
        if index + 1 < count:
            return None
        whole = b"".join(before)
        self._questions.put(number, [whole])  # it takes room until it is answered
        return whole

    def _closed(self, answer: bytes) -> bytes:
        if not self.long(answer):
            return WHOLE + answer
        number, pieces = secrets.token_bytes(16), list(_cut(answer, self.room))
        self._answers.put(number, pieces)
        return MORE + _PLACE.pack(number, 0, len(pieces)) + self._place.encode()

    async def _fetched(self, data: bytes) -> bytes:
        """A part of a long answer; the last one ends it: who does not get it asks for all of it again."""
        number, index, _ = _placed(data[1:])
        pieces = self._answers.get(number)
        if pieces is None or index >= len(pieces):
            raise BackendError("that answer is not here any more; ask again")
        if index + 1 == len(pieces):
            self._answers.drop(number)
        return WHOLE + pieces[index]

    async def close(self) -> None:
        """Send what is waiting, then disconnect."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._questions.close()
        self._answers.close()
        if self._library is not None:
            await self._library.close()
        await self._wire.close()


async def _ignore(error: Exception) -> None:
    """The client reconnects by itself; who waits for an answer is told by its absence."""


def _cut(body: bytes, size: int) -> Iterator[bytes]:
    size -= _PLACE.size
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _placed(body: bytes) -> tuple[bytes, int, int]:
    """The number of the message that a part belongs to, which part it is, and how many there are."""
    if len(body) < _PLACE.size:
        raise RequestError("a part of a message does not say which")
    place: tuple[bytes, int, int] = _PLACE.unpack(body[: _PLACE.size])
    return place


def _whole(answer: bytes) -> bytes:
    """An answer that came at once; raises the error that was answered."""
    if answer[:1] == WHOLE:
        return answer[1:]
    raise decode_error(answer[1:])


def shown(url: str) -> str:
    """Addresses without the logins in them."""
    return ",".join(map(_without_login, each_address(url)))


def _without_login(url: str) -> str:
    head, separator, rest = url.rpartition("://")
    return f"{head}{separator}{rest.rpartition('@')[2]}"
