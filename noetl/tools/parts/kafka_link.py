"""Clusters of Kafka: how one logs in, which of their brokers may be reached, and what their errors mean."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.errors import MissingExtra
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed
from noetl.ports.network import Network
from noetl.tools.parts.guard import reachable
from noetl.tools.parts.tls import tls_of
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from aiokafka.client import AIOKafkaClient

PORT = 9092
CLOSE_S = 2.0
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the brokers have."""

    connect_s: float
    answer_s: float


def driver() -> Any:
    """The library, or which extra brings it."""
    try:
        import aiokafka
    except ModuleNotFoundError:
        raise MissingExtra("aiokafka", "kafka") from None
    logger = logging.getLogger("aiokafka")  # what it would tell of connections is told by failures
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    return aiokafka


async def with_client(
    make: Callable[[dict[str, Any]], Any],
    work: Callable[[Any], Awaitable[T]],
    patience: Patience,
    context: ToolContext,
) -> T:
    """What `work` makes of a client that is connected; what ends it becomes a failure with a kind."""
    driver()
    options = _options(context.auth or {})
    for server in options["bootstrap_servers"]:
        await reachable(f"kafka://{server}", context.call.network)
    client = make({**options, "request_timeout_ms": int(patience.answer_s * 1000)})
    door = _Door(getattr(client, "_client", None) or client.client, context.call.network)
    try:
        await door.unless_refused(_started(client, door, options, patience))
        return await door.unless_refused(work(client))
    except TimeoutError:
        message = f"there was no answer within {patience.answer_s:g} s{door.told}"
        raise Failed("timeout", message, retryable=True) from None
    except driver().errors.KafkaError as problem:
        raise failed(problem, door.told) from None
    finally:
        await _closed(client)


class _Door:
    """Lets a client connect to brokers that may be reached: a cluster names more than one asked for."""

    def __init__(self, client: "AIOKafkaClient", network: Network) -> None:
        self.told = ""
        self._client, self._network = client, network
        self._connect = client._get_conn
        self._checked: set[tuple[str, int]] = set()
        self._refused: asyncio.Future[Failed] = asyncio.get_running_loop().create_future()
        setattr(client, "_get_conn", self.connect)  # noqa: B010 - the library has no other place to be asked at

    async def connect(self, node: Any, **more: Any) -> Any:
        """A connection to a broker; None where there is none, which the library tries again."""
        broker = self._client.cluster.broker_metadata(node)
        if broker is None:
            return await self._connect(node, **more)
        place = (broker.host, broker.port)
        try:
            if place not in self._checked:
                await reachable(f"kafka://{_joined(*place)}", self._network)
        except Failed as failure:
            if not self._refused.done():
                self._refused.set_result(failure)
            return None
        self._checked.add(place)
        made = await self._connect(node, **more)
        if made is None:
            named = f"{_joined(*place)}, which the cluster names as broker {node}"
            self.told = f"; there is no connection to {named}"
        return made

    async def unless_refused(self, work: Awaitable[T]) -> T:
        """What the work comes to, or the failure of a broker that may not be reached."""
        working = asyncio.ensure_future(work)
        try:
            either: set[asyncio.Future[Any]] = {working, self._refused}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self._refused.done():
                raise self._refused.result()
            return working.result()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _options(secret: Secret) -> dict[str, Any]:
    """What the library is told of a credential."""
    servers = secret.get("servers") or secret.get("url") or secret.get("value")
    listed = servers if isinstance(servers, list) else str(servers or "").split(",")
    places = [_server(str(each)) for each in listed if str(each).strip()]
    if not places:
        raise Failed("auth", "kafka needs auth: a secret with servers, as in broker.example.com:9092")
    login = _login(secret)
    usual = "tls" if login or secret.get("ca") or secret.get("certificate") else "none"
    security = str(secret.get("security") or usual)
    if security not in ("tls", "none"):
        raise Failed("auth", f"the credential's 'security' is tls or none, not {security[:40]!r}")
    if security == "none" and login.get("sasl_mechanism") == "PLAIN":
        raise Failed(
            "auth", "a password is not sent without TLS: use a mechanism SCRAM-SHA-512 or security tls"
        )
    protocol = f"{'SASL_' if login else ''}{'SSL' if security == 'tls' else 'PLAINTEXT'}"
    context = tls_of(secret) if security == "tls" else None
    return {"bootstrap_servers": places, "security_protocol": protocol, "ssl_context": context, **login}


