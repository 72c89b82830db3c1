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

DRAIN_S = 10  # for answers that are under way when the server stops
HEAD_BYTES = 64 * 1024  # of a request that is still only headers


class _Listener(uvicorn.Server):
    """The server without its own signal handlers: whoever started it decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def _protocol() -> Any:
    """The faster parser where it is installed, with an end to the headers it takes; else the plain one."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"

    class Bounded(HttpToolsProtocol):
        """Gives up on a request whose headers do not end."""

        in_head, head = False, 0

        def data_received(self, data: bytes) -> None:
            """Read on, unless too much has come without an end of the headers."""
            super().data_received(data)
            self.head += len(data) if self.in_head else 0
            if self.head > HEAD_BYTES:
                self.send_400_response("The headers do not end.")

        def on_message_begin(self) -> None:
            """A request begins."""
            self.in_head, self.head = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            """What follows is the body."""
            self.in_head, self.head = False, 0
            super().on_headers_complete()

    return Bounded


def bind(host: str, port: int, *, guarded: bool) -> socket.socket:
    """A socket on an address; one that others can reach only when a guard stands before it."""
    if not guarded and not is_loopback(host):
        told = f"{host} can be reached by other machines, and nothing would ask them who they are"
        raise RequestError(told, hint="turn authentication on, or listen on 127.0.0.1")
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
        told = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise BackendError(told, hint="another port: --port 0 takes a free one") from None
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
    told = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
        app.state.closing.set()
        server.should_exit = True
        await serving
    finally:
        told.cancel()
        bound.close()
