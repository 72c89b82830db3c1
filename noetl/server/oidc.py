"""Tokens of an OpenID provider: signatures by its published keys, claims by our settings."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from noetl.errors import BackendError, MissingExtra
from noetl.json_value import Json
from noetl.ports.bearer import SCOPES
from noetl.server.access import NotProven, Who

if TYPE_CHECKING:
    from aiohttp import StreamReader
    from joserfc.jwk import KeySet
    from joserfc.jwt import JWTClaimsRegistry

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 60
FRESH_S = 3600.0  # keys are asked for again after so long
AGAIN_S = 30.0  # an unknown key id has them asked for, but not more often than this
ANSWER_S = 10.0
ANSWER_BYTES = 1024 * 1024
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """A provider and how its claims are read."""

    issuer: str
    audience: str
    jwks: str | None = None  # where its keys are; else it is asked
    scope_claims: tuple[str, ...] = ("scope", "scp", "roles")
    scopes: Mapping[str, str] = field(default_factory=lambda: {f"noetl:{scope}": scope for scope in SCOPES})
    prefix_claim: str = "noetl_prefixes"


class Provider:
    """Checks the tokens of one provider."""

    def __init__(
        self, oidc: Oidc, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._oidc, self._now, self._clock = oidc, now, clock
        self._keys: KeySet | None = None
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()

    async def who(self, bearer: str) -> Who:
        """The subject of a token with the scopes it claims; raises NotProven."""
        try:
            from joserfc import errors, jwt
            from joserfc.jws import extract_compact
        except ImportError:
            raise MissingExtra("joserfc", "auth") from None
        try:
            key_id = extract_compact(bearer.encode()).headers().get("kid")
            keys = await self._keys_with(key_id)
            token = jwt.decode(bearer, keys, algorithms=ALGORITHMS)
            self._registry().validate(token.claims)
        except errors.ExpiredTokenError:
            raise NotProven("the token has expired") from None
        except (errors.JoseError, ValueError, TypeError, KeyError, AttributeError):
            raise NotProven("the token is not one of this server's, nor of its provider") from None
        return self._who(token.claims)

    def _registry(self) -> "JWTClaimsRegistry":
        from joserfc.jwt import JWTClaimsRegistry

        return JWTClaimsRegistry(
            now=lambda: int(self._now()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self._oidc.issuer},
            aud={"essential": True, "value": self._oidc.audience},
            exp={"essential": True},
            sub={"essential": True},
        )

    def _who(self, claims: Mapping[str, Json]) -> Who:
        claimed: set[str] = set()
        for name in self._oidc.scope_claims:
            claimed |= _words(claims.get(name))
        scopes = frozenset(ours for theirs, ours in self._oidc.scopes.items() if theirs in claimed)
        prefixes = tuple(sorted(_words(claims.get(self._oidc.prefix_claim))))
        if self._oidc.prefix_claim in claims and not prefixes:
            scopes = frozenset()  # a limit that names no path leaves none
        subject = str(claims["sub"])[:200]
        name = str(claims.get("preferred_username") or claims.get("email") or subject)[:200]
        return Who(name, scopes, prefixes, key=f"oidc:{subject}")

    async def _keys_with(self, key_id: object) -> "KeySet":
        """The provider's keys; asked for again when they are old or lack the one that is named."""
        async with self._asking:
            age = self._clock() - self._asked_at
            lacking = self._keys is None or not any(key.kid == key_id for key in self._keys.keys)
            if age > FRESH_S or (lacking and age > AGAIN_S):
                self._asked_at = self._clock()
                await self._renew()
            if self._keys is None:
                message = f"the OpenID provider {self._oidc.issuer} did not answer; it is asked again soon"
                raise BackendError(message, hint="look at NOETL_OIDC_ISSUER")
            return self._keys

    async def _renew(self) -> None:
        """Ask for the keys; those that are known are kept when the provider does not answer."""
        try:
            self._keys = await self._fetch()
        except BackendError:
            if self._keys is None:
                raise

    async def _fetch(self) -> "KeySet":
        from joserfc.jwk import KeySet

        place = self._oidc.jwks
        if place is None:
            discovery = await fetched(self._oidc.issuer.rstrip("/") + DISCOVERY)
            place = str(discovery.get("jwks_uri"))
        return KeySet.import_key_set(await fetched(place))


def _words(claim: Json) -> set[str]:
    if isinstance(claim, str):
        return set(claim.split())
    return {item for item in claim if isinstance(item, str) and item} if isinstance(claim, list) else set()


async def whole(content: "StreamReader") -> bytes:
    """All of an answer, which comes in pieces; ValueError when it does not end."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > ANSWER_BYTES:
            raise ValueError("the answer is too long")
    return bytes(body)


async def fetched(url: str) -> Any:
    """What an address of the provider says; raises BackendError."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=ANSWER_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            answer.raise_for_status()
            body = await whole(answer.content)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        message = f"the OpenID provider does not answer at {url}: {type(error).__name__}"
        raise BackendError(message, hint="look at NOETL_OIDC_ISSUER") from error
    import msgspec

    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise BackendError(f"the OpenID provider sends no JSON at {url}") from None
