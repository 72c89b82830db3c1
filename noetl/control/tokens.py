"""Making bearer tokens. What they allow is checked where requests arrive."""

import secrets
from collections.abc import Callable, Sequence

from noetl.control.storable import require_plain
from noetl.errors import RequestError
from noetl.ports.bearer import SCOPES, SECRET_BYTES, digest, spelled
from noetl.ports.front import NewToken, TokenAsk
from noetl.ports.store import ANY_POOL, AccessToken, Store

NAME_LENGTH = 100
WORKER, DEFAULT_POOL = "worker", "default"
FOREVER_MS = 10 * 365 * 24 * 3_600_000


class TokenBook:
    """The tokens of a store."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        self._store, self._now = store, now

    async def new_token(self, ask: TokenAsk) -> NewToken:
        """Make a token; what is shown once is not kept."""
        made = issued(ask, self._now())
        await self._store.put_token(made.token)
        return made

    async def tokens(self) -> Sequence[AccessToken]:
        return await self._store.tokens()

    async def delete_token(self, token_id: str) -> None:
        await self._store.delete_token(token_id)


def issued(ask: TokenAsk, now: int) -> NewToken:
    """A fresh token, to be shown once; raises RequestError when it makes no sense."""
    if not ask.name.strip() or len(ask.name) > NAME_LENGTH:
        raise RequestError(f"a token has a name of 1 to {NAME_LENGTH} characters", hint="say who uses it")
    require_plain(ask.name, "name")
    unknown = [scope for scope in ask.scopes if scope not in SCOPES]
    if unknown or not ask.scopes:
        message = f"'{unknown[0]}' is no scope" if unknown else "a token has at least one scope"
        raise RequestError(message, hint=f"the scopes are: {', '.join(SCOPES)}")
    if ask.expires_ms is not None and not 0 < ask.expires_ms <= FOREVER_MS:
        raise RequestError("a token lives for some time, ten years at most", hint="leave it out for no end")
    token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(SECRET_BYTES)
    token = AccessToken(
        token_id,
        digest(secret),
        ask.name,
        scopes=sorted(set(ask.scopes)),
        prefixes=sorted(set(_prefixes(ask))),
        pools=sorted(set(_pools(ask))),
        created_at=now,
        expires_at=now + ask.expires_ms if ask.expires_ms is not None else None,
        by=ask.by,
    )
    return NewToken(token, spelled(token_id, secret))


def _prefixes(ask: TokenAsk) -> list[str]:
    cleaned = [prefix.strip().strip("/") for prefix in ask.prefixes]
    if not all(cleaned):
        raise RequestError("a prefix is the beginning of a path, not empty", hint="team/")
    for prefix in cleaned:
        require_plain(prefix, "prefix")
    return cleaned


def _pools(ask: TokenAsk) -> list[str]:
    """The pools that workers with a token may serve: those it names, else the one that is served unnamed."""
    pools = [pool.strip() for pool in ask.pools]
    if WORKER not in ask.scopes:
        if pools:
            raise RequestError("only a token with the scope 'worker' names pools", hint="--scope worker")
        return []
    for pool in pools:
        require_plain(pool, "pool")
    if not all(pools):
        raise RequestError("the name of a pool is not empty", hint=f"{ANY_POOL!r} stands for all")
    return pools or [DEFAULT_POOL]
