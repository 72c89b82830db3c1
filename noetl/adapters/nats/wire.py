"""One connection to NATS in its plain protocol: say, hear, ask; it comes back by itself.

Every step of every execution passes here twice. A message is handed on from where it is read, without a queue
and a task in between, and written where it is said. What NATS keeps (streams, objects) is not spoken here.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from math import inf
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from noetl.adapters.nats.login import NO_LOGIN, BusLogin
from noetl.adapters.nats.protocol import Disconnected, NatsConnection
from noetl.errors import RequestError

_LOG = logging.getLogger("noetl.nats")
PORT = 4222
CONNECT_S = 5.0
AGAIN_S = 0.2
GONE_S = 1.0
PING_S = 2.0
UNANSWERED_PINGS = 2
TOLD_KEPT = 100  # that nobody listens is known within a moment
INBOX = b"0"  # the subscription that answers come by
NOBODY = b"NATS/1.0 503"  # instead of an answer: nobody listens there


class NoResponder(Exception):
    """Nobody listens under the subject that was asked."""


class Message(NamedTuple):
    """What was said, under which subject, and where an answer is heard."""

    body: bytes
    subject: str
    reply: str


MessageHandler = Callable[[Message], None]


def _nothing(_: Message) -> None:
    return None


class Address(NamedTuple):
    """Where a NATS server is, and who we say we are."""

    host: str
    port: int
    tls: bool
    user: str | None
    password: str | None

    def named(self) -> dict[str, str | None]:
        """How we say who we are."""
        if self.password is not None:
            return {"user": self.user, "pass": self.password}
        return {"auth_token": self.user} if self.user else {}


def addresses(url: str) -> list[Address]:
    """The servers of an address such as nats://user:password@host:4222,other:4222; raises RequestError."""
    try:
        return [_address(part.strip()) for part in url.split(",")]
    except ValueError as error:
        raise RequestError(
            f"the address of NATS cannot be read: {error}",
            hint="nats://HOST:4222, several with commas between",
        ) from None


def _address(url: str) -> Address:
    parts = urlsplit(url if "://" in url else f"nats://{url}")
    user = None if parts.username is None else unquote(parts.username)
    password = None if parts.password is None else unquote(parts.password)
    return Address(parts.hostname or "127.0.0.1", parts.port or PORT, parts.scheme == "tls", user, password)


