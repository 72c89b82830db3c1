"""A plain request over the connections of a client, without the client's objects for each request.

The client makes the connections, within what the deployment allows, and keeps them. It also sends what is not
plain, and follows redirects.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import (
    ClientConnectorError,
    ClientOSError,
    ClientResponse,
    ClientResponseError,
    ConnectionTimeoutError,
    RequestInfo,
    ServerDisconnectedError,
)
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest, ConnectionKey
from aiohttp.helpers import HeadersMixin
from aiohttp.http import HttpProcessingError, StreamWriter
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from noetl.tools.parts.http_address import SERVERS_KEPT, Address, Server, address_of

if TYPE_CHECKING:
    from aiohttp import ClientSession, ClientTimeout, StreamReader
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage

    from noetl.tools.parts.http_request import Handler, Middleware

BODY_BYTES = 64 * 1024  # what a connection takes at once
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Headers that say how a request is written, or where it goes.
FRAMING = frozenset(
    {"connection", "content-encoding", "content-length", "expect", "host", "transfer-encoding"}
)


@dataclass(slots=True)
class Sent:
    """A request as it is written."""

    method: str
    address: Address
    headers: bytes
    body: bytes


class Listener(ResponseHandler):
    """Waits for answers with one timer per connection, which is not set anew for each piece that comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._due: float | None = None  # when the next piece should have come

    def _reschedule_timeout(self) -> None:
        if not self._read_timeout:
            self._due = None
            return
        self._due = self._loop.time() + self._read_timeout
        timer = self._read_timeout_handle
        if timer is not None and timer.when() > self._due:
            timer.cancel()
            timer = None
        if timer is None:
            self._read_timeout_handle = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._read_timeout_handle = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._read_timeout_handle = self._loop.call_at(self._due, self._look)
        else:
            self._on_read_timeout()

    def _drop_timeout(self) -> None:
        self._due = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let go of the timer too, which would hold what is closed."""
        super().connection_lost(exc)
        super()._drop_timeout()


class Answer(HeadersMixin):
    """What a server says, its body still to be read; then its connection can serve others."""

    def __init__(
        self, sent: Sent, message: "RawResponseMessage", body: "StreamReader", connection: "Connection"
    ) -> None:
        self.method, self.url, self.content, self.connection = sent.method, sent.address, body, connection
        self.message, self.status, self.reason = message, message.code, message.reason
        self.headers = self._headers = message.headers

    async def read(self) -> bytes:
        """The whole body."""
        content = self.content
        return content.read_nowait() if content.is_eof() else await content.read()

    async def __aenter__(self) -> "Answer":
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.connection.release()  # it closes when the body was not read to its end


class Exchanges:
    """The plain requests of a client."""

    def __init__(self, client: "ClientSession") -> None:
        self._client = client
        connector: Any = client.connector
        connector._factory = partial(Listener, client._loop)
        self._written: dict[str, bytes] = {}  # the headers of requests that have no others, by host
        self._headers = dict[str, str](client.headers)
        for name, value in ClientRequest.DEFAULT_HEADERS.items():
            self._headers.setdefault(name, value)

    async def ask(
        self, method: str, address: str, options: Mapping[str, Any], credentials: Mapping[str, str]
    ) -> "Answer | ClientResponse | None":
        """The answer to a request with the client's options; None when the client has to send it."""
        if not _is_plain(method, options["data"], options["headers"]):
            return None
        to = address_of(address, options["params"])
        if to is None:
            return None
        body = options["data"] or b""
        sent = Sent(method, to, self._head(to.server.host, body, options["headers"], credentials), body)
        try:
            answer = await self._answer(sent, options)
        except ClientConnectorError:
            raise
        except (ClientOSError, ServerDisconnectedError):
            if method != "GET":
                raise
            answer = await self._answer(sent, options)  # the connection was closed while nobody used it
        if answer.status in REDIRECTS and options["allow_redirects"]:
            middlewares = (_already_answered(answer), *options.get("middlewares", ()))
            return await self._client.request(method, address, **{**options, "middlewares": middlewares})
        return answer

    async def _answer(self, sent: Sent, options: Mapping[str, Any]) -> Answer:
        timeout: ClientTimeout = options["timeout"]
        connection = await self._connection(sent.address.server, options)
        return await _exchange(sent, connection, timeout.sock_read)

    async def _connection(self, server: Server, options: Mapping[str, Any]) -> "Connection":
        """A connection to a server: one that nobody uses, or a new one."""
        connector, trust = self._client.connector, options["ssl"]
        assert connector is not None
        key = ConnectionKey(server.name, server.port, server.tls, trust, None, None, None)
        if (unused := await connector._get(key, [])) is not None:
            return unused
        request = ClientRequest("GET", server.url, loop=self._client._loop, ssl=trust)
        try:
            return await connector.connect(request, [], options["timeout"])
        except TimeoutError as problem:
            raise ConnectionTimeoutError(f"Connection timeout to host {server.text}") from problem

    def _head(
        self, host: str, body: bytes, headers: Mapping[str, str], credentials: Mapping[str, str]
    ) -> bytes:
        """The headers as they are written."""
        if not (body or headers or credentials) and host in self._written:
            return self._written[host]
        all_of_them = CIMultiDict({"Host": host, **self._headers})
        for name, value in (*headers.items(), *credentials.items()):
            all_of_them[name] = value
        if body:
            all_of_them["Content-Length"] = str(len(body))
        written = _serialize_headers("", all_of_them)
        if not (body or headers or credentials):
            if len(self._written) >= SERVERS_KEPT:
                self._written.clear()
            self._written[host] = written
        return written


