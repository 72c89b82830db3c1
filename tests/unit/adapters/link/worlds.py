"""A server and workers joined by each of the links, for what both of them promise."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from fastapi import FastAPI

from noetl.adapters.direct.admission import Admission
from noetl.adapters.direct.link import DirectLink
from noetl.adapters.direct.notices import PATH
from noetl.adapters.direct.serve import LinkServer
from noetl.adapters.link.requests import WorkerLink
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.link import NatsLink
from noetl.adapters.nats.serve import NatsWorkerChannel, serve
from noetl.adapters.nats.signing import Signer, Verifier
from noetl.core.message import Answer, Payload, WorkOrder
from noetl.errors import BackendError, NotFound
from noetl.ports.bearer import digest, spelled
from noetl.ports.link import (
    Heartbeat,
    Hello,
    LinesRequest,
    Orders,
    ReportReply,
    ReportRequest,
    SecretRequest,
    TakeRequest,
    WorkerChannel,
)
from noetl.ports.link_protocol import SPOKEN, ProtocolRange
from noetl.ports.results import stream_key
from noetl.ports.store import AccessToken
from noetl.server.listen import bind, url_of
from noetl.server.listen import serve as listen

NOW = 1_000_000
TOKENS = {f"{number:016x}": str(number) * 43 for number in (1, 2)}
ORDER = WorkOrder("e" * 32, "l1", 1, "s.1", "s", "digest", "default")


def hello(worker_id: str = "w", pool: str = "default") -> Hello:
    return Hello(worker_id, pool, 4, ["noop"], b"k", 1)


def bearer(number: int) -> str:
    return spelled(f"{number:016x}", str(number) * 43)


async def find(token_id: str) -> AccessToken:
    if token_id not in TOKENS:
        raise NotFound("no such token")
    return AccessToken(token_id, digest(TOKENS[token_id]), "w", ["worker"], pools=["default"])


class Desk:
    """What a server does for workers, remembered."""

    def __init__(self) -> None:
        self.beats: asyncio.Queue[Heartbeat] = asyncio.Queue()
        self.written: dict[str, bytes] = {}
        self.reports: list[ReportRequest] = []
        self.lines_of: list[LinesRequest] = []
        self.away = 0  # so many reports are to be sent again
        self.sent_away: list[str] = []

    async def take(self, take: TakeRequest) -> Orders:
        return Orders("server", NOW)

    async def report(self, request: ReportRequest) -> ReportReply:
        self.reports.append(request)
        if self.away:
            self.away -= 1
            raise BackendError("another server runs it")
        return ReportReply(Answer(seq=len(self.reports)), Orders("server", NOW))

    async def lines(self, request: LinesRequest) -> None:
        self.lines_of.append(request)

    async def secret(self, ask: SecretRequest) -> bytes:
        return b"sealed"

    async def program(self, digest: str) -> str:
        return f"text of {digest}"

    async def write(self, payload: Payload) -> None:
        self.written[payload.key] = payload.body

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> None:
        body = b"".join([chunk async for chunk in chunks])
        self.written[stream_key(execution_id, hashlib.sha256(body).hexdigest())] = body

    async def read(self, key: str) -> bytes:
        if key not in self.written:
            raise NotFound(f"the payload {key} is not there")
        return self.written[key]

    def beat(self, beat: Heartbeat) -> None:
        self.beats.put_nowait(beat)

    def missed(self) -> None:
        self.sent_away.append("missed")


class World(Protocol):
    """One server `server` that asks for tokens, and workers with tokens."""

    desk: Desk

    @property
    def channel(self) -> WorkerChannel:
        """How the server reaches workers."""
        ...

    def worker(
        self, token: int, name: str = "w", pool: str = "default", spoken: ProtocolRange = SPOKEN
    ) -> AbstractAsyncContextManager[WorkerLink]:
        """Someone with a token who says to be a worker, connected."""
        ...

    def protocol(self, worker_id: str) -> int:
        """In which version the server speaks to a worker."""
        ...

    async def interrupt(self) -> None:
        """Cut all connections; they come back."""
        ...


class NatsWorld:
    """Over a real NATS server."""

    def __init__(self, url: str, bus: Bus, desk: Desk, spoken: ProtocolRange) -> None:
        self._url, self._bus, self.desk = url, bus, desk
        self.channel = NatsWorkerChannel(bus, "server", lambda: NOW, spoken)
        serve(bus, self.channel, desk, desk, Verifier(find, required=True))

    def protocol(self, worker_id: str) -> int:
        return self.channel._known[worker_id].protocol

    @asynccontextmanager
    async def worker(
        self, token: int, name: str = "w", pool: str = "default", spoken: ProtocolRange = SPOKEN
    ) -> AsyncIterator[WorkerLink]:
        bus = Bus(self._url, "test worker")
        await bus.connect()
        link = NatsLink(bus, pool, name, Signer(bearer(token)), spoken)
        link.open()
        try:
            await link.which()  # what was said before has been heard: subscriptions too
            yield link
        finally:
            await bus.close()

    async def interrupt(self) -> None:
        connection = self._bus._wire._connection
        assert connection is not None
        connection.end("cut by the test")


class DirectWorld:
    """Over a real HTTP port."""

    def __init__(self, url: str, server: LinkServer, desk: Desk) -> None:
        self.url, self.desk, self.channel = url, desk, server
        server.open(desk, desk)

    def protocol(self, worker_id: str) -> int:
        return self.channel._connections[worker_id].protocol

    @asynccontextmanager
    async def worker(
        self, token: int, name: str = "w", pool: str = "default", spoken: ProtocolRange = SPOKEN
    ) -> AsyncIterator[WorkerLink]:
        link = DirectLink([self.url], pool, name, bearer(token), spoken)
        link.open()
        try:
            await link.which()
            yield link
        finally:
            await link.close()

    async def interrupt(self) -> None:
        for connection in list(self.channel._connections.values()):
            connection.abort("cut by the test")


@asynccontextmanager
async def nats_world(url: str, spoken: ProtocolRange = SPOKEN) -> AsyncIterator[NatsWorld]:
    bus = Bus(url, "test server")
    await bus.connect()
    try:
        yield NatsWorld(url, bus, Desk(), spoken)
    finally:
        await bus.close()


@asynccontextmanager
async def direct_world(spoken: ProtocolRange = SPOKEN) -> AsyncIterator[DirectWorld]:
    server = LinkServer("server", lambda: NOW, Admission(find, lambda: NOW, required=True), spoken)
    bound, stopping, app = bind("127.0.0.1", 0, guarded=True), asyncio.Event(), FastAPI()
    app.state.closing = asyncio.Event()
    url = url_of(bound)
    listening = asyncio.create_task(listen(app, bound, stopping, {PATH: server}))
    try:
        yield DirectWorld(url, server, Desk())
    finally:
        await server.close()
        stopping.set()
        await listening
