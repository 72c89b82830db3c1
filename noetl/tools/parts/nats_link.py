"""Connections to NATS, one per credential, made again when they are lost; and what NATS errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noetl.errors import MissingExtra
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.errors import Error

CONNECT_S = 5.0


class Links:
    """The connections of a worker."""

    def __init__(self) -> None:
        import asyncio

        self._links: dict[str, Client] = {}
        self._lock = asyncio.Lock()

    async def get(self, call: Call) -> "Client":
        """The connection of the call's credential."""
        options = _options(call.auth or {})
        key = repr(sorted(options.items()))
        async with self._lock:
            link = self._links.get(key)
            if link is None or link.is_closed:
                link = await _connect(options)
                self._links[key] = link
        return link

    async def close(self) -> None:
        """Close every connection."""
        for link in self._links.values():
            await link.close()
        self._links.clear()


async def link(call: Call) -> "Client":
    """The connection that a call uses."""
    _import()
    return await call.resource("nats", Links).get(call)


def _import() -> Any:
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

    settings = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.05}
    try:
        client: Client = await _import().connect(
            **options, **settings, connect_timeout=CONNECT_S, error_cb=note, name="noetl"
        )
    except (nats.errors.Error, OSError, TimeoutError) as problem:
        cause = causes[-1] if isinstance(problem, nats.errors.NoServersError) and causes else problem
        retryable = not isinstance(cause, nats.errors.AuthorizationError)
        what = f"cannot connect to {', '.join(options['servers'])}: {str(cause) or type(cause).__name__}"
        raise Failed("connect", what, retryable=retryable) from None
    return client


@contextmanager
def named(what: str) -> Iterator[None]:
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
            return Failed("not_found", f"{what} is not there")
        case js.ObjectDeletedError() | js.BucketNotFoundError() | js.NotFoundError():
            return Failed("not_found", f"{what} is not there")
        case js.KeyWrongLastSequenceError() | js.ObjectAlreadyExists():
            return Failed("exists", f"{what} is there already")
        case nats.errors.NoRespondersError():
            return Failed("no_responders", f"nobody answers on {what}", retryable=True)
        case js.NoStreamResponseError():
            return Failed("no_stream", f"no stream keeps {what}")
        case TimeoutError():
            return Failed("timeout", f"no answer in time on {what}", retryable=True)
        case _:
            lost = (nats.errors.ConnectionClosedError, nats.errors.UnexpectedEOF, js.ServiceUnavailableError)
            retryable = isinstance(problem, lost)
            code = str(getattr(problem, "err_code", None) or type(problem).__name__)
            return Failed("nats", f"{what}: {problem}", code=code, retryable=retryable)
