"""Who may work for a server over the direct link: whoever shows a token for workers, under a name of its own.

A server that asks for no token believes any name. What was refused is said as an answer of HTTP.
"""

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from noetl.adapters.link.pools import check_pool
from noetl.adapters.link.worker_name import may_bear
from noetl.errors import BackendError, Denied, NotFound, RequestError
from noetl.ports.bearer import digest, parsed
from noetl.ports.store import AccessToken

SCOPE = "worker"
HINT = "make one with: noetl token create NAME --scope worker; then set NOETL_TOKEN"
NAME_CHARS = 200
LOOKUPS_MOST = 16  # tokens are looked up so many at a time: anyone may name some
CHECK_S = 5.0  # a token that was deleted is good for no longer

FindToken = Callable[[str], Awaitable[AccessToken]]
Now = Callable[[], int]


class WorkerIdentity(NamedTuple):
    """Who a connection is: a worker, its pool, and what it proved that with."""

    worker_id: str
    pool: str
    bearer: str | None
    key: bytes | None  # the digest of its token


class Admission:
    """Lets workers in."""

    def __init__(self, find: FindToken, now: Now, *, required: bool) -> None:
        self._find, self._now, self._required = find, now, required
        self._lookups = 0

    async def admit(self, worker_id: str, pool: str, bearer: str | None) -> WorkerIdentity:
        """Who asks to be let in; raises Denied for a token, RequestError for a name."""
        if not worker_id or len(worker_id) > NAME_CHARS or not worker_id.isprintable():
            raise RequestError(
                f"{worker_id[:80]!r} is no name of a worker", hint="letters, digits, _ . and -"
            )
        token = await self._token(bearer)
        if token is not None:
            check_pool(token.name, token.pools, pool)
        key = bytes.fromhex(token.hash) if token is not None else None
        if not may_bear(worker_id, key):
            raise RequestError(f"worker {worker_id} is known by another token than this one")
        return WorkerIdentity(worker_id, pool, bearer, key)

    async def check(self, identity: WorkerIdentity) -> None:
        """Raise Denied when the token of a connection is good no longer, and BackendError if nobody knows."""
        await self.admit(identity.worker_id, identity.pool, identity.bearer)

    async def _token(self, bearer: str | None) -> AccessToken | None:
        parts = parsed(bearer) if bearer is not None else None
        if parts is None:
            if self._required:
                wrong = "is no token of a server" if bearer is not None else "is missing"
                raise Denied(f"this server asks workers for a token; yours {wrong}", hint=HINT)
            return None
        token = await self._looked_up(parts[0])
        right = token is not None and hmac.compare_digest(token.hash, digest(parts[1]))
        if token is None or not right:
            if not self._required:
                return None
            raise Denied("the worker's token is not one of this server's", hint=HINT)
        self._check_rights(token)
        return token

    def _check_rights(self, token: AccessToken) -> None:
        if SCOPE not in token.scopes:
            raise Denied(f"the token '{token.name}' is not one for workers", hint=HINT)
        if token.expires_at is not None and token.expires_at <= self._now():
            raise Denied(f"the token '{token.name}' has expired", hint=HINT)

    async def _looked_up(self, token_id: str) -> AccessToken | None:
        if self._lookups >= LOOKUPS_MOST:
            raise BackendError("too many tokens are being looked up; ask again")
        self._lookups += 1
        try:
            return await self._find(token_id)
        except NotFound:
            return None
        finally:
            self._lookups -= 1


def is_due(checked: float) -> bool:
    """Whether a token that was checked at a moment is to be checked again."""
    return time.monotonic() - checked > CHECK_S
