"""A worker's links to its servers: dials those it was told of, and all that these tell of; asks the owner.

Each server is connected once, whichever address led there. What a lost connection left open is asked again.
"""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from noetl import __version__
from noetl.adapters.clock.wall import now_ms
from noetl.adapters.direct.connection import NOTICE, ROOM
from noetl.adapters.direct.dial import Misdirected, ServerConnection, dial
from noetl.adapters.direct.frames import GOING_AWAY, REFUSED
from noetl.adapters.direct.notices import BEAT, HINT, ORDERS, PEERS, PUSH, Peers
from noetl.adapters.link.requests import ANSWER_S, NoAnswer, WorkerLink
from noetl.adapters.link.requests import ORDERS as ORDERS_DECODER
from noetl.errors import BackendError, RequestError
from noetl.ports.link import Heartbeat, Push, ReportReply, ReportRequest
from noetl.ports.link_protocol import SPOKEN, ProtocolRange
from noetl.ports.store import ServerAddress

_LOG = logging.getLogger("noetl.worker")
_PEERS = msgspec.json.Decoder(Peers)
_PUSH = msgspec.json.Decoder(Push)
AGAIN_S, AGAIN_MOST_S = 0.1, 2.0
PING_S = 2.0
PIECE_ROOM = ROOM - 1024  # of a request: its name and its place


