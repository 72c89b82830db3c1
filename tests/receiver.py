"""Somebody who is told: a web server that keeps what it is sent and answers as it is told to."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web

LONG = 60.0


@dataclass
class Call:
    """One request: the path, the headers in lower case, the body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def signed_with(self, secret: bytes) -> bool:
        """Whether id, time and body are those that were signed."""
        place = (self.headers["webhook-id"], self.headers["webhook-timestamp"])
        text = b".".join((place[0].encode(), place[1].encode(), self.body))
        right = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
        return hmac.compare_digest(f"v1,{right}", self.headers["webhook-signature"])


@dataclass
class Receiver:
    """What was received, and what is answered: the codes in turn, then 200."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    answers: list[web.Response | asyncio.Event] = field(default_factory=list)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def receive(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        async with self._came:
            self.calls.append(Call(request.path, headers, await request.read()))
            self._came.notify_all()
        answer = self.answers.pop(0) if self.answers else web.Response()
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            return web.Response()
        return answer

    async def count(self, wanted: int) -> list[Call]:
        """Wait until so many calls came."""
        async with asyncio.timeout(LONG), self._came:
            await self._came.wait_for(lambda: len(self.calls) >= wanted)
        return self.calls


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.receive)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        await runner.cleanup()
