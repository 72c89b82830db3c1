"""Listening: an address that may be listened on, and serving an app there until told to stop."""

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from fastapi import FastAPI

from noetl.errors import BackendError, RequestError
from noetl.ports.link import ConnectionAcceptor, ConnectRequest
from noetl.ports.network import is_loopback
from noetl.server.header_timeout import BODY_S, HEAD_BYTES, HEAD_S, Patience
from noetl.server.joined_answer import JoinedAnswer

DRAIN_S = 10  # for answers that are under way when the server stops
Acceptors = Mapping[str, ConnectionAcceptor]  # by path: who takes over connections that are to stay


class _Listener(uvicorn.Server):
    """The server without its own signal handlers: whoever started it decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Upgradable:
    """Hands connections that are to stay to whoever accepts them; what a protocol of the server mixes in."""

    acceptors: Acceptors
    transport: Any
    connections: set[Any]
    headers: list[tuple[bytes, bytes]]

    def target(self) -> str:
        """What the request asks for, as it was sent."""
        raise NotImplementedError

    def _acceptor(self) -> ConnectionAcceptor | None:
        wants = any(name == b"upgrade" and value.lower() == b"websocket" for name, value in self.headers)
        return self.acceptors.get(urlsplit(self.target()).path) if wants else None

    def _should_upgrade(self) -> bool:
        return self._acceptor() is not None

    def handle_websocket_upgrade(self, *_: Any) -> None:
        """The connection is not HTTP's any more."""
        acceptor, parts = self._acceptor(), urlsplit(self.target())
        assert acceptor is not None
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.headers}
        request = ConnectRequest(parts.path, dict(parse_qsl(parts.query)), headers)
        self.no_wait()
        self.connections.discard(self)
        self.transport.set_protocol(acceptor.accept(request, self.transport))

    def no_wait(self) -> None:
        """Nothing more is waited for here."""
        super().no_wait()  # type: ignore[misc]

    def _unsupported_upgrade_warning(self) -> None:
        """Whoever asks for another protocol is answered in HTTP."""


def _protocol(accepting: Acceptors) -> Any:
    """The faster parser where it is installed, else the plain one; either with an end to its patience."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return _plain(accepting)

    class Bounded(_Upgradable, Patience, HttpToolsProtocol):
        """Gives up on a request whose headers do not end, or do not come."""

        acceptors = accepting

        head = 0

        def data_received(self, data: bytes) -> None:
            """Read on, unless too much has come without an end of the headers."""
            super().data_received(data)
            self.head += len(data) if not self.speaking else 0
            if self.head > HEAD_BYTES:
                self.send_400_response("The headers do not end.")

        def on_message_begin(self) -> None:
            self.speaking, self.head = False, 0
            self.wait(HEAD_S)
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.speaking, self.head = True, 0
            self.wait(BODY_S)
            before = self.cycle
            super().on_headers_complete()
            answering: Any = self.cycle
            if answering is not before:
                answering.transport = JoinedAnswer(self.transport, self.loop)

        def on_message_complete(self) -> None:
            self.no_wait()
            super().on_message_complete()

        def target(self) -> str:
            """What the request asks for."""
            return self.url.decode("latin-1")

    return Bounded


def _plain(accepting: Acceptors) -> Any:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(_Upgradable, Patience, H11Protocol):
        """Looks after each piece how far the request has come."""

        acceptors = accepting
        stage: Any = None

        def target(self) -> str:
            """What the request asks for."""
            path = (self.scope["raw_path"] + b"?" + self.scope["query_string"]).decode("latin-1")
            return path.rstrip("?")

        def data_received(self, data: bytes) -> None:
            """Read on, and wait for what is to come next."""
            super().data_received(data)
            if self not in self.connections:  # it is another protocol's by now
                return
            stage = self.conn.their_state
            self.speaking = stage is not h11.IDLE
            if stage is self.stage:
                return
            self.stage = stage
            if stage is h11.IDLE or stage is h11.SEND_BODY:
                self.wait(HEAD_S if stage is h11.IDLE else BODY_S)
            else:
                self.no_wait()

    return Bounded


def bind(host: str, port: int, *, guarded: bool) -> socket.socket:
    """A socket on an address; one that others can reach only when a guard stands before it."""
    if not guarded and not is_loopback(host):
        message = f"{host} can be reached by other machines, and nothing would ask them who they are"
        raise RequestError(message, hint="turn authentication on, or listen on 127.0.0.1")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise RequestError(f"'{host}' is no address to listen on: {error}", hint="--host 127.0.0.1") from None
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as error:
        bound.close()
        message = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise BackendError(message, hint="another port: --port 0 takes a free one") from None
    bound.setblocking(False)
    return bound


def url_of(bound: socket.socket) -> str:
    """The address of a socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def reachable_url(bound: socket.socket) -> str:
    """The address of a socket as other machines take it: that of this machine where it listens on all."""
    host, port = bound.getsockname()[:2]
    if host not in ("0.0.0.0", "::"):
        return url_of(bound)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: it is only asked which way it would go
            own = probe.getsockname()[0]
        except OSError:  # no way out: only this machine can come
            own = "127.0.0.1"
    return f"http://{own}:{port}"


async def serve(
    app: FastAPI, bound: socket.socket, stopping: asyncio.Event, acceptors: Acceptors | None = None
) -> None:
    """Serve an app until it is time to stop; answers under way are finished, streams are ended.

    Connections that are to stay, at the paths of acceptors, are not ended here.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=_protocol(acceptors or {}),
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_S,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    server = _Listener(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    stop_order = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({serving, stop_order}, return_when=asyncio.FIRST_COMPLETED)
        app.state.closing.set()
        server.should_exit = True
        await serving
    finally:
        stop_order.cancel()
        bound.close()
