"""Connections over SSH to hosts that show the key they should, as whom a credential says and nobody else."""

import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.ports.network import Network, class_of
from noetl.ports.tool import Input, Seconds, Spec, doc
from noetl.tools.parts.guard import Refused, may_be_found_later
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHKey

SSH_PORT = 22
FINGERPRINT = "SHA256:"
NO_KEYS: tuple[list[Any], list[Any], list[Any]] = ([], [], [])  # trusted hosts, authorities, revoked ones


class Host(Input):
    """Which host, and how it is known."""

    host: Annotated[str | None, doc("The host; by default the `host` of the credential.")] = None
    port: Annotated[int | None, doc("Its port; by default the `port` of the credential, or 22.")] = None
    user: Annotated[str | None, doc("Who logs in; by default the `username` of the credential.")] = None
    host_key: Annotated[
        str | None,
        doc(
            "The key that the host must show: its fingerprint as `SHA256:…`, or lines of a known_hosts file; "
            "by default the `host_key` of the credential, else `~/.ssh/known_hosts` of the worker."
        ),
    ] = None


class SshKnobs(Spec):
    """How long a host has."""

    connect_timeout: Annotated[Seconds, doc("Seconds to reach the host and log in.")] = 30.0


@asynccontextmanager
async def connected(
    host: Host, knobs: SshKnobs, context: ToolContext
) -> "AsyncIterator[SSHClientConnection]":
    """A connection for one call; whatever ends it becomes a failure with a kind."""
    asyncssh = driver()
    login = _Login(host, context.auth or {})
    try:
        connection = await _connect(login, knobs, context.call.network)
        try:
            yield connection
        finally:
            connection.abort()
            with suppress(asyncssh.Error, OSError):
                await connection.wait_closed()
    except asyncssh.PermissionDenied:
        raise Failed("auth", f"{login.host} does not let {login.user!r} in with this credential") from None
    except asyncssh.HostKeyNotVerifiable:
        raise _unknown_host(login) from None
    except (asyncssh.ConnectionLost, ConnectionError) as problem:
        raise Failed(
            "connect", f"the connection to {login.host} was lost: {problem}", retryable=True
        ) from None
    except asyncssh.DisconnectError as problem:
        message = f"{login.host} ended the connection: {problem.reason}"
        raise Failed("ssh", message, code=type(problem).__name__) from None
    except asyncssh.ChannelOpenError as problem:
        raise Failed("ssh", f"{login.host} refuses: {problem.reason}", code="channel") from None


def driver() -> Any:
    """The library, or which extra brings it."""
    try:
        import asyncssh
    except ModuleNotFoundError:
        raise MissingExtra("asyncssh", "ssh") from None
    return asyncssh


class _Login:
    """Where to, as whom, and which key the host is known by."""

    def __init__(self, host: Host, secret: Secret) -> None:
        self.secret = secret
        self.host = _text(host.host or secret.get("host"), "host")
        self.user = _text(host.user or secret.get("username") or secret.get("user"), "user")
        self.port = _port(host.port or secret.get("port") or SSH_PORT)
        self.host_key = str(host.host_key or secret.get("host_key") or "").strip()
        self.shown: SSHKey | None = None

    def known(self) -> Any:
        """What the library compares the host's key with."""
        if self.host_key.startswith(FINGERPRINT):
            return NO_KEYS
        if self.host_key:
            return _lines(self.host_key, self)
        file = os.path.expanduser("~/.ssh/known_hosts")
        return file if os.path.isfile(file) else NO_KEYS

    def accepts(self, key: "SSHKey") -> bool:
        """Whether a key that is among none of the known ones is that of the fingerprint."""
        self.shown = key
        return key.get_fingerprint() == self.host_key

    def identity(self) -> Mapping[str, Any]:
        """What it logs in with: nothing of the worker's own."""
        key, password = self.secret.get("private_key"), self.secret.get("password")
        if key is None and password is None:
            raise Failed("auth", "the credential needs 'private_key' or 'password' to log in")
        keys = None if key is None else [_private_key(str(key), self.secret.get("passphrase"))]
        return {"client_keys": keys, "password": None if password is None else str(password)}


