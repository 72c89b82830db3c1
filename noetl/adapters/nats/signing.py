"""Who speaks on the bus: workers sign what they ask with their token, servers sign what they answer.

The token itself never travels. Both sides know the digest of its secret half, the server because that is all
it keeps; a message carries the token's id, the moment, and an HMAC-SHA256 over what is asked and the body.
"""

import hmac
import struct
import time
from collections.abc import Awaitable, Callable

from noetl.adapters.clock.wall import now_ms
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import digest, parsed, spelled
from noetl.ports.store import AccessToken

PLAIN, SIGNED = b"\0", b"\1"
SCOPE = "worker"
HINT = "make one with: noetl token create NAME --scope worker; then set NOETL_TOKEN"
KNOWN_S = 5.0  # so long a token that was looked up is believed; a deleted one is good for no longer
SKEW_S = 300.0  # clocks may differ by this much
STRANGERS_MOST = 16  # tokens that were never seen are looked up so many at a time: anyone may name some
_MAC_BYTES = 32
_MOMENT = struct.Struct("!Q")
_HEAD = struct.Struct("!B")
_SHORTEST = _HEAD.size + _MOMENT.size + _MAC_BYTES

FindToken = Callable[[str], Awaitable[AccessToken]]


def _mac(key: bytes, *parts: bytes) -> bytes:
    made = hmac.new(key, digestmod="sha256")
    for part in parts:
        made.update(_MOMENT.pack(len(part)))
        made.update(part)
    return made.digest()


class Signer:
    """Signs what one worker asks, and checks that its server answered."""

    def __init__(self, bearer: str | None) -> None:
        found = parsed(bearer) if bearer is not None else None
        if bearer is not None and found is None:
            raise RequestError("NOETL_TOKEN is no token of a server", hint=HINT)
        self._id = found[0].encode() if found else b""
        self._key = bytes.fromhex(digest(found[1])) if found else None

    def sign(self, what: str, body: bytes) -> bytes:
        """A question with our name on it."""
        if self._key is None:
            return PLAIN + body
        moment = _MOMENT.pack(now_ms())
        mac = _mac(self._key, b"ask", what.encode(), moment, body)
        return SIGNED + _HEAD.pack(len(self._id)) + self._id + moment + mac + body

    def answered(self, what: str, answer: bytes) -> bytes:
        """An answer, when it came from a server that knows our token."""
        if self._key is None:
            return answer[1:]
        mac, body = answer[1 : 1 + _MAC_BYTES], answer[1 + _MAC_BYTES :]
        wanted = _mac(self._key, b"answer", what.encode(), body)
        if answer[:1] != SIGNED or not hmac.compare_digest(mac, wanted):
            raise RequestError("the server that answered does not know the token in NOETL_TOKEN", hint=HINT)
        return body


class Verifier:
    """Checks the signatures of workers; unless they are required, those without one are believed."""

    def __init__(self, find: FindToken, *, required: bool, now: Callable[[], float] = time.time) -> None:
        self._find, self._required, self._now = find, required, now
        self._known: dict[str, tuple[float, AccessToken]] = {}
        self._strangers = 0

    async def opened(self, what: str, message: bytes) -> tuple[bytes, bytes | None]:
        """What is asked, and the key its answer is to be signed with; raises RequestError or BackendError."""
        kind, rest = message[:1], message[1:]
        if kind == PLAIN and not self._required:
            return rest, None
        if kind != SIGNED or len(rest) < _SHORTEST:
            raise RequestError("this server asks workers for a token", hint=HINT)
        size = _HEAD.unpack(rest[:1])[0]
        name, rest = rest[1 : 1 + size].decode(errors="replace"), rest[1 + size :]
        moment, mac, body = rest[:8], rest[8 : 8 + _MAC_BYTES], rest[8 + _MAC_BYTES :]
        token = await self._token(name)
        if token is None and not self._required:
            return body, None
        key = bytes.fromhex(token.hash) if token is not None else b"nobody"
        right = hmac.compare_digest(mac, _mac(key, b"ask", what.encode(), moment, body))
        if token is None or not right:
            raise RequestError("the worker's token is not one of this server's", hint=HINT)
        self._check(token, moment)
        return body, key

    def _check(self, token: AccessToken, moment: bytes) -> None:
        now = self._now()
        if SCOPE not in token.scopes:
            raise RequestError(f"the token '{token.name}' is not one for workers")
        if token.expires_at is not None and token.expires_at <= now * 1000:
            raise RequestError(f"the token '{token.name}' has expired")
        if abs(_MOMENT.unpack(moment)[0] / 1000 - now) > SKEW_S:
            raise RequestError("the message was signed too long ago, or the worker's clock is wrong")

    async def _token(self, token_id: str) -> AccessToken | None:
        known = self._known.get(token_id)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        stranger = known is None
        if stranger and parsed(spelled(token_id, "0" * 43)) is None:  # nothing has such an id
            return None
        if stranger and self._strangers >= STRANGERS_MOST:
            raise BackendError("too many unknown tokens are being looked up; ask again")
        self._strangers += stranger
        try:
            token = await self._find(token_id)
        except NotFound:
            self._known.pop(token_id, None)
            return None
        finally:
            self._strangers -= stranger
        self._known[token_id] = (time.monotonic() + KNOWN_S, token)
        return token


def closed(what: str, answer: bytes, key: bytes | None) -> bytes:
    """An answer, signed for whoever asked."""
    return PLAIN + answer if key is None else SIGNED + _mac(key, b"answer", what.encode(), answer) + answer
