"""Dialling a server: a connection to its HTTP port that becomes a link, or why it does not."""

import asyncio
import secrets
import ssl
from base64 import b64encode
from collections.abc import Callable
from itertools import count
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

import msgspec

from noetl.adapters.direct.connection import (
    ANSWER,
    FAILURE,
    NOTICE,
    NUMBERS,
    REQUEST,
    ROOM,
    Budget,
    LinkClosed,
    LinkConnection,
)
from noetl.adapters.direct.handshake import VERSION, accept_key, offered, read_versions
from noetl.adapters.direct.notices import PATH, Peers
from noetl.adapters.direct.tunnel import tunnel
from noetl.adapters.forward_proxy import forward_proxy
from noetl.adapters.link.error_reply import decode_error
from noetl.adapters.link.requests import NoAnswer
from noetl.adapters.quick_wait import QuickWait
from noetl.errors import BackendError, RequestError
from noetl.ports.link_protocol import SPOKEN, ProtocolRange

CONNECT_S = 5.0
HEAD_BYTES = 64 * 1024
ANSWERS_BYTES = 4 * 1024**3  # of long answers; the server was asked for them
LATER = (408, 429)  # another try may go better
MISDIRECTED = "421"  # by an address that leads to several
_END = b"\r\n\r\n"
Notice = Callable[["ServerConnection", bytes], None]


class Misdirected(BackendError):
    """Another server is there than the one that was wanted, as behind one address for all."""


class ServerConnection(LinkConnection):
    """A worker's connection to one server."""

    client = True

    def __init__(self, url: str, on_notice: Notice) -> None:
        super().__init__(Budget(ANSWERS_BYTES))
        self.url, self._on_notice = url, on_notice
        self.peers: Peers | None = None  # what the server said of itself
        self._head = b""
        self._key = ""
        self._spoken = SPOKEN
        self.protocol = 0  # the version that was agreed on
        self._upgraded = False
        self.welcomed: asyncio.Future[None] = self.loop.create_future()  # let in, and told by whom
        self._numbers = count()
        self._requests: dict[int, asyncio.Future[bytes]] = {}
        self._answer = QuickWait(self.loop)

    # Being let in

    def greet(self, target: str, host: str, token: str | None, spoken: ProtocolRange) -> None:
        """Ask to be let in."""
        self._spoken = spoken
        self._key = b64encode(secrets.token_bytes(16)).decode()
        lines = [
            f"GET {target} HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Version: {VERSION}",
            f"Sec-WebSocket-Key: {self._key}",
            f"Sec-WebSocket-Protocol: {offered(spoken)}",
            *([f"Authorization: Bearer {token}"] if token is not None else ()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode())

    def data_received(self, data: bytes) -> None:
        """Frames; before, the answer of HTTP."""
        if self._upgraded:
            self._answer.end()
            super().data_received(data)
            return
        self._head += data
        if len(self._head) > HEAD_BYTES:
            self.abort("the answer has no end")
            return
        head, found, rest = self._head.partition(_END)
        if found:
            self._answered(head.decode("latin-1"), rest)

    def _answered(self, head: str, rest: bytes) -> None:
        first, *lines = head.split("\r\n")
        status = first.split(" ")[1] if first.startswith("HTTP/1.") and first.count(" ") else ""
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (li.partition(":") for li in lines)
        }
        if status == "101" and headers.get("sec-websocket-accept") == accept_key(self._key):
            self._upgraded, self._head = True, b""
            if not self._agreed(headers.get("sec-websocket-protocol", "")):
                return
            if rest:
                self.data_received(rest)
            return
        length = headers.get("content-length", "")
        if length.isdigit() and len(rest) < int(length):
            return  # why not comes in a moment
        self._refused(refusal(self.url, status, rest))

    def _agreed(self, chosen: str) -> bool:
        """Whether the server chose a version that was offered."""
        common = (read_versions(chosen) or ProtocolRange(0, 0)).highest_shared(self._spoken)
        if common is None:
            self._refused(
                RequestError(
                    f"{self.url} speaks none of the versions of the worker protocol that were offered: "
                    f"{self._spoken}; it answers {chosen[:80]!r}",
                    hint="upgrade the server, or see that proxies pass Sec-WebSocket-Protocol on",
                )
            )
            return False
        self.protocol = common
        return True

    def _refused(self, error: RequestError | BackendError) -> None:
        if not self.welcomed.done():
            self.welcomed.set_exception(error)
            self.welcomed.exception()
        self.abort(error.message)

    # Messages

    def message(self, kind: int, number: int, body: bytes) -> None:
        """An answer, or something that the server tells."""
        if kind == NOTICE:
            self._on_notice(self, body)
            return
        if kind not in (ANSWER, FAILURE) or (kind, number) == (FAILURE, 0):
            self.refuse(kind, number, body)
            return
        future = self._requests.get(number)
        if future is None or future.done():
            return  # it was given up
        if kind == ANSWER:
            future.set_result(body)
        else:
            future.set_exception(decode_error(body))

    def meet(self, peers: Peers) -> None:
        """The server has said who it is."""
        self.peers = peers
        if not self.welcomed.done():
            self.welcomed.set_result(None)

    async def request(self, what: str, body: bytes, timeout_s: float) -> bytes:
        """Ask and wait; raises NoAnswer, or the error that was answered."""
        number = next(self._numbers) % (NUMBERS - 1) + 1  # 0: of a notice
        future: asyncio.Future[bytes] = self.loop.create_future()
        self._requests[number] = future
        late = self.loop.call_later(timeout_s, _too_late, future, what)
        try:
            message = what.encode() + b" " + body
            if len(message) > ROOM or self.crowded:
                async with asyncio.timeout(timeout_s):
                    await self.send_long(REQUEST, number, message)
            else:
                self.send(REQUEST, number, message)
            self._answer.begin()
            return await future
        except (LinkClosed, TimeoutError) as error:
            raise NoAnswer(f"no answer to {what} from {self.url}: {error}") from None
        finally:
            late.cancel()
            del self._requests[number]

    def ended(self) -> None:
        """What was asked may have been heard or not: whoever asked is told, and asks again."""
        if not self.welcomed.done():
            self.welcomed.set_exception(BackendError(f"no link to {self.url}: {self.why}"))
            self.welcomed.exception()
        for future in self._requests.values():
            if not future.done():
                future.set_exception(NoAnswer(f"the link to {self.url} is lost: {self.why}"))


