"""A server's end of the direct link: lets workers in on the HTTP port, answers them, and calls them.

What one connection may hold, say and begin is bounded; a worker that connects again takes the place of its
older connection.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from http import HTTPStatus

import msgspec

from noetl.adapters.direct.admission import Admission, WorkerIdentity, is_due
from noetl.adapters.direct.connection import (
    ANSWER,
    FAILURE,
    NOTICE,
    REQUEST,
    ROOM,
    Budget,
    LinkClosed,
    LinkConnection,
)
from noetl.adapters.direct.frames import GOING_AWAY, REFUSED
from noetl.adapters.direct.handshake import VERSION, accept_key, read_versions, subprotocol
from noetl.adapters.direct.notices import BEAT, HINT, ORDERS, PEERS, PUSH, Peers
from noetl.adapters.eager_task import eager_task
from noetl.adapters.link.error_reply import encode_error
from noetl.adapters.link.handlers import RequestHandler, decode, request_handlers
from noetl.adapters.quick_wait import QuickWait
from noetl.core.message import WorkOrder
from noetl.errors import BackendError, Denied, NoetlError, RequestError
from noetl.ports import link
from noetl.ports.link_protocol import (
    SPOKEN,
    Peer,
    ProtocolRange,
    no_common_protocol,
    this_server,
    unknown_request,
)
from noetl.ports.store import ServerAddress

_LOG = logging.getLogger("noetl.link")
_encode = msgspec.json.encode
_BEAT = msgspec.json.Decoder(link.Heartbeat)
PENDING_MOST = 64  # connections whose token is being looked up
CONNECTIONS_MOST = 4096
PENDING_S = 10.0
WORKERS_KNOWN = 10_000
PING_S = 2.0
PIECES_BYTES = 256 * 1024**2  # of long requests that are not whole yet, over all connections
BUSY_BYTES = 256 * 1024**2  # of requests that are being answered
BUSY_MOST = 20_000
RETRY = BackendError("the server has too much to do at once; ask again")


class WorkerConnection(LinkConnection):
    """One worker, from the moment it asks to be let in."""

    def __init__(self, server: "LinkServer", transport: object) -> None:
        super().__init__(server.pieces)
        self.transport, self._server = transport, server
        self.identity: WorkerIdentity | None = None  # None: not let in yet
        self.protocol = 0  # the version that was agreed on
        self.checked = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Hand on messages, once the worker is let in."""
        if self.identity is None:
            self.abort("it spoke before it was let in")
        else:
            self._server.heard()
            super().data_received(data)

    def message(self, kind: int, number: int, body: bytes) -> None:
        """A request, or a beat."""
        if kind == REQUEST:
            self._server.asked(self, number, body)
        elif kind == NOTICE and body[:1] == BEAT:
            self._server.beat(self, body[1:])
        else:
            self.refuse(kind, number, body)

    def notice(self, body: bytes) -> bool:
        """Tell the worker something, unless it is too long or there is no way; whether it was said."""
        if self.crowded or len(body) > ROOM:
            return False
        self.send(NOTICE, 0, body)
        return True

    def ended(self) -> None:
        """The worker is gone."""
        self._server.left(self)


