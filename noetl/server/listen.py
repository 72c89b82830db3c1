"""Listening: an address that may be listened on, and serving an app there until told to stop."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from noetl.errors import BackendError, RequestError
from noetl.ports.network import is_loopback
from noetl.server.header_timeout import BODY_S, HEAD_BYTES, HEAD_S, Patience

DRAIN_S = 10  # for answers that are under way when the server stops


class _Listener(uvicorn.Server):
    """The server without its own signal handlers: whoever started it decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def _protocol() -> Any:
    """The faster parser where it is installed, else the plain one; either with an end to its patience."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return _plain()

    class Bounded(Patience, HttpToolsProtocol):
        """Gives up on a request whose headers do not end, or do not come."""

        head = 0

        def data_received(self, data: bytes) -> None:
            """Read on, unless too much has come without an end of the headers."""
            super().data_received(data)
            self.head += len(data) if not self.speaking else 0
            if self.head > HEAD_BYTES:
                self.send_400_response("The headers do not end.")

        def on_message_begin(self) -> None:
            """A request begins."""
            self.speaking, self.head = False, 0
            self.wait(HEAD_S)
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            """What follows is the body."""
            self.speaking, self.head = True, 0
            self.wait(BODY_S)
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            """All has been said."""
            self.no_wait()
            super().on_message_complete()

    return Bounded


def _plain() -> Any:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Bounded(Patience, H11Protocol):
        """Looks after each piece how far the request has come."""

        stage: Any = None

        def data_received(self, data: bytes) -> None:
            """Read on, and wait for what is to come next."""
            super().data_received(data)
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


async def serve(app: FastAPI, bound: socket.socket, stopping: asyncio.Event) -> None:
    """Serve an app until it is time to stop; answers under way are finished, streams are ended."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=_protocol(),
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
