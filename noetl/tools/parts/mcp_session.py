"""One conversation with an MCP server: JSON-RPC over HTTP or over a program's input and output.

It begins with the handshake that most servers know; one that refuses it is spoken to without.
"""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from noetl import __version__
from noetl.json_value import Json
from noetl.ports import mcp_protocol as protocol
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.http_request import auth_headers, for_origin
from noetl.tools.parts.paths import inside
from noetl.tools.parts.process import Place, Program, clean_environment, start

if TYPE_CHECKING:
    from aiohttp import ClientResponse

GRACE_S = 2.0
MESSAGE_MAX = 16 * 1024**2
CLIENT_INFO = {"name": "noetl", "version": __version__}
HELLO = {"protocolVersion": protocol.HANDSHAKE_VERSIONS[0], "capabilities": {}, "clientInfo": CLIENT_INFO}
# What a request says of itself where there is no handshake.
STATELESS_META = {
    f"{protocol.META}protocolVersion": protocol.STATELESS_VERSIONS[0],
    f"{protocol.META}clientCapabilities": {},
    f"{protocol.META}clientInfo": CLIENT_INFO,
}
NO_HANDSHAKE = ("400", "404", "405")  # how a server over HTTP may refuse `initialize`


def read(raw: bytes | str) -> protocol.Request | protocol.Notification | protocol.Reply:
    try:
        return protocol.read(protocol.decode(raw))
    except protocol.ProtocolError as problem:
        message = f"the server sent something that is not a JSON-RPC message: {problem.message}"
        raise Failed("mcp", message, code="protocol") from None


def tool_call(name: str, arguments: Mapping[str, Json], *, stateless: bool) -> protocol.Message:
    params = {"name": name, "arguments": dict(arguments)}
    return protocol.request(2, "tools/call", {**params, "_meta": STATELESS_META} if stateless else params)


# ---- a program ------------------------------------------------------------------------------------------


class LineProgram(Program):
    """A program whose output is read line by line."""

    def __init__(self, on_output: Callable[[bytes, int], None]) -> None:
        import asyncio

        super().__init__(64 * 1024, on_output)
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._part = b""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Lines of the output are messages; the rest is kept as what it printed."""
        if fd != 1:
            super().pipe_data_received(fd, data)
            return
        *whole, self._part = (self._part + data).split(b"\n")
        for line in whole:
            self.lines.put_nowait(line)
        if len(self._part) > MESSAGE_MAX:
            self.lines.put_nowait(None)

    def pipe_connection_lost(self, fd: int, problem: Exception | None) -> None:
        """Its output is at its end, which may be told after the program's own: no more lines will come."""
        super().pipe_connection_lost(fd, problem)
        if fd == 1:
            self.lines.put_nowait(None)


class ProgramSession:
    """A server that is started for this conversation."""

    def __init__(self, argv: list[str], env: Mapping[str, str], call: Call, reply_s: float) -> None:
        self.argv = argv
        self.place = Place(inside(call, "."), {**clean_environment(call), **env})
        self.reply_s, self.on_output = reply_s, call.output.write

    async def __aenter__(self) -> Self:
        self.program = await start(self.argv, self.place, LineProgram(self.on_output))
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.program.stop(GRACE_S)

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> protocol.Reply:
        """The answer to a tool call; a server that refuses the handshake needs none."""
        stateless = (await self._ask(1, protocol.request(1, "initialize", HELLO))).error is not None
        if not stateless:
            self._send(protocol.notification("notifications/initialized"))
        return await self._ask(2, tool_call(name, arguments, stateless=stateless))

    def _send(self, message: protocol.Message) -> None:
        self.program.feed(msgspec.json.encode(message) + b"\n")

    async def _ask(self, request_id: protocol.Id, message: protocol.Message) -> protocol.Reply:
        import asyncio

        self._send(message)
        try:
            async with asyncio.timeout(self.reply_s):
                return await self._answer(request_id)
        except TimeoutError:
            raise Failed("timeout", f"{self.argv[0]} did not answer in time", retryable=True) from None

    async def _answer(self, request_id: protocol.Id) -> protocol.Reply:
        while (line := await self.program.lines.get()) is not None:
            if not line.strip():
                continue
            message = read(line)
            if isinstance(message, protocol.Request):
                self._send(_refuse(message))
            elif isinstance(message, protocol.Reply) and message.id == request_id:
                return message
        words = self.program.printed[2].text.strip()[-500:]
        raise Failed("mcp", f"{self.argv[0]} ended without an answer: {words}", code="ended")


