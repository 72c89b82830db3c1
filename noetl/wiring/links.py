"""How servers and workers are joined: over NATS where settings name it, else by connections of their own."""

import os
import socket
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from noetl.adapters.direct.admission import Admission
from noetl.adapters.direct.link import DirectLink
from noetl.adapters.direct.notices import PATH
from noetl.adapters.direct.serve import LinkServer
from noetl.adapters.link.requests import WorkerLink
from noetl.adapters.link.worker_name import marked
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.link import NatsLink
from noetl.adapters.nats.login import read_login
from noetl.adapters.nats.serve import NatsWorkerChannel, serve
from noetl.adapters.nats.signing import Signer, Verifier
from noetl.adapters.nats.subject_triggers import LOOK_S, SubjectTriggers
from noetl.control import sweep
from noetl.errors import BackendError, RequestError
from noetl.ports.link import ConnectionAcceptor, HeartbeatListener, WorkerApi, WorkerChannel
from noetl.ports.store import ServerAddress
from noetl.settings import Settings
from noetl.wiring.plane import Plane

NATS = "nats://"
PEERS_S = 1.0  # so long until a worker hears of a new server
ANNOUNCED_S = 30.0  # a server that was not heard of for so long is not dialled


@asynccontextmanager
async def opened_bus(settings: Settings, name: str) -> AsyncIterator[Bus | None]:
    """The bus that the settings name, if they name one."""
    if settings.bus is None:
        yield None
        return
    if not settings.bus.startswith((NATS, "tls://")):
        raise RequestError(
            f"NOETL_BUS is '{settings.bus}', which is no address of NATS", hint=f"{NATS}HOST:4222"
        )
    bus = Bus(settings.bus, name, read_login(settings.bus_creds, settings.bus_ca))
    await bus.connect()
    try:
        yield bus
    finally:
        await bus.close()


@dataclass(slots=True)
class ServerLink:
    """How one server reaches workers, what it does by the clock for that, and what its HTTP port takes."""

    channel: WorkerChannel
    jobs: Sequence[tuple[float, sweep.Work]] = ()
    acceptors: Mapping[str, ConnectionAcceptor] = field(default_factory=dict)

    def open(self, worker_api: WorkerApi, heartbeats: HeartbeatListener) -> None:
        """Let workers come."""
        raise NotImplementedError


class _BusLink(ServerLink):
    def __init__(self, settings: Settings, plane: Plane, server_id: str, bus: Bus) -> None:
        self._bus, self._channel = bus, NatsWorkerChannel(bus, server_id, plane.engine.now)
        self._verifier = Verifier(plane.store.token, required=settings.guarded)
        triggers = SubjectTriggers(bus, plane.front.triggers, plane.front.take_message)
        super().__init__(self._channel, [(LOOK_S, triggers.look)])

    def open(self, worker_api: WorkerApi, heartbeats: HeartbeatListener) -> None:
        """Answer on the bus."""
        serve(self._bus, self._channel, worker_api, heartbeats, self._verifier)


class _DirectLink(ServerLink):
    def __init__(self, settings: Settings, plane: Plane, server_id: str, url: str) -> None:
        admission = Admission(plane.store.token, plane.engine.now, required=settings.guarded)
        self.server = LinkServer(server_id, plane.engine.now, admission)
        self._store, self._address = plane.store, ServerAddress(server_id, settings.advertise_url or url)
        self._lease_s = min(settings.lease_s, ANNOUNCED_S)
        jobs = [(self._lease_s / 3, self._announce), (min(PEERS_S, self._lease_s / 3), self._look)]
        super().__init__(self.server, jobs, {PATH: self.server})

    def open(self, worker_api: WorkerApi, heartbeats: HeartbeatListener) -> None:
        """Answer workers that connect."""
        self.server.open(worker_api, heartbeats)

    async def _announce(self) -> None:
        await self._store.announce(self._address, int(self._lease_s * 1000))

    async def _look(self) -> None:
        self.server.tell_peers(list(await self._store.servers()))

    async def close(self) -> None:
        """Send the workers to others."""
        with suppress(BackendError):  # a store that is away forgets us by itself
            await self._store.withdraw(self._address.server)
            await self._look()  # so that they know where to go
        await self.server.close()


@asynccontextmanager
async def server_link(
    settings: Settings, plane: Plane, server_id: str, bus: Bus | None, url: str
) -> AsyncIterator[ServerLink]:
    """A server's way to workers; `url`: where its HTTP port is reached."""
    if bus is not None:
        yield _BusLink(settings, plane, server_id, bus)
        return
    direct = _DirectLink(settings, plane, server_id, url)
    try:
        yield direct
    finally:
        await direct.close()


def worker_name(settings: Settings) -> str:
    """A name that no other worker has, with the mark of its token."""
    name = f"{socket.gethostname().split('.')[0]}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
    return marked(name, settings.token)


@asynccontextmanager
async def worker_link(settings: Settings, worker_id: str, bus: Bus | None) -> AsyncIterator[WorkerLink]:
    """A worker's way to servers; it is opened by whoever listens to it."""
    signer = Signer(settings.token)  # a token that is none is told of before anything is dialled
    if bus is not None:
        yield NatsLink(bus, settings.pool, worker_id, signer)
        return
    urls = settings.servers
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise RequestError(f"'{url}' is no address of a server", hint="http://HOST:8080")
    if not urls:
        raise RequestError(
            "a worker needs the address of a server", hint="--server http://HOST:8080, or NOETL_SERVER"
        )
    link = DirectLink(urls, settings.pool, worker_id, settings.token)
    try:
        yield link
    finally:
        await link.close()
