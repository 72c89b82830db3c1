"""The door every request passes before any route: who it is from, and the headers every answer has."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noetl.server.access import OPERATOR, WHO
from noetl.server.options import Options
from noetl.server.problem import problem

PUBLIC = frozenset({"/", "/health/live", "/health/ready", "/api/openapi.json"})
ASSETS = "/assets/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _dress(MutableHeaders(scope=message), scope["path"])
            await send(message)

        headers = Headers(scope=scope)
        refused = _foreign(headers, scope["method"], self.options.hosts)
        if refused is not None:
            await problem(403, refused)(scope, receive, dressed)
            return
        scope[WHO] = OPERATOR
        await self.app(scope, receive, dressed)


def _dress(headers: MutableHeaders, path: str) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if not path.startswith(ASSETS):
        headers.setdefault("Cache-Control", "no-store")


def _foreign(headers: Headers, method: str, hosts: Iterable[str]) -> str | None:
    """Why a request comes from elsewhere: a name that only points here, or a page of another site."""
    host = headers.get("host", "")
    if _name(host) not in hosts:
        return f"this server does not answer to the name {host[:100]!r}"
    origin = headers.get("origin")
    if method not in SAFE_METHODS and origin is not None and urlsplit(origin).netloc != host:
        return f"a page of {origin[:100]!r} may not change anything here"
    return None


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
