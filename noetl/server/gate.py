"""The door every request passes before any route: how much, how often, from whom; and how answers look.

Deny by default: what is not named public here needs a proof, whether there is such a route or not.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noetl.errors import NoetlError
from noetl.ports.schedule import HOOKS
from noetl.server import session
from noetl.server.access import NOBODY, OPERATOR, WHO, NotProven, Who
from noetl.server.auth import Doorkeeper
from noetl.server.manual.addresses import DOCS
from noetl.server.options import Options
from noetl.server.problem import Problem, of_error, of_problem
from noetl.server.rate import Rate

# Method and path, letter for letter. Pages and assets are files of the package; they say nothing of anyone.
PUBLIC = frozenset(
    {
        ("GET", "/health/live"),
        ("GET", "/health/ready"),
        ("GET", "/api/health"),
        ("GET", "/api/openapi.json"),
        ("POST", "/api/v1/session"),  # its body is the proof
        ("GET", "/api/v1/session/ways"),
        ("GET", "/api/v1/session/login"),
        ("GET", "/api/v1/session/login/done"),  # the provider's code is the proof
    }
)
# Addresses that the web page's own router resolves: a reader may open or reload any of them.
PAGES = frozenset(
    {
        "/",
        "/approvals",
        "/compare",
        "/credentials",
        "/executions",
        "/notifications",
        "/playbooks",
        "/schedules",
        "/settings",
        "/tokens",
        "/workers",
    }
)
ABOVE_PAGES = ("/executions/", "/playbooks/")
ASSETS = "/assets/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
STRANGERS_PER_S, STRANGERS_BURST = 20.0, 60  # for each address that has not said who it is
HEADER_BYTES = 32 * 1024
HEARD_OUT_BYTES, HEARD_OUT_S = 32 * 1024 * 1024, 3.0  # of a body that is refused
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """Lets in who may come in, and dresses every answer."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self.app, self.options = app, options
        self.doorkeeper = Doorkeeper(options.auth) if options.auth is not None else None
        self.rate = Rate(options.rate_per_s, options.rate_burst) if options.rate_per_s else None
        self.strangers = Rate(STRANGERS_PER_S, STRANGERS_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; sockets of other kinds are not spoken here."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _dress(message, scope["path"])
            await send(message)

        try:
            headers = dict(reversed(scope["headers"]))  # of those with one name the first
            scope[WHO] = await self._let_in(HTTPConnection(scope), headers)
            size = _declared_size(headers, self.options.body_bytes)
        except Problem as refused:
            await _heard_out(scope, receive)
            await of_problem(refused)(scope, receive, send_with_headers)
        except NoetlError as error:
            await of_error(error)(scope, receive, send_with_headers)
        else:
            await self.app(scope, _limit_body(scope, receive, size), send_with_headers)

    async def _let_in(self, connection: HTTPConnection, headers: Mapping[bytes, bytes]) -> Who:
        """Who sends a request; raises Problem when it may go no further."""
        refuse_long(connection)
        refuse_nul(connection)
        refuse_foreign(connection, headers, self.options.hosts if self.doorkeeper is None else None)
        if self.doorkeeper is None:
            self._slow_down(self.rate, "operator")
            return OPERATOR
        if is_public(connection.scope["method"], connection.scope["path"]):
            self._slow_down(
                self.strangers if connection.scope["method"] == "POST" else self.rate, _address(connection)
            )
            return NOBODY
        if is_hook(connection.scope["method"], connection.scope["path"]):
            self._slow_down(self.rate, _address(connection))
            return NOBODY
        try:
            who = await self._authenticate(connection, self.doorkeeper)
        except NotProven as error:
            self._slow_down(self.strangers, _address(connection))
            raise Problem(401, str(error), hint=HOW, headers={"WWW-Authenticate": "Bearer"}) from None
        self._slow_down(self.rate, who.key)
        return who

    async def _authenticate(self, connection: HTTPConnection, doorkeeper: Doorkeeper) -> Who:
        kind, _, bearer = connection.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and bearer:
            return await doorkeeper.who(bearer.strip())
        cookie = connection.cookies.get(session.COOKIE)
        if cookie is None:
            raise NotProven("this needs a token")
        who = await doorkeeper.who(cookie)
        if connection.scope["method"] not in SAFE_METHODS and not session.carries_csrf(connection, cookie):
            message = f"a change under a session carries its token in the header {session.CSRF_HEADER}"
            raise Problem(403, message, hint="GET /api/v1/session says it")
        return who

    def slow_stranger(self, connection: HTTPConnection) -> None:
        """Count a call that proved nothing; raises Problem when it is one too many."""
        self._slow_down(self.strangers, _address(connection))

    def _slow_down(self, rate: Rate | None, caller: str) -> None:
        wait = rate.wait_s(caller) if rate is not None else 0.0
        if wait:
            headers = {"Retry-After": str(math.ceil(wait))}
            raise Problem(429, "that was too often", hint=f"wait {wait:.2f} s", headers=headers)


HOW = (
    "send the header Authorization: Bearer TOKEN (noetl sends that of NOETL_TOKEN, or of its context); "
    "noetl token create NAME --scope run makes one"
)


def is_public(method: str, path: str) -> bool:
    """Whether anyone may ask for something; the path counts as it was sent, letter for letter."""
    method = "GET" if method == "HEAD" else method
    return (method, path) in PUBLIC or (
        method == "GET"
        and (path in PAGES or path == DOCS or path.startswith((*ABOVE_PAGES, ASSETS, f"{DOCS}/")))
    )


def is_hook(method: str, path: str) -> bool:
    """Whether a request calls a webhook by its name; the route checks its proof, the webhook's own secret."""
    return method == "POST" and path.startswith(HOOKS) and "/" not in path[len(HOOKS) :]


_DRESS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def _dress(message: Message, path: str) -> None:
    """Add what every answer has; no route sets these itself."""
    headers = message["headers"] = [*message["headers"], *_DRESS]
    if not path.startswith(ASSETS) and all(name != b"cache-control" for name, _ in headers):
        headers.append((b"cache-control", b"no-store"))


def _address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client is not None else "unknown"


def refuse_long(connection: HTTPConnection) -> None:
    """Refuse more headers than anyone needs."""
    if sum(map(len, chain.from_iterable(connection.scope["headers"]))) > HEADER_BYTES:
        raise Problem(431, f"the headers have more than {HEADER_BYTES} bytes")


def refuse_nul(connection: HTTPConnection) -> None:
    """Refuse an address with a character that no store keeps in a text."""
    if "\0" in connection.scope["path"]:
        raise Problem(404, "there is nothing at an address with a NUL character")
    if b"%00" in connection.scope["query_string"]:
        raise Problem(400, "a parameter has a NUL character", hint="remove the %00")


def refuse_foreign(
    connection: HTTPConnection, headers: Mapping[bytes, bytes], hosts: Iterable[str] | None
) -> None:
    """Refuse what comes from elsewhere: a name that only points here, or a page of another site."""
    host = headers.get(b"host", b"").decode("latin-1")
    if hosts is not None and _name(host) not in hosts:
        message = f"this server does not answer to the name {host[:100]!r}"
        raise Problem(403, message, hint="use the address that it printed")
    if b"origin" not in headers or connection.scope["method"] in SAFE_METHODS:
        return
    origin = headers[b"origin"].decode("latin-1")
    if _origin(origin) != host:
        raise Problem(403, f"a page of {origin[:100]!r} may not change anything here")


@lru_cache(maxsize=64)
def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _origin(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _declared_size(headers: Mapping[bytes, bytes], most: int) -> int:
    """The most that a body may have; one that says beforehand that it has more is not taken."""
    declared = headers.get(b"content-length", b"0").decode("latin-1")
    if not declared.isascii() or not declared.isdigit() or int(declared[:20]) > most:
        raise too_large(most)
    return most


def too_large(most: int) -> Problem:
    """The refusal of a body."""
    return Problem(413, f"the body has more than {most} bytes", hint="split it, or pass a reference")


async def _heard_out(scope: Scope, receive: Receive) -> None:
    """Let a body that nobody wants come to its end: who still sends when the answer comes never sees it."""
    if any(name == b"expect" for name, _ in scope["headers"]):  # it waits to be asked for the body
        return
    thrown_away = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(HEARD_OUT_S):
            while thrown_away < HEARD_OUT_BYTES:
                message = await receive()
                thrown_away += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _limit_body(scope: Scope, receive: Receive, most: int) -> Receive:
    """A body that ends when it has become too large."""
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > most:
                if message.get("more_body", False):
                    await _heard_out(scope, receive)
                raise too_large(most)
        return message

    return receive_limited
