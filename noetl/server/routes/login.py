"""Logging in to the web page at an OpenID provider: away to it, and back from it with a session of our own.

A browser goes through these two, so what went wrong is told to the page as a word in its address.
"""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request
from starlette.responses import RedirectResponse, Response

from noetl.errors import BackendError, MissingExtra
from noetl.ports.bearer import SCOPES, Scope
from noetl.ports.front import TokenAsk
from noetl.server import session, sign_in
from noetl.server.access import NotProven, Who
from noetl.server.auth import Doorkeeper
from noetl.server.problem import Problem
from noetl.server.reply import front_of, options_of, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import LoginWays
from noetl.server.sign_in import Leaving, SignIn

router = make_router("access")
HERE = "/api/v1/session/login"
NAME_LENGTH = 100

Text = Annotated[str, Query(max_length=4096)]


@router.get("/session/ways", **describe("public", {200: LoginWays}))
async def ways(request: Request) -> Response:
    """How somebody can log in to the web page."""
    there = _sign_in(request)
    return reply({"token": True, "provider": there.issuer if there is not None else None})


@router.get("/session/login", **describe("public", {303: None}, problems=(404, 429, 503)))
async def leave(request: Request, place: Text = "/") -> Response:
    """Send somebody to the OpenID provider to log in; `place` is the page that they wanted."""
    left = sign_in.leaving(place)
    answer = RedirectResponse(await _provider(request).address(left, _callback(request)), 303)
    answer.set_cookie(
        *(sign_in.COOKIE, left.sealed()),
        max_age=sign_in.COOKIE_LIFE_S,
        path=HERE,
        secure=session.over_tls(request),
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get("/session/login/done", **describe("public", {303: None}, problems=(404, 429)))
async def come_back(request: Request, code: Text = "", state: Text = "", error: Text = "") -> Response:
    """Begin a session for whom the provider has sent back."""
    there = _provider(request)
    request.app.state.gate.slow_stranger(request)
    try:
        left = sign_in.came_back(request.cookies.get(sign_in.COOKIE, ""), state)
        if error or not code:
            return _refused(request, "refused")
        who = await _who(request, await there.tokens(code, left, _callback(request)))
        return await _let_in(request, who, left)
    except NotProven:
        return _refused(request, "unproven")
    except (BackendError, MissingExtra):
        return _refused(request, "away")


async def _who(request: Request, tokens: list[str]) -> Who:
    """Whom the first token that is meant for this server names; raises NotProven."""
    doorkeeper: Doorkeeper = request.app.state.doorkeeper
    for token in tokens:
        try:
            return await doorkeeper.who(token)
        except NotProven:
            continue  # an access token may be meant for another; the identity is for the client
    raise NotProven("no token of the provider is meant for this server")


async def _let_in(request: Request, who: Who, left: Leaving) -> Response:
    """A session of a token of our own: it can be seen, and revoked, like any other."""
    scopes: list[Scope] = [scope for scope in SCOPES if scope in who.scopes and scope != "worker"]
    if not scopes:
        return _refused(request, "powerless")
    ask = TokenAsk(
        name=who.name[:NAME_LENGTH],
        scopes=scopes,
        prefixes=list(who.prefixes),
        expires_ms=session.LIFE_S * 1000,
        by=session.BY_LOGIN,
    )
    bearer = (await front_of(request).new_token(ask)).bearer
    answer = RedirectResponse(left.place, 303)
    session.begin(answer, bearer, secure=session.over_tls(request))
    answer.delete_cookie(sign_in.COOKIE, path=HERE)
    return answer


def _refused(request: Request, why: str) -> Response:
    answer = RedirectResponse(f"/?{urlencode({'login': why})}", 303)
    answer.delete_cookie(sign_in.COOKIE, path=HERE)
    return answer


def _sign_in(request: Request) -> SignIn | None:
    auth = options_of(request).auth
    return auth.sign_in if auth is not None else None


def _provider(request: Request) -> SignIn:
    there = _sign_in(request)
    if there is None:
        message = "nobody logs in elsewhere here: this server has no NOETL_OIDC_CLIENT_ID"
        raise Problem(404, message, hint="log in with a token")
    return there


def _callback(request: Request) -> str:
    """The address to which the provider sends people back."""
    public = options_of(request).public_url
    if public is None:
        scheme = "https" if session.over_tls(request) else "http"
        public = f"{scheme}://{request.headers.get('host', '')}"
    return f"{public.rstrip('/')}{HERE}/done"
