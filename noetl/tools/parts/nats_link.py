"""Connections to NATS, one per credential, made again when they are lost; and what NATS errors mean."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from noetl.errors import MissingExtra
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.errors import Error

CONNECT_S = 5.0
IDLE_S = 60.0
LINKS_MAX = 64


class Unreachable(Exception):
    """There is no connection; each of those who wait for it is told with a failure of its own."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class Link:
    """A connection that is being made, is there, or is gone; and the tasks that asked for it."""

    def __init__(self, connecting: "asyncio.Task[Client]") -> None:
        self.task, self.used_at = connecting, 0.0
        self._users: WeakSet[asyncio.Task[object]] = WeakSet()

    def use(self, task: "asyncio.Task[object] | None", now: float) -> None:
        """A task uses it, perhaps until that task ends."""
        self.used_at = now
        if task is not None:
            self._users.add(task)

    @property
    def gone(self) -> bool:
        """Whether it has to be made again."""
        if not self.task.done():
            return False
        return self.task.cancelled() or self.task.exception() is not None or self.task.result().is_closed

    @property
    def idle(self) -> bool:
        """Whether nobody can be using it."""
        return self.task.done() and all(task.done() for task in self._users)

    async def close(self) -> None:
        """Close it, or do not make it."""
        self.task.cancel()
        await asyncio.wait({self.task})
        if not self.gone:
            await self.task.result().close()


class Links:
    """The connections of a worker, those of servers that do not answer beside the others."""

    def __init__(self) -> None:
        self._links: OrderedDict[str, Link] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    async def get(self, call: Call) -> "Client":
        options = _options(call.auth or {})
        key = hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()  # no secret is kept as a key
        link = self._links.get(key)
        if link is None or link.gone:
            link = self._links[key] = Link(asyncio.create_task(_connect(options)))
        self._links.move_to_end(key)
        link.use(asyncio.current_task(), asyncio.get_running_loop().time())
        self._forget_idle()
        try:
            return await asyncio.shield(link.task)
        except Unreachable as problem:
            raise Failed("connect", str(problem), retryable=problem.retryable) from None

    def _forget_idle(self) -> None:
        """Close what nobody uses: after a while, or when there are too many."""
        old = asyncio.get_running_loop().time() - IDLE_S
        for key, link in list(self._links.items()):
            if link.idle and (link.used_at < old or len(self._links) > LINKS_MAX):
                task = asyncio.create_task(self._links.pop(key).close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        closing = [link.close() for link in self._links.values()]
        self._links.clear()
        await asyncio.gather(*closing, *self._closing)


async def link(call: Call) -> "Client":
    library()
    return await call.resource("nats", Links).get(call)


def library() -> Any:
    """The client library; raises MissingExtra."""
    try:
        import nats
    except ModuleNotFoundError:
        raise MissingExtra("nats-py", "nats") from None
    return nats


def _options(secret: Secret) -> dict[str, Any]:
    servers = secret.get("servers") or secret.get("url") or secret.get("value")
    if not servers:
        raise Failed("auth", "nats needs auth: a secret with servers, as in nats://host:4222")
    options: dict[str, Any] = {"servers": servers if isinstance(servers, list) else str(servers).split(",")}
    names = {"user": "user", "password": "password", "token": "token", "credentials": "user_credentials"}
    return options | {ours: secret[name] for name, ours in names.items() if name in secret}


async def _connect(options: dict[str, Any]) -> "Client":
    """One try: making another is the policy's decision. A lost connection is made again by the next call."""
    import nats.errors

    causes: list[Exception] = []

    async def note(problem: Exception) -> None:
        causes.append(problem)

    settings: dict[str, Any] = {
        "allow_reconnect": False,
        "max_reconnect_attempts": 1,
        "reconnect_time_wait": 0.05,
    }
    settings |= {"connect_timeout": CONNECT_S, "error_cb": note, "name": "noetl"}
    client: Client = library().NATS()
    try:
        await client.connect(**options, **settings)
    except (nats.errors.Error, OSError, TimeoutError) as problem:
        cause = causes[-1] if isinstance(problem, nats.errors.NoServersError) and causes else problem
        retryable = not isinstance(cause, nats.errors.AuthorizationError)
        where = ", ".join(
            str(server).rpartition("@")[2] for server in options["servers"]
        )  # without passwords
        what = f"cannot connect to {where}: {str(cause) or type(cause).__name__}"
        raise Unreachable(what, retryable=retryable) from None
    finally:
        if not client.is_connected:
            await client.close()
    return client


@contextmanager
def naming_failures(what: str) -> Iterator[None]:
    """Errors inside become failures that name what was asked for."""
    import nats.errors

    try:
        yield
    except (nats.errors.Error, TimeoutError) as problem:
        raise failed(problem, what) from None


def failed(problem: "Error | TimeoutError", what: str) -> Failed:
    """A NATS error as the failure of a call."""
    import nats.errors
    import nats.js.errors as js

    match problem:
        case js.KeyNotFoundError() | js.KeyDeletedError() | js.NoKeysError() | js.ObjectNotFoundError():
            return Failed("not_found", f"{what} is not there", answered=True)
        case js.BucketNotFoundError():
            return Failed("not_found", f"{what} is not there; make it with NATS' own tools", answered=True)
        case js.ObjectDeletedError() | js.NotFoundError():
            return Failed("not_found", f"{what} is not there", answered=True)
        case js.KeyWrongLastSequenceError() | js.ObjectAlreadyExists():
            return Failed("exists", f"{what} is there already", answered=True)
        case nats.errors.NoRespondersError():
            return Failed("no_responders", f"nobody answers on {what}", retryable=True, answered=True)
        case js.NoStreamResponseError():
            return Failed("no_stream", f"no stream keeps {what}", answered=True)
        case TimeoutError():
            return Failed("timeout", f"no answer in time on {what}", retryable=True)
        case _:
            lost = (nats.errors.ConnectionClosedError, nats.errors.UnexpectedEOF, js.ServiceUnavailableError)
            retryable = isinstance(problem, lost)
            code = str(getattr(problem, "err_code", None) or type(problem).__name__)
            was_answered = isinstance(problem, js.APIError) and not retryable
            return Failed("nats", f"{what}: {problem}", code=code, retryable=retryable, answered=was_answered)