def _too_late(future: "asyncio.Future[bytes]", what: str) -> None:
    if not future.done():
        future.set_exception(NoAnswer(f"no answer to {what} in time"))


def refusal(url: str, status: str, body: bytes) -> RequestError | BackendError:
    """Why a server does not let us in: what will not change by itself, or what may."""
    try:
        problem = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        problem = {}
    message = str(problem.get("detail") or f"{url} answers with status {status or 'none'} instead of a link")
    hint = problem.get("hint")
    if status == MISDIRECTED:
        return Misdirected(f"{url} is not the server that is looked for")
    later = not status.isdigit() or int(status) >= 500 or int(status) in LATER
    if status == "404":
        hint = "is it a server of this version, without NOETL_BUS, and do proxies pass upgrades on?"
    return (BackendError if later else RequestError)(message, hint=None if hint is None else str(hint))


async def dial(
    url: str, query: dict[str, str], token: str | None, on_notice: Notice, spoken: ProtocolRange = SPOKEN
) -> ServerConnection:
    """A link to the server at an address; raises BackendError, or RequestError when it does not want us."""
    parts = urlsplit(url)
    connection = ServerConnection(url, on_notice)
    try:
        async with asyncio.timeout(CONNECT_S):
            await _connect(connection, parts)
            target = f"{parts.path.rstrip('/')}{PATH}?{urlencode(query, quote_via=quote)}"
            connection.greet(target, parts.netloc.rpartition("@")[2], token, spoken)
            await connection.welcomed
    except (OSError, TimeoutError) as error:
        connection.abort("it did not answer in time")
        why = getattr(error, "strerror", None) or str(error) or "it does not answer"
        raise BackendError(f"no link to {url}: {why}", hint="start it, or correct --server") from None
    return connection


async def _connect(connection: ServerConnection, parts: SplitResult) -> None:
    """Reach the server, through a proxy where one leads to it."""
    secure, host, loop = parts.scheme == "https", parts.hostname or "", asyncio.get_running_loop()
    port, context = parts.port or (443 if secure else 80), ssl.create_default_context() if secure else None
    proxy = forward_proxy(parts.geturl())
    if proxy is None:
        await loop.create_connection(lambda: connection, host, port, ssl=context)
        return
    transport: asyncio.Transport | None = await tunnel(proxy, host, port)
    assert transport is not None
    if context is None:
        transport.set_protocol(connection)
    else:
        transport = await loop.start_tls(transport, connection, context, server_hostname=host)
        assert transport is not None
    connection.connection_made(transport)
