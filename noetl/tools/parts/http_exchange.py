"""A plain request over the connections of a client, without the client's objects for each request.

The client makes the connections, within what the deployment allows, and keeps them. It also sends what is not
plain, and follows redirects.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
from aiohttp.client_reqrep import ClientRequest, ConnectionKey
from aiohttp.helpers import HeadersMixin
from aiohttp.http import HttpProcessingError, StreamWriter
from aiohttp.http_writer import _serialize_headers
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

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
    url: URL
    headers: CIMultiDict[str]
    body: bytes


class Answer(HeadersMixin):
    """What a server says, its body still to be read; then its connection can serve others."""

    def __init__(
        self, sent: Sent, message: "RawResponseMessage", body: "StreamReader", connection: "Connection"
    ) -> None:
        self.method, self.url, self.content, self.connection = sent.method, sent.url, body, connection
        self.message, self.status, self.reason = message, message.code, message.reason
        self.headers = self._headers = message.headers

    async def read(self) -> bytes:
        """The whole body."""
        return await self.content.read()

    async def __aenter__(self) -> "Answer":
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.connection.release()  # it closes when the body was not read to its end


class Exchanges:
    """The plain requests of a client."""

    def __init__(self, client: "ClientSession") -> None:
        self._client = client
        self._headers = dict[str, str](client.headers)
        for name, value in ClientRequest.DEFAULT_HEADERS.items():
            self._headers.setdefault(name, value)

    async def ask(
        self, method: str, address: str, options: Mapping[str, Any], credentials: Mapping[str, str]
    ) -> "Answer | ClientResponse | None":
        """The answer to a request with the client's options; None when the client has to send it."""
        if not _is_plain(method, options["data"], options["headers"]):
            return None
        url = _url(address, options["params"])
        if url is None:
            return None
        sent = self._sent(method, url, options, credentials)
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
        connection = await self._connection(sent.url, options)
        return await _exchange(sent, connection, timeout.sock_read)

    async def _connection(self, url: URL, options: Mapping[str, Any]) -> "Connection":
        """A connection to where an address is: one that nobody uses, or a new one."""
        connector, trust = self._client.connector, options["ssl"]
        assert connector is not None
        key = ConnectionKey(url.raw_host or "", url.port, url.scheme == "https", trust, None, None, None)
        if (unused := await connector._get(key, [])) is not None:
            return unused
        request = ClientRequest("GET", url, loop=self._client._loop, ssl=trust)
        try:
            return await connector.connect(request, [], options["timeout"])
        except TimeoutError as problem:
            raise ConnectionTimeoutError(f"Connection timeout to host {url}") from problem

    def _sent(
        self, method: str, url: URL, options: Mapping[str, Any], credentials: Mapping[str, str]
    ) -> Sent:
        headers = CIMultiDict({"Host": url.host_port_subcomponent or "", **self._headers})
        for name, value in (*options["headers"].items(), *credentials.items()):
            headers[name] = value
        body = options["data"] or b""
        if body:
            headers["Content-Length"] = str(len(body))
        return Sent(method, url, headers, body)


def _is_plain(method: str, body: object, headers: Mapping[str, str]) -> bool:
    """Whether a request is a GET, or a POST of a few bytes, and says nothing about how it is written."""
    if method == "POST":
        plain = isinstance(body, bytes) and 0 < len(body) <= BODY_BYTES
    else:
        plain = method == "GET" and body is None
    return plain and not (headers and any(name.lower() in FRAMING for name in headers))


def _url(address: str, params: list[tuple[str, str]]) -> URL | None:
    """The address with its query; None when there is something about it that the client has to see to."""
    try:
        url = URL(address)
        url = url.extend_query(params) if params else url
    except ValueError:
        return None
    return None if url.raw_user or url.raw_password or url.raw_fragment else url


async def _exchange(sent: Sent, connection: "Connection", read_s: float | None) -> Answer:
    protocol, transport = connection.protocol, connection.transport
    assert protocol is not None
    assert transport is not None
    status, answer = 0, None
    try:
        protocol.set_response_params(read_until_eof=True, read_timeout=read_s)
        line = f"{sent.method} {sent.url.raw_path_qs} HTTP/1.1"
        transport.write(_serialize_headers(line, sent.headers) + sent.body)
        protocol.start_timeout()
        while status < 200 and status != 101:  # what comes before is news of the answer
            message, content = await protocol.read()
            status = message.code
        answer = Answer(sent, message, content, connection)
    except HttpProcessingError as problem:
        about = RequestInfo(sent.url, sent.method, CIMultiDictProxy(sent.headers), sent.url)
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