def _is_plain(method: str, body: object, headers: Mapping[str, str]) -> bool:
    """Whether a request is a GET, or a POST of a few bytes, and says nothing about how it is written."""
    if method == "POST":
        plain = isinstance(body, bytes) and 0 < len(body) <= BODY_BYTES
    else:
        plain = method == "GET" and body is None
    return plain and not (headers and any(name.lower() in FRAMING for name in headers))


async def _exchange(sent: Sent, connection: "Connection", read_s: float | None) -> Answer:
    protocol, transport = connection.protocol, connection.transport
    assert protocol is not None
    assert transport is not None
    status, answer = 0, None
    try:
        protocol.set_response_params(read_until_eof=True, read_timeout=read_s)
        line = f"{sent.method} {sent.address.path} HTTP/1.1"
        transport.write(line.encode() + sent.headers + sent.body)
        protocol.start_timeout()
        while status < 200 and status != 101:  # what comes before is news of the answer
            message, content = await protocol.read()
            status = message.code
        answer = Answer(sent, message, content, connection)
    except HttpProcessingError as problem:
        url = URL(str(sent.address), encoded=True)
        about = RequestInfo(url, sent.method, CIMultiDictProxy(CIMultiDict()), url)
        raise ClientResponseError(
            about, (), status=problem.code, message=problem.message, headers=problem.headers
        ) from problem
    finally:
        if answer is None:
            connection.close()
    return answer


def _already_answered(answer: Answer) -> "Middleware":
    """Lets a client go on from an answer that is there: it follows where a redirect leads."""
    answers = [answer]

    async def send(request: ClientRequest, handler: "Handler") -> ClientResponse:
        protocol = answer.connection.protocol
        if not answers or protocol is None:
            return await handler(request)
        answers.clear()
        protocol.feed_data((answer.message, answer.content), 0)
        response = ClientResponse(
            request.method,
            request.original_url,
            writer=None,
            continue100=None,
            timer=request._timer,
            request_info=request.request_info,
            traces=[],
            loop=request.loop,
            session=request.session,
            stream_writer=StreamWriter(protocol, request.loop),
        )
        return await response.start(answer.connection)

    return send