class DirectLink(WorkerLink):
    """Speaks to the servers for one worker."""

    def __init__(
        self,
        urls: Sequence[str],
        pool: str,
        worker_id: str,
        token: str | None,
        spoken: ProtocolRange = SPOKEN,
    ) -> None:
        super().__init__(pool)
        self._spoken = spoken
        self._urls, self._token = tuple(dict.fromkeys(url.rstrip("/") for url in urls)), token
        self._query = {"worker": worker_id, "pool": pool, "release": __version__}
        self._connections: dict[str, ServerConnection] = {}  # by the name of the server
        self._dialling: dict[ServerAddress, asyncio.Task[None]] = {}
        self._refusals: dict[ServerAddress, RequestError] = {}
        self._tried: set[ServerAddress] = set()  # addresses at which someone was, or nobody
        self._changed = asyncio.Event()  # someone let us in, or refused
        self._pinging: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to dial."""
        for url in self._urls:
            self._begin(ServerAddress("", url))
        self._pinging = asyncio.create_task(self._ping())

    async def close(self) -> None:
        """Hang up."""
        tasks = [*self._dialling.values(), *([self._pinging] if self._pinging is not None else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close(GOING_AWAY, "the worker stops")

    # Dialling

    def _begin(self, address: ServerAddress) -> None:
        if address not in self._dialling:
            self._dialling[address] = asyncio.create_task(self._stay(address))

    async def _stay(self, address: ServerAddress) -> None:
        """Be connected to a server, again and again, by its own address or by one that leads to all."""
        wait, warned = AGAIN_S, set[str]()
        ways = [address.url, *(self._urls if address.server else ())]
        turn, server = 0, address.server
        while True:
            await self._until_lost(server)
            try:
                server = await self._connect(ways[turn % len(ways)], address)
                if server in self._connections:
                    wait, turn = AGAIN_S, 0
                    warned.clear()
                await self._until_lost(server)
            except RequestError as error:
                self._refusals[address] = error
                _warn(error.message, warned)
            except BackendError as error:
                self._refusals.pop(address, None)  # whoever refused there is not there any more
                if not isinstance(error, Misdirected):
                    _warn(f"{error.message}; trying again", warned)
            self._tried.add(address)
            self._changed.set()
            turn += 1
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 1.5, AGAIN_MOST_S)

    async def _until_lost(self, server: str) -> None:
        """Wait while there is a connection to a server, by whichever address."""
        while (existing := self._connections.get(server)) is not None:
            await asyncio.shield(existing.lost)
            self._forget(server, existing)  # by now; without waiting, if it was lost a moment ago

    async def _connect(self, url: str, address: ServerAddress) -> str:
        """Connect to the server at an address; its name."""
        wanted = {"server": address.server} if address.server else {}
        connection = await dial(url, {**self._query, **wanted}, self._token, self._noticed, self._spoken)
        assert connection.peers is not None
        server = connection.peers.server
        if connection.closed:  # for another of ours, which is there or on its way
            return server
        existing = self._connections.get(server)
        self._connections[server] = connection
        if existing is not None:  # another address led there too, and the server lets go of it
            existing.close(REFUSED, "connected again")
        else:
            _LOG.info("linked to %s, which is server %s", connection.url, server)
        connection.lost.add_done_callback(lambda _: self._forget(server, connection))
        self._refusals.pop(address, None)
        self._meet(connection.peers)
        self._changed.set()
        self.on_connected()
        return server

    def _forget(self, server: str, connection: ServerConnection) -> None:
        if self._connections.get(server) is connection:
            del self._connections[server]
            _LOG.warning("the link to %s is lost: %s", connection.url, connection.why)

    def _meet(self, peers: Peers) -> None:
        """Servers that we were told of: dial the new ones, give up those that are gone."""
        listed = set(peers.servers)
        for address in [one for one in self._dialling if one.server]:
            if address not in listed and address.server not in self._connections:
                self._dialling.pop(address).cancel()
                self._refusals.pop(address, None)
        for address in listed:
            self._begin(address)

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(PING_S)
            for connection in list(self._connections.values()):
                connection.ping()

    # Hearing

    def _noticed(self, connection: ServerConnection, body: bytes) -> None:
        try:
            self._hear(connection, body[:1], body[1:])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            _LOG.warning("what %s tells is not understood: %s", connection.url, error)  # is it a newer one?

    def _hear(self, connection: ServerConnection, kind: bytes, body: bytes) -> None:
        if kind == PEERS:
            peers = _PEERS.decode(body)
            self._ahead_ms = peers.now - now_ms()
            if connection.peers is not None:
                self._meet(peers)
            connection.meet(peers)
        elif kind == HINT:
            if connection.peers is not None:
                self.on_hint(connection.peers.server)
        elif kind == PUSH:
            self.on_push(_PUSH.decode(body))
        elif kind == ORDERS:
            self.on_orders(self.noted(ORDERS_DECODER.decode(body)))
        else:
            connection.refuse(NOTICE, 0, kind)

    # Speaking

    def tell(self, beat: Heartbeat) -> None:
        body = BEAT + msgspec.json.encode(beat)
        for connection in self._connections.values():
            if not connection.crowded and len(body) <= ROOM:
                connection.send(NOTICE, 0, body)

    async def which(self) -> str:
        """The name of a server that lets us work; raises RequestError when each that answers does not."""
        while True:
            server = self.some_server()
            if server is not None:
                return server
            if self._refusals and self._tried.issuperset(self._dialling):
                raise next(iter(self._refusals.values()))
            self._changed.clear()
            await self._changed.wait()

    @property
    def room(self) -> int:
        """How many bytes of a payload go at once."""
        return PIECE_ROOM

    async def report(self, request: ReportRequest) -> ReportReply:
        """Hand a report in: straight to the owner, else as any request."""
        connection = self._connections.get(self._owners.get(request.execution_id, ""))
        body = msgspec.json.encode(request)
        if connection is None:
            return await self.report_again(request, body)
        try:
            answer = await connection.request("report", body, ANSWER_S)
        except BackendError:  # not heard, or not the one to ask any more
            return await self.report_again(request, body)
        return self.replied(request, answer)

    async def once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
        """Ask one server once."""
        connection = self._connections.get(server or self.some_server() or "")
        if connection is None or connection.closed:
            raise NoAnswer(f"there is no link to server {server or 'any'}")
        return await connection.request(what, body, patience)

    def some_server(self, but: str | None = None) -> str | None:
        """A server that we are connected to, if possible another than the one that did not answer."""
        there = [name for name, connection in self._connections.items() if not connection.closed]
        others = [name for name in there if name != but] or there
        return random.choice(others) if others else None

    def protocols(self) -> Mapping[str, int]:
        there = self._connections.items()
        return {server: connection.protocol for server, connection in there if not connection.closed}

    async def until_server(self) -> None:
        """Wait until we are connected to a server again."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(AGAIN_MOST_S):
                await self._changed.wait()


def _warn(message: str, warned: set[str]) -> None:
    """Say once why a server is not reached, however many ways to it are tried in turn."""
    if message not in warned:
        warned.add(message)
        _LOG.warning(message)
