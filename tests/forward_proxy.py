"""A forward proxy as a company has one: it leads to hosts of a name that nobody else knows, and may ask who one is."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import quote, urlsplit

HOST = "noetl.test"  # where it leads to this machine


class ForwardProxy:
    """What was asked of it, and where it is."""

    def __init__(self, login: tuple[str, str] | None, answer: str | None) -> None:
        self.login, self.answer = login, answer
        self.seen: list[str] = []  # the first line of each request
        self.port = 0

    @property
    def url(self) -> str:
        """Its address, with a login where it asks for one."""
        user = "" if self.login is None else ":".join(quote(word, safe="") for word in self.login) + "@"
        return f"http://{user}127.0.0.1:{self.port}"

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Lead one connection on."""
        with suppress(OSError, asyncio.IncompleteReadError):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
            self.seen.append(first)
            refusal = self._refusal(lines)
            if refusal is not None:
                writer.write(f"HTTP/1.1 {refusal}\r\ncontent-length: 0\r\n\r\n".encode())
            else:
                await self._lead(reader, writer, first, lines)
        writer.close()

    def _refusal(self, lines: list[str]) -> str | None:
        if self.login is not None:
            known = f"Proxy-Authorization: Basic {b64encode(':'.join(self.login).encode()).decode()}"
            if known not in lines:
                return "407 Proxy Authentication Required"
        return self.answer

    async def _lead(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: str, lines: list[str]
    ) -> None:
        method, target, version = first.split(" ")
        there = urlsplit(f"//{target}" if method == "CONNECT" else target)
        assert there.hostname == HOST
        answers, onward = await asyncio.open_connection("127.0.0.1", there.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = there.path + (f"?{there.query}" if there.query else "")
            onward.write("\r\n".join([f"{method} {path} {version}", *lines, "", ""]).encode())
        await asyncio.gather(_pass_on(reader, onward), _pass_on(answers, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def forward_proxy(
    login: tuple[str, str] | None = None, answer: str | None = None
) -> AsyncIterator[ForwardProxy]:
    """A proxy on a free port; `answer`: what it refuses everyone with."""
    proxy = ForwardProxy(login, answer)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