class LinkServer:
    """The workers that are connected to one server; how it reaches them, and answers."""

    def __init__(
        self, server: str, now: Callable[[], int], admission: Admission, spoken: ProtocolRange = SPOKEN
    ) -> None:
        self.server, self._now, self._admission = server, now, admission
        self._self = this_server(server, spoken)
        self.pieces = Budget(PIECES_BYTES)
        self._busy = Budget(BUSY_BYTES)
        self._connections: dict[str, WorkerConnection] = {}
        self._keys: dict[str, bytes | None] = {}  # what each worker is known by
        self._pending = 0
        self._tasks: set[asyncio.Future[None]] = set()
        self._peers: list[ServerAddress] = []
        self._handlers: dict[bytes, RequestHandler[WorkerConnection]] = {}
        self._heartbeats: link.HeartbeatListener | None = None
        self._report: QuickWait | None = None  # on the work that was given last

    def open(self, worker_api: link.WorkerApi, heartbeats: link.HeartbeatListener) -> None:
        """Answer with this API from now on; before, nobody is let in."""
        self._report = QuickWait(asyncio.get_running_loop())
        handlers = request_handlers(self.server, worker_api, _check_sender, self._report.begin)
        self._handlers = {what.encode(): handler for what, handler in handlers.items()}
        self._heartbeats = heartbeats
        self._spawn(self._look_after())

    async def close(self) -> None:
        """Send every worker away, to other servers."""
        self._handlers = {}
        for connection in list(self._connections.values()):
            connection.close(GOING_AWAY, "the server stops")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Letting in

    def accept(self, request: link.ConnectRequest, transport: object) -> WorkerConnection:
        """Someone asks for a link; who it is is found out, then the answer of HTTP is written."""
        connection = WorkerConnection(self, transport)
        if self._pending >= PENDING_MOST or len(self._connections) >= CONNECTIONS_MOST:
            _refuse(connection, 503, BackendError("too many workers ask to be let in at once"))
            return connection
        self._pending += 1
        self._spawn(self._let_in(connection, request))
        return connection

    async def _let_in(self, connection: WorkerConnection, request: link.ConnectRequest) -> None:
        try:
            async with asyncio.timeout(PENDING_S):
                self._check(request)
                kind, _, bearer = request.headers.get("authorization", "").partition(" ")
                token = bearer.strip() if kind.lower() == "bearer" else None
                identity = await self._admission.admit(
                    request.query.get("worker", ""), request.query.get("pool", "default"), token
                )
                connection.protocol = self._agree(identity, request)
        except TimeoutError:
            _refuse(connection, 503, BackendError("the token could not be looked up in time"))
        except Denied as error:
            _refuse(connection, 401 if "authorization" not in request.headers else 403, error)
        except _Misdirected as error:
            _refuse(connection, 421, error)
        except NoetlError as error:
            _refuse(connection, 503 if isinstance(error, BackendError) else 400, error)
        else:
            self._enter(connection, identity, request.headers["sec-websocket-key"])
        finally:
            self._pending -= 1

    def _check(self, request: link.ConnectRequest) -> None:
        if not self._handlers:
            raise BackendError("this server is not ready for workers yet, or stops")
        if "origin" in request.headers:  # only browsers say where a page comes from
            raise RequestError("a page may not be a worker")
        key, version = request.headers.get("sec-websocket-key"), request.headers.get("sec-websocket-version")
        if not key or version != VERSION:
            raise RequestError(f"a worker asks for version {VERSION} of WebSocket, with a key")
        wanted = request.query.get("server")
        if wanted not in (None, self.server):
            raise _Misdirected(f"this is server {self.server}, not {wanted}")

    def _agree(self, identity: WorkerIdentity, request: link.ConnectRequest) -> int:
        spoken = read_versions(request.headers.get("sec-websocket-protocol", "")) or ProtocolRange(0, 0)
        protocol = self._self.spoken.highest_shared(spoken)
        if protocol is None:
            release = request.query.get("release", "")[:40]
            error = no_common_protocol(Peer(f"worker {identity.worker_id}", release, spoken), self._self)
            _LOG.warning("%s; %s", error.message, error.hint)
            raise error
        return protocol

    def _enter(self, connection: WorkerConnection, identity: WorkerIdentity, key: str) -> None:
        if connection.closed:
            return
        if self._keys.setdefault(identity.worker_id, identity.key) != identity.key:
            wrong = RequestError(f"worker {identity.worker_id} is known by another token than this one")
            _refuse(connection, 403, wrong)
            return
        if len(self._keys) > WORKERS_KNOWN:
            del self._keys[next(iter(self._keys))]
        older = self._connections.get(identity.worker_id)
        if older is not None:
            older.close(REFUSED, "the worker has connected again")
        connection.identity = identity
        self._connections[identity.worker_id] = connection
        head = (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept_key(key)}\r\n"
            f"Sec-WebSocket-Protocol: {subprotocol(connection.protocol)}\r\n\r\n"
        )
        connection.transport.write(head.encode())
        connection.notice(self._welcome())

    def left(self, connection: WorkerConnection) -> None:
        """A connection is over."""
        identity = connection.identity
        if identity is not None and self._connections.get(identity.worker_id) is connection:
            del self._connections[identity.worker_id]

    async def _look_after(self) -> None:
        """See that connections live, and that their tokens are still good."""
        while True:
            await asyncio.sleep(PING_S)
            for connection in list(self._connections.values()):
                connection.ping()
                if is_due(connection.checked):
                    connection.checked = time.monotonic()
                    self._spawn(self._check_again(connection))

    async def _check_again(self, connection: WorkerConnection) -> None:
        assert connection.identity is not None
        try:
            await self._admission.check(connection.identity)
        except BackendError:  # the store is away, and cannot tell
            return
        except RequestError as error:
            connection.close(REFUSED, error.message)

    # Answering

    def heard(self) -> None:
        """A worker has said something."""
        if self._report is not None:
            self._report.end()

    def beat(self, connection: WorkerConnection, body: bytes) -> None:
        try:
            beat = decode(_BEAT, body)
            _check_sender(beat.hello.worker_id, beat.hello.pool, connection)
        except RequestError as error:
            connection.close(REFUSED, error.message)
            return
        if self._heartbeats is not None:
            self._heartbeats.beat(beat)

    def asked(self, connection: WorkerConnection, number: int, body: bytes) -> None:
        """A worker asks for something: answer it, here and now where nothing is to be waited for."""
        what, _, rest = body.partition(b" ")
        handler = self._handlers.get(what)
        if handler is None:
            name = what[:40].decode(errors="replace")
            unknown = unknown_request(name, self._self, connection.protocol)
            self._failed(connection, number, unknown if self._handlers else BackendError("the server stops"))
        elif len(self._tasks) >= BUSY_MOST or not self._busy.take(len(body)):
            self._failed(connection, number, RETRY)
        else:
            self._keep(eager_task(self._answer(connection, number, what, rest), connection.loop))

    async def _answer(self, connection: WorkerConnection, number: int, what: bytes, body: bytes) -> None:
        try:
            answer = await self._handlers[what](body, connection)
            if len(answer) > ROOM or connection.crowded:
                await connection.send_long(ANSWER, number, answer)
            else:
                connection.send(ANSWER, number, answer)
        except NoetlError as error:
            self._failed(connection, number, error)
        except LinkClosed:
            return  # whoever asked will ask again
        finally:
            self._busy.give(len(what) + 1 + len(body))

    def _failed(self, connection: WorkerConnection, number: int, error: NoetlError) -> None:
        if not connection.closed:
            connection.send(FAILURE, number, encode_error(error))

    def _spawn(self, work: Coroutine[object, None, None]) -> None:
        self._keep(asyncio.create_task(work))

    def _keep(self, task: "asyncio.Future[None]") -> None:
        if task.done():
            self._done(task)
        else:
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOG.error("a message could not be dealt with", exc_info=task.exception())

    # Calling

    def hint(self, pool: str) -> None:
        for connection in self._connections.values():
            if connection.identity is not None and connection.identity.pool == pool:
                connection.notice(HINT)

    def alive(self) -> None:
        """Workers see by their connection that this server is there."""

    def quiet_s(self) -> float:
        """There is nothing between a worker and this server that could be away by itself."""
        return 0.0

    def push(self, worker_id: str, push: link.Push) -> None:
        connection = self._connections.get(worker_id)
        if connection is not None:
            connection.notice(PUSH + _encode(push))

    def hand(self, worker_id: str, orders: list[WorkOrder], on_no_responder: Callable[[], None]) -> bool:
        """Give one worker orders unasked."""
        connection = self._connections.get(worker_id)
        if connection is None:
            return False
        deliveries = [link.OrderDelivery(order) for order in orders]
        if self._report is not None:
            self._report.begin()
        return connection.notice(ORDERS + _encode(link.Orders(self.server, self._now(), deliveries)))

    def tell_peers(self, servers: list[ServerAddress]) -> None:
        """Tell all workers which servers there are, when that has changed."""
        if servers != self._peers:
            self._peers = servers
            for connection in self._connections.values():
                connection.notice(self._welcome())

    def _welcome(self) -> bytes:
        return PEERS + _encode(Peers(self.server, self._now(), self._peers))


class _Misdirected(RequestError):
    """A worker wants another server than this one."""


def _check_sender(worker_id: str | None, pool: str | None, connection: WorkerConnection) -> None:
    identity = connection.identity
    if identity is None or worker_id not in (None, identity.worker_id):
        raise RequestError(f"worker {(worker_id or '')[:80]} is known by another connection than this one")
    if pool not in (None, identity.pool):
        raise RequestError(f"worker {worker_id} was let in for the pool '{identity.pool}', not '{pool}'")


def _refuse(connection: WorkerConnection, status: int, error: NoetlError) -> None:
    """Answer as HTTP does, and hang up."""
    phrase = HTTPStatus(status).phrase
    body = {
        "title": phrase,
        "status": status,
        "detail": error.message,
        "hint": error.hint,
        "code": error.code,
    }
    content = _encode({name: value for name, value in body.items() if value is not None})
    head = (
        f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    if not connection.closed:
        connection.transport.write(head.encode() + content)
        connection.transport.close()