def _refuse(message: protocol.Request) -> protocol.Message:
    """The answer to a server that asks us: we offer nothing but a sign of life."""
    if message.method == "ping":
        return protocol.reply(message.id, {})
    return protocol.error_reply(message.id, protocol.ProtocolError(protocol.METHOD_NOT_FOUND, "not offered"))


# ---- over HTTP ------------------------------------------------------------------------------------------


class HttpSession:
    """A server at an address."""

    def __init__(self, url: str, call: Call, reply_s: float) -> None:
        self.url = url
        self.call = call
        self.reply_s = reply_s
        self.stateless = False
        self.headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if call.trace is not None:
            self.headers["traceparent"] = call.trace

    async def __aenter__(self) -> Self:
        try:
            hello = await self._ask(1, protocol.request(1, "initialize", HELLO))
        except Failed as problem:
            if problem.output["error"]["code"] not in NO_HANDSHAKE:
                raise
            self.stateless = True
        else:
            self.stateless = hello.error is not None
        if self.stateless:
            self.headers["MCP-Protocol-Version"] = protocol.STATELESS_VERSIONS[0]
            return self
        self.headers["MCP-Protocol-Version"] = str(
            hello.result.get("protocolVersion", HELLO["protocolVersion"])
        )
        await self._post(protocol.notification("notifications/initialized"))
        return self

    async def __aexit__(self, *problem: object) -> None:
        return None

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> protocol.Reply:
        """The answer to a tool call; without a handshake its headers say what it is about."""
        if self.stateless:
            self.headers |= {"Mcp-Method": "tools/call", "Mcp-Name": _header_value(name)}
        return await self._ask(2, tool_call(name, arguments, stateless=self.stateless))

    async def _ask(self, request_id: protocol.Id, message: protocol.Message) -> protocol.Reply:
        answer = await self._post(message, request_id)
        if answer is None:
            raise Failed("mcp", f"{self.url} did not answer {message['method']}", code="protocol")
        return answer

    async def _post(
        self, message: protocol.Message, request_id: protocol.Id | None = None
    ) -> protocol.Reply | None:
        import aiohttp
        from yarl import URL

        from noetl.tools.http import shared_session
        from noetl.tools.parts.http_answer import failure

        options: dict[str, Any] = {"headers": self.headers, "data": msgspec.json.encode(message)}
        options["timeout"] = aiohttp.ClientTimeout(total=self.reply_s, connect=10)
        if self.call.auth:
            options["middlewares"] = (for_origin(URL(self.url).origin(), auth_headers(self.call.auth)),)
        try:
            client = shared_session(self.call).client
            async with client.post(self.url, **options) as response:
                return await self._read_answer(response, request_id)
        except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
            cause = problem if not isinstance(problem, ValueError) else aiohttp.InvalidURL(self.url)
            raise failure(cause, self.url) from None

    async def _read_answer(
        self, response: "ClientResponse", request_id: protocol.Id | None
    ) -> protocol.Reply | None:
        from noetl.tools.parts.http_answer import RETRYABLE, UNANSWERED, pieces

        if response.status >= 400:
            status = response.status
            raise Failed(
                "http",
                f"{self.url} answered {status}",
                code=str(status),
                retryable=status in RETRYABLE,
                answered=status not in UNANSWERED,
            )
        if "Mcp-Session-Id" in response.headers:
            self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        if request_id is None:
            return None
        if response.content_type != "text/event-stream":
            message = read(b"".join([piece async for piece in pieces(response, MESSAGE_MAX)]))
            return message if isinstance(message, protocol.Reply) else None
        async for data in _events(response):
            message = read(data)
            if isinstance(message, protocol.Reply) and message.id == request_id:
                return message
        return None


def _header_value(text: str) -> str:
    """A name as a header may carry it: as it is, or in the protocol's own base64."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


async def _events(response: "ClientResponse") -> AsyncIterator[str]:
    data: list[str] = []
    async for line in _lines(response):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


async def _lines(response: "ClientResponse") -> AsyncIterator[str]:
    """Lines of any length up to that of the largest message."""
    rest = b""
    async for piece in response.content.iter_any():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").rstrip("\r")
        if len(rest) > MESSAGE_MAX:
            raise Failed("too_large", f"the server's message is over {MESSAGE_MAX} bytes")