def _server(text: str) -> str:
    """A place of a broker, with its port."""
    from urllib.parse import urlsplit

    place = text.strip()
    try:
        parts = urlsplit(place if "://" in place else f"kafka://{place}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise Failed("auth", f"{place[:100]!r} is no server of Kafka: it is host:port")
    return _joined(host, port)


def _login(secret: Secret) -> dict[str, Any]:
    user = secret.get("username") or secret.get("user")
    if user is None:
        return {}
    mechanism = str(secret.get("mechanism") or MECHANISMS[0])
    if mechanism not in MECHANISMS:
        raise Failed(
            "auth", f"the credential's 'mechanism' is {', '.join(MECHANISMS)}, not {mechanism[:40]!r}"
        )
    if secret.get("password") is None:
        raise Failed("auth", "the credential has a 'username' and no 'password'")
    named = {"sasl_plain_username": str(user), "sasl_plain_password": str(secret["password"])}
    return {"sasl_mechanism": mechanism, **named}


async def _started(client: Any, door: _Door, options: Mapping[str, Any], patience: Patience) -> None:
    """Connect it; the library only says that it could not, so the first server is asked why."""
    try:
        async with asyncio.timeout(patience.connect_s):
            await client.start()
    except (driver().errors.KafkaConnectionError, TimeoutError):
        if door.told:
            message = f"the cluster cannot be reached{door.told}"
            raise Failed("connect", message, retryable=True) from None
        raise await _cause(options, patience) from None


async def _cause(options: Mapping[str, Any], patience: Patience) -> Failed:
    from aiokafka.conn import create_conn

    errors = driver().errors
    rest = {name: value for name, value in options.items() if name != "bootstrap_servers"}
    server = options["bootstrap_servers"][0]
    host, _, port = server.rpartition(":")
    milliseconds = int(patience.connect_s * 1000)
    try:
        (await create_conn(host.strip("[]"), int(port), request_timeout_ms=milliseconds, **rest)).close()
    except ssl.SSLError as problem:
        return Failed("tls", f"{server}: {problem.reason or problem}; {problem.strerror or ''}".rstrip("; "))
    except (TimeoutError, errors.RequestTimedOutError):
        message = f"{server} did not answer within {patience.connect_s:g} s"
        return Failed("timeout", message, retryable=True)
    except (errors.KafkaConnectionError, ConnectionResetError):
        hint = "" if "SSL" in rest["security_protocol"] else "; does it want TLS? (security: tls)"
        return Failed("connect", f"{server} ended the connection{hint}", retryable=True)
    except errors.KafkaError as problem:
        return Failed("auth", f"{server} does not let this credential in: {_sentence(problem)}")
    except OSError as problem:
        return Failed("connect", f"{server} cannot be reached: {problem.strerror or problem}", retryable=True)
    return Failed("connect", f"{server} says nothing of its cluster", retryable=True)


async def _closed(client: Any) -> None:
    """Let go of it; what was not sent until now is not sent any more."""
    with_sender = getattr(client, "_sender", None)
    closing = asyncio.ensure_future(client.stop())
    done, _ = await asyncio.wait({closing}, timeout=0 if with_sender is None else CLOSE_S)
    if not done and with_sender is not None and with_sender.sender_task is not None:
        with_sender.sender_task.cancel()
    await asyncio.wait({closing}, timeout=CLOSE_S)


def failed(problem: Any, told: str = "") -> Failed:
    """An error of the library as the failure of a call."""
    errors = driver().errors
    code = type(problem).__name__.removesuffix("Error")
    if isinstance(problem, errors.UnknownTopicOrPartitionError):
        return Failed("not_found", f"there is no such topic or partition{told}", code=code, answered=True)
    if "Authorization" in code or "Sasl" in code:
        return Failed(
            "auth", f"this credential may not do that: {_sentence(problem)}", code=code, answered=True
        )
    if isinstance(problem, errors.MessageSizeTooLargeError | errors.RecordListTooLargeError):
        return Failed(
            "too_large", f"a message is larger than the brokers take: {_sentence(problem)}", code=code
        )
    if isinstance(problem, errors.KafkaTimeoutError | errors.RequestTimedOutError):
        return Failed("timeout", f"the brokers did not answer in time{told}", code=code, retryable=True)
    if isinstance(problem, errors.KafkaConnectionError):
        return Failed("connect", f"the connection was lost: {problem}{told}", code=code, retryable=True)
    retryable = bool(getattr(problem, "retriable", False))
    return Failed("kafka", f"{_sentence(problem)}{told}", code=code, retryable=retryable)


def _sentence(problem: Any) -> str:
    """What an error says, in one line, with its name."""
    said = " ".join(str(problem).split())
    name = type(problem).__name__
    return (
        said
        if said.startswith(name) or "]" in said[:80]
        else f"{name}: {said or problem.__doc__ or ''}".strip(": ")
    )
