"""One conversation with an MCP server: JSON-RPC over HTTP or over a program's input and output."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from noetl import __version__
from noetl.dsl.yaml.tree import Value
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.paths import inside
from noetl.tools.parts.process import Place, Program, clean_environment, start

if TYPE_CHECKING:
    from aiohttp import ClientResponse

VERSION = "2025-06-18"
GRACE_S = 2.0
MESSAGE_MAX = 16 * 1024**2
HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "noetl", "version": __version__},
}

Message = dict[str, Value]


def request(number: int, method: str, params: Mapping[str, Value]) -> Message:
    """A request that expects an answer with its number."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}


def notice(method: str) -> Message:
    """A message that expects no answer."""
    return {"jsonrpc": "2.0", "method": method}


def read(raw: bytes | str) -> Message:
    """One message of the other side."""
    try:
        message = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Failed(
            "mcp", f"the server sent something that is not JSON: {problem}", code="protocol"
        ) from None
    if not isinstance(message, dict):
        raise Failed("mcp", "the server sent something that is not a JSON-RPC message", code="protocol")
    return message


# ---- a program ------------------------------------------------------------------------------------------


class LineProgram(Program):
    """A program whose output is read line by line."""

    def __init__(self) -> None:
        import asyncio

        super().__init__(64 * 1024)
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
        self.reply_s = reply_s

    async def __aenter__(self) -> Self:
        self.program = await start(self.argv, self.place, LineProgram())
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.program.stop(GRACE_S)

    async def call_tool(self, name: str, arguments: Mapping[str, Value]) -> Message:
        """The answer to a tool call."""
        await self._ask(request(1, "initialize", HELLO))
        self._send(notice("notifications/initialized"))
        return await self._ask(request(2, "tools/call", {"name": name, "arguments": dict(arguments)}))

    def _send(self, message: Message) -> None:
        self.program.feed(msgspec.json.encode(message) + b"\n")

    async def _ask(self, message: Message) -> Message:
        import asyncio

        self._send(message)
        try:
            async with asyncio.timeout(self.reply_s):
                return await self._answer(message["id"])
        except TimeoutError:
            raise Failed("timeout", f"{self.argv[0]} did not answer in time", retryable=True) from None

    async def _answer(self, number: Value) -> Message:
        while (line := await self.program.lines.get()) is not None:
            if not line.strip():
                continue
            message = read(line)
            if "method" in message and "id" in message:  # the server asks us, and we offer nothing
                refusal = {"code": -32601, "message": "not offered"}
                reply = {"result": {}} if message["method"] == "ping" else {"error": refusal}
                self._send({"jsonrpc": "2.0", "id": message["id"], **reply})
            elif message.get("id") == number:
                return message
        words = self.program.printed[2].text.strip()[-500:]
        raise Failed("mcp", f"{self.argv[0]} ended without an answer: {words}", code="ended")


# ---- over HTTP ------------------------------------------------------------------------------------------


class HttpSession:
    """A server at an address."""

    def __init__(self, url: str, call: Call, reply_s: float) -> None:
        self.url = url
        self.call = call
        self.reply_s = reply_s
        self.headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if call.trace is not None:
            self.headers["traceparent"] = call.trace

    async def __aenter__(self) -> Self:
        hello = await self._ask(request(1, "initialize", HELLO))
        version = (hello.get("result") or {}).get("protocolVersion", VERSION)
        self.headers["MCP-Protocol-Version"] = str(version)
        await self._post(notice("notifications/initialized"))
        return self

    async def __aexit__(self, *problem: object) -> None:
        return None

    async def call_tool(self, name: str, arguments: Mapping[str, Value]) -> Message:
        """The answer to a tool call."""
        return await self._ask(request(2, "tools/call", {"name": name, "arguments": dict(arguments)}))

    async def _ask(self, message: Message) -> Message:
        answer = await self._post(message)
        if answer is None:
            raise Failed("mcp", f"{self.url} did not answer {message['method']}", code="protocol")
        return answer

    async def _post(self, message: Message) -> Message | None:
        import aiohttp
        from yarl import URL

        from noetl.tools.http import shared_session
        from noetl.tools.parts.http_answer import failure
        from noetl.tools.parts.http_request import auth_headers, for_origin

        options: dict[str, Any] = {"headers": self.headers, "data": msgspec.json.encode(message)}
        options["timeout"] = aiohttp.ClientTimeout(total=self.reply_s, connect=10)
        if self.call.auth:
            options["middlewares"] = (for_origin(URL(self.url).origin(), auth_headers(self.call.auth)),)
        try:
            client = shared_session(self.call).client
            async with client.post(self.url, **options) as response:
                return await self._received(response, message.get("id"))
        except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
            cause = problem if not isinstance(problem, ValueError) else aiohttp.InvalidURL(self.url)
            raise failure(cause, self.url) from None

    async def _received(self, response: "ClientResponse", number: Value) -> Message | None:
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
        if number is None:
            return None
        if response.content_type != "text/event-stream":
            return read(b"".join([piece async for piece in pieces(response, MESSAGE_MAX)]))
        async for data in _events(response):
            message = read(data)
            if message.get("id") == number and "method" not in message:
                return message
        return None


async def _events(response: "ClientResponse") -> AsyncIterator[str]:
    """The data of server-sent events."""
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
