"""Proving who one is: tokens of our own, and those of an OpenID provider. What one may is access.py's."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from noetl.errors import NotFound
from noetl.ports.bearer import PREFIX, digest, parsed
from noetl.ports.store import AccessToken
from noetl.server.access import NotProven, Who
from noetl.server.oidc import Oidc, Provider
from noetl.server.sign_in import SignIn

TOKEN_FRESH_S = 5.0  # so long a token that was looked up is believed; a deleted one is good for no longer
TOKENS_MAX = 1024
LONGEST = 16 * 1024
NO_TOKEN = "0" * 64

FindToken = Callable[[str], Awaitable[AccessToken]]


@dataclass(frozen=True, slots=True)
class Auth:
    """Where proofs are checked: our own tokens by id, and an OpenID provider."""

    find: FindToken  # raises NotFound
    oidc: Oidc | None = None
    sign_in: SignIn | None = None  # where people log in to the web page


class Doorkeeper:
    """Tells who sends a token."""

    def __init__(
        self, auth: Auth, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._find, self._now, self._clock = auth.find, now, clock
        self._provider = Provider(auth.oidc, now) if auth.oidc is not None else None
        self._tokens: OrderedDict[str, tuple[float, AccessToken]] = OrderedDict()

    async def who(self, bearer: str) -> Who:
        """The owner of a token; raises NotProven."""
        if len(bearer) > LONGEST:
            raise NotProven("the token is too long to be one")
        if bearer.startswith(PREFIX) or self._provider is None:
            return await self._own(bearer)
        return await self._provider.who(bearer)

    async def _own(self, bearer: str) -> Who:
        token_parts = parsed(bearer)
        if token_parts is None:
            raise NotProven("the token is not one of this server's")
        token_id, secret = token_parts
        token = await self._token(token_id)
        right = hmac.compare_digest(digest(secret), token.hash if token is not None else NO_TOKEN)
        if token is None or not right:
            raise NotProven("the token is not one of this server's")
        if token.expires_at is not None and token.expires_at <= self._now() * 1000:
            raise NotProven(f"the token '{token.name}' has expired")
        return Who(token.name, frozenset(token.scopes), tuple(token.prefixes), key=f"token:{token.id}")

    async def _token(self, token_id: str) -> AccessToken | None:
        cached = self._tokens.get(token_id)
        if cached is not None and cached[0] > self._clock():
            return cached[1]
        self._tokens.pop(token_id, None)
        try:
            token = await self._find(token_id)
        except NotFound:
            return None
        self._tokens[token_id] = (self._clock() + TOKEN_FRESH_S, token)
        if len(self._tokens) > TOKENS_MAX:
            self._tokens.popitem(last=False)
        return token