class NatsClient:
    """A connection that stays, over one transport after the other."""

    def __init__(
        self,
        url: str,
        name: str,
        on_connected: Callable[[], None] = lambda: None,
        login: BusLogin = NO_LOGIN,
    ) -> None:
        self._addresses, self._name, self._on_connected = addresses(url), name, on_connected
        self._login = login
        self._connection: NatsConnection | None = None
        self._connected = asyncio.Event()
        self._at = ""  # where the connection leads
        self._inbox = f"_INBOX.{secrets.token_hex(16)}"
        self._subscriptions: dict[bytes, tuple[str, str, MessageHandler]] = {
            INBOX: (f"{self._inbox}.*", "", _nothing)
        }
        self._numbers = count(1)
        self._requests: dict[str, asyncio.Future[bytes]] = {}
        self._told: dict[str, Callable[[], None]] = {}  # what was told lately, and who wants to know of it
        self._task: asyncio.Task[None] | None = None
        self.max_payload = 1024 * 1024

    async def connect(self) -> None:
        """Connect for the first time; raises Away, OSError or TimeoutError when nobody is there."""
        wrong: Exception | None = None
        for address in self._addresses:
            try:
                await self._open(address)
                break
            except (OSError, Disconnected, TimeoutError) as error:
                wrong = wrong or error
        else:
            raise wrong or Disconnected("no address")
        self._task = asyncio.create_task(self._stay())

    async def close(self) -> None:
        """Let what was said arrive, then go."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(Disconnected, TimeoutError):
            await self.flush()
        connection, self._connection = self._connection, None
        if connection is not None and connection.transport is not None:
            connection.transport.close()
            await asyncio.wait((connection.over,), timeout=GONE_S)  # over TLS, both sides say goodbye

    async def flush(self) -> None:
        """Wait until NATS has everything that was said; raises Away or TimeoutError."""
        if self._connection is None:
            raise Disconnected("there is no connection to NATS")
        async with asyncio.timeout(CONNECT_S):
            await self._connection.ping()

    # Saying and hearing

    def publish(self, subject: str, body: bytes, reply: str = "") -> None:
        """Say something; raises Disconnected when there is no connection."""
        if self._connection is None:
            raise Disconnected("there is no connection to NATS")
        head = f"PUB {subject} {reply} {len(body)}" if reply else f"PUB {subject} {len(body)}"
        self._connection.write(b"%b\r\n%b\r\n" % (head.encode(), body))

    def tell(self, subject: str, body: bytes, on_no_responder: Callable[[], None]) -> None:
        """Say something to one listener; `unheard` is called when NATS knows that nobody listens there."""
        number = str(next(self._numbers))
        self._told[number] = on_no_responder
        if len(self._told) > TOLD_KEPT:
            del self._told[next(iter(self._told))]
        self.publish(subject, body, f"{self._inbox}.{number}")

    @property
    def crowded(self) -> bool:
        """Whether what is said waits, or is lost."""
        return self._connection is None or self._connection.crowded

    @property
    def quiet_s(self) -> float:
        """For how many seconds nothing has come; without end while there is no connection."""
        return inf if self._connection is None else time.monotonic() - self._connection.heard_at

    async def room(self) -> None:
        """Wait until there is a connection that takes more."""
        await self._connected.wait()
        if self._connection is not None:
            await self._connection.room()

    def subscribe(self, subject: str, handler: MessageHandler, queue: str = "") -> None:
        """Hear what is said under a subject, now and after every interruption."""
        number = str(next(self._numbers)).encode()
        self._subscriptions[number] = (subject, queue, handler)
        if self._connection is not None:
            with suppress(Disconnected):  # then it is said with all others when there is a connection again
                self._connection.write(_sub(number, subject, queue))

    async def request(self, subject: str, body: bytes, timeout_s: float) -> bytes:
        """Ask and wait; raises Unheard, Away or TimeoutError."""
        if self.crowded:
            async with asyncio.timeout(timeout_s):
                await self.room()
        loop, number = asyncio.get_running_loop(), str(next(self._numbers))
        future: asyncio.Future[bytes] = loop.create_future()
        self._requests[number] = future
        late = loop.call_later(timeout_s, _too_late, future)
        try:
            self.publish(subject, body, f"{self._inbox}.{number}")
            return await future
        finally:
            late.cancel()
            self._requests.pop(number, None)

    def _received(self, number: bytes, subject: bytes, reply: bytes, head: bytes, body: bytes) -> None:
        # Anyone may speak under any name: one that is no text must not end the connection.
        if number == INBOX:
            self._answered(subject.rpartition(b".")[2].decode(errors="replace"), head, body)
            return
        subscription = self._subscriptions.get(number)
        if subscription is not None:
            subscription[2](Message(body, subject.decode(errors="replace"), reply.decode(errors="replace")))

    def _answered(self, number: str, head: bytes, body: bytes) -> None:
        on_no_responder = self._told.pop(number, None)
        if on_no_responder is not None and head.startswith(NOBODY):
            on_no_responder()
        future = self._requests.get(number)
        if future is None or future.done():
            return
        if head.startswith(NOBODY):
            future.set_exception(NoResponder("nobody listens"))
        else:
            future.set_result(body)

    # The connection

    async def _open(self, address: Address) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_S):
            pair = await loop.create_connection(
                lambda: NatsConnection(self._received), address.host, address.port
            )
            connection: NatsConnection = pair[1]
            try:
                await self._greet(connection, address)
                self._connection = connection
            finally:
                if self._connection is not connection:
                    connection.end("it did not answer in time")
        self._at = f"{address.host}:{address.port}"
        self._connected.set()

    async def _greet(self, connection: NatsConnection, address: Address) -> None:
        info = await connection.info
        self.max_payload = info.get("max_payload", self.max_payload)
        if address.tls or info.get("tls_required"):
            await _encrypt(connection, address.host, self._login)
        credentials = self._login.credentials
        heads = bool(info.get("headers"))
        options = {
            "verbose": False,
            "pedantic": False,
            "lang": "python",
            "version": "1",
            "protocol": 1,
            "name": self._name,
            "headers": heads,
            "no_responders": heads,
            **(address.named() if credentials is None else credentials.answer(info.get("nonce", ""))),
        }
        subscriptions = b"".join(
            _sub(number, *subscription[:2]) for number, subscription in self._subscriptions.items()
        )
        await connection.ping(b"CONNECT %b\r\n%b" % (msgspec.json.encode(options), subscriptions))
        self._learn(address, info.get("connect_urls") or ())

    def _learn(self, address: Address, others: Iterable[str]) -> None:
        """Other servers of the cluster, to go to when this one is gone."""
        for other in others:
            host, port = (server := addresses(other)[0]).host, server.port
            if (host, port) not in {(own.host, own.port) for own in self._addresses}:
                self._addresses.append(address._replace(host=host, port=port))

    async def _stay(self) -> None:
        """Look whether the connection lives, and make another one when it does not."""
        while True:
            assert self._connection is not None
            why = await self._until_lost(self._connection)
            self._connection = None
            self._connected.clear()
            self._give_up(why)
            _LOG.warning("the connection to NATS at %s is lost: %s", self._at, why)
            await self._reconnect()
            _LOG.warning("there is a connection to NATS again, at %s", self._at)
            self._on_connected()

    async def _until_lost(self, connection: NatsConnection) -> str:
        while not connection.over.done():
            await asyncio.wait({connection.over}, timeout=PING_S)
            if connection.unanswered >= UNANSWERED_PINGS:
                connection.end("it does not answer any more")
            elif not connection.over.done():
                with suppress(Disconnected):
                    connection.ping()
        return connection.over.result()

    def _give_up(self, why: str) -> None:
        """What was asked may have been heard or not: whoever asked is told, and asks again."""
        for future in self._requests.values():
            if not future.done():
                future.set_exception(Disconnected(why))

    async def _reconnect(self) -> None:
        while True:
            for address in tuple(self._addresses):
                with suppress(OSError, Disconnected, TimeoutError):
                    await self._open(address)
                    return
            await asyncio.sleep(AGAIN_S)


def _too_late(future: "asyncio.Future[bytes]") -> None:
    if not future.done():
        future.set_exception(TimeoutError("no answer in time"))


async def _encrypt(connection: NatsConnection, host: str, login: BusLogin) -> None:
    assert connection.transport is not None
    context = login.context()
    loop = asyncio.get_running_loop()
    transport = await loop.start_tls(connection.transport, connection, context, server_hostname=host)
    if transport is None:
        raise Disconnected("the connection was closed")
    connection.transport = transport


def _sub(number: bytes, subject: str, queue: str) -> bytes:
    return b"SUB %b %b\r\n" % (f"{subject} {queue}".strip().encode(), number)
