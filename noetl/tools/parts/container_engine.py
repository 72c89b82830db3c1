"""The HTTP API of Docker's engine, which Podman's service speaks too: asked over its socket or over TCP.

What is asked of containers is the kind's. Which engine, and as whom, a credential alone says: whoever may
start containers may do anything on its machine.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.ports.network import Network
from noetl.tools.parts.guard import Refused, connector
from noetl.tools.parts.tls import tls_of

if TYPE_CHECKING:
    from aiohttp import BaseConnector, ClientResponse, ClientSession

ANSWER_BYTES = 4 * 1024**2
THIS_MACHINE = "127.0.0.1"
PORTS = {"none": 2375, "tls": 2376}
HEADER = 8  # of a piece of a log: which output, three zeros, and its length
PIECE = 64 * 1024

NOT_RUNNABLE = "attempted to invoke a command that was not found"  # which Podman answers with 500


@dataclass(frozen=True, slots=True)
class Door:
    """How an engine is reached."""

    connector: "BaseConnector"
    base: str
    tls: ssl.SSLContext | None = None


class Engine:
    """An engine that is there."""

    def __init__(self, session: "ClientSession", door: "Door", where: str, answer_s: float) -> None:
        self._session, self.where, self._answer_s = session, where, answer_s
        self._base = door.base
        self._usual: dict[str, Any] = {"allow_redirects": False} | (
            {} if door.tls is None else {"ssl": door.tls}
        )

    async def ask(
        self, method: str, path: str, *, accept: tuple[int, ...] = (), patient: bool = False, **more: Any
    ) -> tuple[int, Any]:
        """The status and the JSON of an answer; a refusal is a failure unless its status is accepted."""
        async with self._asked(method, path, patient, more) as answer:
            raw = await answer.content.read(ANSWER_BYTES)
            while len(raw) < ANSWER_BYTES and (piece := await answer.content.read(PIECE)):
                raw += piece
        told = _parsed(raw)
        if answer.status >= 400 and answer.status not in accept:
            raise self._refusal(answer.status, told)
        return answer.status, told

    async def stream(self, method: str, path: str, **more: Any) -> AsyncGenerator[bytes]:
        """An answer as it comes, for as long as it takes."""
        async with self._asked(method, path, True, more) as answer:
            if answer.status >= 400:
                raise self._refusal(answer.status, _parsed(await answer.content.read(ANSWER_BYTES)))
            async for piece in answer.content.iter_chunked(PIECE):
                yield piece

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, patient: bool, more: Mapping[str, Any]
    ) -> "AsyncIterator[ClientResponse]":
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None if patient else self._answer_s)
        try:
            async with self._session.request(
                method, self._base + path, timeout=timeout, **self._usual, **more
            ) as answer:
                yield answer
        except TimeoutError:
            message = f"{self.where} did not answer within {self._answer_s:g} s"
            raise Failed("timeout", message, retryable=True) from None
        except (aiohttp.ClientError, OSError) as problem:
            raise _lost(problem, self.where) from None

    def _refusal(self, status: int, told: Json) -> Failed:
        said = told.get("message") if isinstance(told, dict) else None
        message = f"{self.where}: {said or f'it answers with the status {status}'}"
        kind = "not_found" if status == 404 else "container"
        again = status >= 500 and NOT_RUNNABLE not in message
        return Failed(kind, message, code=str(status), retryable=again, answered=True)


def _parsed(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw) if raw.strip() else None
    except msgspec.DecodeError:
        return {"message": raw[:500].decode(errors="replace").strip()}


def _lost(problem: Exception, where: str) -> Failed:
    cause = getattr(problem, "os_error", problem)
    if isinstance(cause, Refused):
        return Failed("network", cause.sentence, code=cause.address_class)
    certificate = getattr(problem, "certificate_error", cause)
    if isinstance(certificate, ssl.SSLError):
        return Failed("tls", f"{where}: {certificate}")
    said = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return Failed("connect", f"there is no connection to {where}: {said}", retryable=True)


@asynccontextmanager
async def engine(
    secret: Secret, network: Network, connect_s: float, answer_s: float
) -> AsyncIterator[Engine]:
    """The engine that a credential names, for one call."""
    import aiohttp

    host = secret.get("host") or secret.get("url") or secret.get("value")
    if not isinstance(host, str) or not host:
        hint = "a secret with host, as in unix:///run/podman/podman.sock or tcp://engine:2376"
        raise Failed("auth", f"container needs auth: {hint}, or with kubernetes, a cluster's address")
    door = _door(host, secret, network)
    timeout = aiohttp.ClientTimeout(sock_connect=connect_s)
    async with aiohttp.ClientSession(connector=door.connector, timeout=timeout, trust_env=False) as session:
        yield Engine(session, door, f"the engine at {host}", answer_s)


def _door(host: str, secret: Secret, network: Network) -> Door:
    """The engine's address; its socket on this machine, where programs of this machine may be."""
    import aiohttp

    try:
        parts = urlsplit(host)
        port = parts.port
    except ValueError:
        raise Failed("auth", f"the credential's 'host' is no address: {host[:100]!r}") from None
    if parts.scheme == "unix" and parts.path:
        if not network.allows(THIS_MACHINE):
            raise Failed("network", Refused(parts.path, THIS_MACHINE).sentence, code="loopback")
        return Door(aiohttp.UnixConnector(parts.path, limit=0), "http://engine")
    if parts.scheme not in ("tcp", "http", "https") or not parts.hostname:
        raise Failed("auth", f"the credential's 'host' is unix://PATH or tcp://HOST:PORT, not {host[:100]!r}")
    usual = "tls" if parts.scheme == "https" or secret.get("ca") or secret.get("certificate") else "none"
    security = str(secret.get("security") or usual)
    if security not in PORTS:
        raise Failed("auth", f"the credential's 'security' is tls or none, not {security[:40]!r}")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = f"{'https' if security == 'tls' else 'http'}://{name}:{port or PORTS[security]}"
    return Door(connector(network), base, tls_of(secret) if security == "tls" else None)


async def outputs(pieces: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    """What a log holds of each output: 1 is what was printed, 2 the errors."""
    buffer, left, number = bytearray(), 0, 1
    async for piece in pieces:
        buffer += piece
        while buffer:
            if left == 0:
                if len(buffer) < HEADER:
                    break
                number, left = (2 if buffer[0] == 2 else 1), int.from_bytes(buffer[4:HEADER], "big")
                del buffer[:HEADER]
            data = bytes(buffer[:left])
            del buffer[: len(data)]
            left -= len(data)
            if data:
                yield number, data


async def in_peace(work: Any, seconds: float) -> None:
    """Carry something out although the call is cancelled, and not for ever."""
    working = asyncio.ensure_future(work)
    await asyncio.wait({working}, timeout=seconds)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
