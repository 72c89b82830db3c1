"""Logging in at an OpenID provider: the authorization code flow with PKCE (RFC 7636).

What has to be remembered between leaving and coming back rests in a cookie of the browser that left, so any
server may be the one to which it comes back. Who somebody is, is oidc.py's to say.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec
from msgspec import Meta

from noetl.errors import BackendError
from noetl.server.access import NotProven
from noetl.server.oidc import ANSWER_S, DISCOVERY, fetched, whole

COOKIE = "noetl_login"
COOKIE_LIFE_S = 600  # so long may somebody take to log in
PLACE_LENGTH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginClient:
    """As whom this server sends people to the provider, and what it asks of it."""

    client_id: str
    secret: str | None = field(default=None, repr=False)
    scope: str = "openid profile email"


class Leaving(msgspec.Struct):
    """What the browser keeps while somebody logs in elsewhere."""

    state: Annotated[str, Meta(max_length=100)]
    verifier: Annotated[str, Meta(max_length=100)]
    place: Annotated[str, Meta(max_length=PLACE_LENGTH)]  # the page that was wanted

    def sealed(self) -> str:
        """As a cookie has it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def leaving(place: str) -> Leaving:
    """Somebody who is about to leave from a page."""
    return Leaving(secrets.token_urlsafe(24), secrets.token_urlsafe(48), own_place(place))


def came_back(cookie: str, state: str) -> Leaving:
    """Who left with a cookie and comes back with a state; raises NotProven when those are two."""
    try:
        left = msgspec.json.decode(base64.urlsafe_b64decode(cookie), type=Leaving)
    except (ValueError, msgspec.DecodeError):
        left = None
    if left is None or not secrets.compare_digest(left.state.encode(), state.encode()):
        raise NotProven("the login was begun in another browser, or too long ago")
    return Leaving(left.state, left.verifier, own_place(left.place))  # whoever wrote that cookie


def own_place(place: str) -> str:
    """A page of this server; anything else is the first one, so that no link leads elsewhere."""
    plain = place.isprintable() and "\\" not in place and len(place) <= PLACE_LENGTH
    return place if plain and place.startswith("/") and not place.startswith("//") else "/"


class SignIn:
    """One client of one provider."""

    def __init__(self, issuer: str, client: LoginClient) -> None:
        self.issuer, self._client = issuer, client

    async def address(self, left: Leaving, callback: str) -> str:
        """Where somebody logs in; raises BackendError when the provider is away."""
        digest = hashlib.sha256(left.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": callback,
            "scope": self._client.scope,
            "state": left.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        there = await self._endpoint("authorization_endpoint")
        return f"{there}{'&' if '?' in there else '?'}{urlencode(asked)}"

    async def tokens(self, code: str, left: Leaving, callback: str) -> list[str]:
        """The tokens that a code is good for; raises NotProven when it is good for none."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "client_id": self._client.client_id,
            "code_verifier": left.verifier,
        }
        answer = await self._exchanged(await self._endpoint("token_endpoint"), form)
        given = [answer.get(name) for name in ("access_token", "id_token")]
        return [token for token in given if isinstance(token, str)]

    async def _endpoint(self, name: str) -> str:
        place = (await fetched(self.issuer.rstrip("/") + DISCOVERY)).get(name)
        if not isinstance(place, str) or urlsplit(place).scheme not in ("http", "https"):
            message = f"the OpenID provider {self.issuer} names no {name}"
            raise BackendError(message, hint="look at NOETL_OIDC_ISSUER")
        return place

    async def _exchanged(self, place: str, form: dict[str, str]) -> dict[str, Any]:
        import aiohttp

        timeout, headers = aiohttp.ClientTimeout(total=ANSWER_S), dict[str, str]()
        if self._client.secret is not None:  # RFC 6749, 2.3.1: both are written as in a form
            own = quote_plus(self._client.client_id), quote_plus(self._client.secret)
            headers["Authorization"] = aiohttp.encode_basic_auth(*own)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as client,
                client.post(place, data=form, headers=headers, allow_redirects=False) as answer,
            ):
                body, status = await whole(answer.content), answer.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            message = f"the OpenID provider does not answer at {place}: {type(error).__name__}"
            raise BackendError(message, hint="try again") from error
        try:
            said = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            said = {}
        if status != 200:
            why = str(said.get("error_description") or said.get("error") or f"status {status}")[:200]
            raise NotProven(f"the OpenID provider refused the login: {why}")
        return said
