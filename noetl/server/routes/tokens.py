"""Bearer tokens, and the session of the web page. A token is shown once, when it is made."""

from typing import Annotated

import msgspec
from fastapi import Path, Request
from starlette.responses import Response

from noetl.ports.bearer import parsed, token_facts
from noetl.ports.front import TokenAsk, TokenBody
from noetl.ports.store import AccessToken
from noetl.server import session
from noetl.server.access import NotProven, Who, require_everywhere, who_asks
from noetl.server.auth import Doorkeeper
from noetl.server.paging import MOST, Cursor, Limit, page
from noetl.server.problem import Problem
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import NewTokenAnswer, SessionAnswer, SessionBody, TokenList

router = make_router("access")


@router.post("/tokens", **describe("admin", {201: NewTokenAnswer}, body=TokenBody))
async def create(request: Request) -> Response:
    """Make a token. The answer is the only place where it can ever be read."""
    require_everywhere(request)
    body = await read(request, TokenBody)
    ask = TokenAsk(**msgspec.structs.asdict(body), by=who_asks(request).name)
    new_token = await front_of(request).new_token(ask)
    return reply({**token_facts(new_token.token), "token": new_token.bearer}, 201)


@router.get("/tokens", **describe("admin", {200: TokenList}))
async def list_tokens(request: Request, cursor: Cursor = None, limit: Limit = MOST) -> Response:
    """Tokens, the newest first: scopes, prefixes, when each expires. Never the token itself."""
    require_everywhere(request)
    tokens, more = page(await front_of(request).tokens(), _newest_first, cursor, limit)
    return reply({"items": [token_facts(token) for token in tokens], "cursor": more})


def _newest_first(token: AccessToken) -> str:
    return f"{2**53 - token.created_at:016}-{token.id}"


@router.delete("/tokens/{token_id}", **describe("admin", {204: None}, problems=(404,)))
async def delete(
    request: Request,
    token_id: Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The id of a token")],
) -> Response:
    """Let a token be good for nothing, within seconds."""
    require_everywhere(request)
    await front_of(request).delete_token(token_id)
    return Response(status_code=204)


# ---- sessions -------------------------------------------------------------------------------------------


@router.post(
    "/session",
    **describe(
        "public", {200: SessionAnswer}, body=SessionBody, problems=(400, 401, 403, 413, 415, 429, 503)
    ),
)
async def log_in(request: Request) -> Response:
    """Begin a session of the web page with a token; the cookie is out of reach of scripts."""
    body = await read(request, SessionBody)
    doorkeeper: Doorkeeper | None = request.app.state.doorkeeper
    if doorkeeper is None:
        return reply(_session(who_asks(request), None))
    try:
        who = await doorkeeper.who(body.token)
    except NotProven as error:
        raise Problem(401, str(error), headers={"WWW-Authenticate": "Bearer"}) from None
    answer = reply(_session(who, session.csrf_of(body.token)))
    session.begin(answer, body.token, secure=session.over_tls(request))
    return answer


@router.get("/session", **describe("read", {200: SessionAnswer}))
async def show_session(request: Request) -> Response:
    """Who one is here, and what changes of this session must carry."""
    bearer = request.cookies.get(session.COOKIE)
    signed_in = bearer is not None and request.app.state.doorkeeper is not None
    return reply(_session(who_asks(request), session.csrf_of(bearer) if signed_in and bearer else None))


@router.delete("/session", **describe("read", {204: None}))
async def log_out(request: Request) -> Response:
    """End a session; the token of one that began at an OpenID provider ends with it."""
    of_login = parsed(request.cookies.get(session.COOKIE, ""))
    for token in await front_of(request).tokens() if of_login is not None else ():
        if of_login is not None and token.id == of_login[0] and token.by == session.BY_LOGIN:
            await front_of(request).delete_token(token.id)
    answer = Response(status_code=204)
    session.end(answer, secure=session.over_tls(request))
    return answer


def _session(who: Who, csrf: str | None) -> dict[str, object]:
    return {
        "name": who.name,
        "scopes": sorted(scope for scope in ("read", "run", "write", "admin") if who.may(scope)),
        "prefixes": list(who.prefixes),
        "csrf": csrf,
    }