def _text(value: Json, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise Failed("input", f"there is no {name}: give the input {name!r}, or a credential that has one")
    return value


def _port(value: Json) -> int:
    if not str(value).isdecimal() or not 0 < int(str(value)) < 65536:
        raise Failed("input", f"{str(value)[:20]!r} is no port")
    return int(str(value))


def _lines(text: str, login: _Login) -> bytes:
    """Lines of a known_hosts file; a bare key is one of this host."""
    if text.split()[0].startswith(("ssh-", "ecdsa-", "sk-")):
        place = login.host if login.port == SSH_PORT else f"[{login.host}]:{login.port}"
        text = f"{place} {text}"
    try:
        driver().import_known_hosts(text)
    except ValueError as problem:
        raise Failed(
            "input", f"'host_key' is neither a fingerprint nor a known_hosts line: {problem}"
        ) from None
    return text.encode()


def _private_key(text: str, passphrase: Json) -> Any:
    asyncssh = driver()
    try:
        return asyncssh.import_private_key(text, None if passphrase is None else str(passphrase))
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as problem:
        raise Failed("auth", f"the credential's 'private_key' cannot be read: {problem}") from None


async def _connect(login: _Login, knobs: SshKnobs, network: Network) -> "SSHClientConnection":
    import asyncio

    asyncssh = driver()

    class Client(asyncssh.SSHClient):  # type: ignore[misc, name-defined]
        def validate_host_public_key(self, host: str, addr: str, port: int, key: "SSHKey") -> bool:
            return login.accepts(key)

    identity, known = login.identity(), login.known()
    try:
        async with asyncio.timeout(knobs.connect_timeout):
            reached = await _reached(login, network)
            connection: SSHClientConnection = await asyncssh.connect(
                login.host, login.port, sock=reached, client_factory=Client, username=login.user, **identity,
                known_hosts=known, config=None, agent_path=None, gss_host=None, login_timeout=0,
            )  # fmt: skip
            return connection
    except TimeoutError:
        message = f"{login.host}:{login.port} could not be logged in to within {knobs.connect_timeout:g} s"
        raise Failed("timeout", message, retryable=True) from None


async def _reached(login: _Login, network: Network) -> socket.socket:
    """A connection to an address that may be reached."""
    import asyncio

    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(login.host, login.port, type=socket.SOCK_STREAM)
    except OSError as problem:
        message = f"the host {login.host!r} cannot be found: {problem.strerror}"
        raise Failed("dns", message, retryable=may_be_found_later(problem)) from None
    allowed = [each for each in found if network.allows(str(each[4][0]))]
    if not allowed:
        address = str(found[0][4][0])
        raise Failed("network", Refused(login.host, address).sentence, code=class_of(address))
    family, kind, protocol, _, address_of = allowed[0]
    reached = socket.socket(family, kind, protocol)
    reached.setblocking(False)
    try:
        await loop.sock_connect(reached, address_of)
    except OSError as problem:
        reached.close()
        message = f"{login.host}:{login.port} cannot be reached: {problem.strerror}"
        raise Failed("connect", message, retryable=True) from None
    except asyncio.CancelledError:
        reached.close()
        raise
    return reached


def _unknown_host(login: _Login) -> Failed:
    if login.shown is None:
        return Failed("ssh", f"the key of {login.host} cannot be verified", code="host_key")
    shown = f"{login.host}:{login.port} shows the key {login.shown.get_fingerprint()}"
    hint = "if that is the host's own, give it as 'host_key'"
    return Failed("ssh", f"{shown}, which is not one that it is known by; {hint}", code="host_key")
