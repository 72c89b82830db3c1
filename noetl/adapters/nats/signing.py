"""Who speaks on the bus: workers sign what they ask with their token, servers sign what they answer and tell.

The token itself never travels. Both sides know the digest of its secret half, the server because that is all
it keeps. A question carries the token's id, a stamp (the sender's session, the number of the message in it,
the moment) and an HMAC-SHA256 over the subject it was sent to, the stamp and the body. The HMAC of an answer
covers that of its question, so that no answer serves a second question. What a server tells unasked has a
stamp as well.

A stamp is good once: within a session by its number; the first message of a session that the listener does
not know by its moment too. An answer tells the moment at the server, so that clocks may differ.
"""

import hmac
import itertools
import secrets
import struct
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.link.requests import UnprovenReply
from noetl.adapters.nats.replay_window import ReplayWindow
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import digest, parsed, spelled
from noetl.ports.store import AccessToken

PLAIN, SIGNED = b"\0", b"\1"
SCOPE = "worker"
HINT = "make one with: noetl token create NAME --scope worker; then set NOETL_TOKEN"
KNOWN_S = 5.0  # so long a token that was looked up is believed; a deleted one is good for no longer
FRESH_MS = 30_000  # so old the first message of an unknown session may be
STRANGERS_MOST = 16  # tokens that were never seen are looked up so many at a time: anyone may name some
_SESSION_BYTES = 8
_MAC_BYTES = 32
_LENGTH = struct.Struct("!Q")
_MOMENT = struct.Struct("!Q")
_STAMP = struct.Struct(f"!{_SESSION_BYTES}sQQ")  # session, number, moment

FindToken = Callable[[str], Awaitable[AccessToken]]
Now = Callable[[], int]


class SignatureError(UnprovenReply):
    """An answer or a notice that no server which knows our token has signed."""


class StaleMessage(BackendError):
    """A message that was heard before, or whose stamp is of another time."""


def _mac(key: bytes, *parts: bytes) -> bytes:
    framed = b"".join(part for body in parts for part in (_LENGTH.pack(len(body)), body))
    return hmac.digest(key, framed, "sha256")


class _Stamps:
    """Numbers the messages of one session."""

    def __init__(self) -> None:
        self._session, self._numbers = secrets.token_bytes(_SESSION_BYTES), itertools.count(1)

    def next(self, moment: int) -> bytes:
        return _STAMP.pack(self._session, next(self._numbers), moment)


class SignedRequest(NamedTuple):
    """A question as it is sent, and the signature that its answer must name."""

    message: bytes
    mac: bytes


class Signer:
    """Signs what one worker asks, and checks that a server which knows its token answered or told."""

    def __init__(self, bearer: str | None, now: Now = now_ms) -> None:
        token = parsed(bearer) if bearer is not None else None
        if bearer is not None and token is None:
            raise RequestError("NOETL_TOKEN is no token of a server", hint=HINT)
        self._id = token[0].encode() if token else b""
        self._key = bytes.fromhex(digest(token[1])) if token else None
        self._now, self._stamps, self._window = now, _Stamps(), ReplayWindow()
        self._ahead_ms = 0  # how far the clock of the server that answered last is ahead of ours

    @property
    def signs(self) -> bool:
        """Whether there is a token to sign with, so that only signed answers count."""
        return self._key is not None

    def sign(self, subject: str, body: bytes) -> SignedRequest:
        """A question with our name on it."""
        if self._key is None:
            return SignedRequest(PLAIN + body, b"")
        stamp = self._stamps.next(self._now() + self._ahead_ms)
        mac = _mac(self._key, b"question", subject.encode(), stamp, body)
        return SignedRequest(SIGNED + bytes((len(self._id),)) + self._id + stamp + mac + body, mac)

    def open_answer(self, request: SignedRequest, answer: bytes) -> bytes:
        """What a server that knows our token answered to this question; raises Unproven."""
        if self._key is None:
            return answer[1:]
        moment, mac, body = _split(answer, _MOMENT.size)
        if not hmac.compare_digest(mac, _mac(self._key, b"answer", request.mac, moment, body)):
            raise _unproven()
        self._ahead_ms = _MOMENT.unpack(moment)[0] - self._now()
        return body

    def open_notice(self, subject: str, notice: bytes) -> bytes:
        """What a server that knows our token tells us, for the first time; raises Unproven."""
        if self._key is None:
            return notice[1:]
        stamp, mac, body = _split(notice, _STAMP.size)
        if not hmac.compare_digest(mac, _mac(self._key, b"notice", subject.encode(), stamp, body)):
            raise _unproven()
        if not _is_new(self._window, stamp, self._now() + self._ahead_ms):
            raise SignatureError("the notice was told before")
        return body


class NoticeSigner:
    """Signs what a server tells workers unasked."""

    def __init__(self, now: Now = now_ms) -> None:
        self._now, self._stamps = now, _Stamps()

    def sign(self, subject: str, body: bytes, key: bytes | None) -> bytes:
        """A notice for the worker that is known by a key."""
        if key is None:
            return PLAIN + body
        stamp = self._stamps.next(self._now())
        return SIGNED + stamp + _mac(key, b"notice", subject.encode(), stamp, body) + body


class Question(NamedTuple):
    """What was asked, and the proof by whom: a token, and the key that the answer is signed with."""

    body: bytes
    token: AccessToken | None = None
    key: bytes | None = None
    stamp: bytes = b""
    mac: bytes = b""

    def sign(self, answer: bytes, moment: int) -> bytes:
        """An answer to this question alone."""
        if self.key is None:
            return PLAIN + answer
        told = _MOMENT.pack(moment)
        return SIGNED + told + _mac(self.key, b"answer", self.mac, told, answer) + answer


class Verifier:
    """Checks the signatures of workers; unless they are required, those without one are believed."""

    def __init__(self, find: FindToken, *, required: bool, now: Now = now_ms) -> None:
        self._find, self._required, self.now = find, required, now
        self._known: dict[str, tuple[float, AccessToken]] = {}
        self._strangers = 0
        self._window = ReplayWindow()

    async def open(self, subject: str, message: bytes) -> Question:
        """A question whose signature is right; raises RequestError or BackendError when there is no proof."""
        kind, rest = message[:1], message[1:]
        if kind == PLAIN and not self._required:
            return Question(rest)
        size = rest[0] if rest else 0
        name, rest = rest[1 : 1 + size].decode(errors="replace"), rest[1 + size :]
        if kind != SIGNED or len(rest) < _STAMP.size + _MAC_BYTES:
            raise RequestError("this server asks workers for a token", hint=HINT)
        stamp, mac, body = _parts(rest, _STAMP.size)
        token = await self._token(name)
        if token is None and not self._required:
            return Question(body)
        key = bytes.fromhex(token.hash) if token is not None else b"nobody"
        right = hmac.compare_digest(mac, _mac(key, b"question", subject.encode(), stamp, body))
        if token is None or not right:
            raise RequestError("the worker's token is not one of this server's", hint=HINT)
        return Question(body, token, key, stamp, mac)

    def check(self, question: Question) -> None:
        """Raise what the asker is to be answered when the question may not be asked, or was heard before."""
        token, now = question.token, self.now()
        if token is None:
            return
        if SCOPE not in token.scopes:
            raise RequestError(f"the token '{token.name}' is not one for workers")
        if token.expires_at is not None and token.expires_at <= now:
            raise RequestError(f"the token '{token.name}' has expired")
        if not _is_new(self._window, question.stamp, now):
            raise StaleMessage("the message was heard before, or signed too long ago; sign and send it again")

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


def _is_new(window: ReplayWindow, stamp: bytes, now: int) -> bool:
    """Whether a stamp is good: not used before, and of now where nothing is known of its session."""
    session, number, moment = _STAMP.unpack(stamp)
    if session not in window and abs(moment - now) > FRESH_MS:
        return False
    return window.accept(session, number)


def _split(message: bytes, size: int) -> tuple[bytes, bytes, bytes]:
    if message[:1] != SIGNED or len(message) < 1 + size + _MAC_BYTES:
        raise _unproven()
    return _parts(message[1:], size)


def _parts(rest: bytes, size: int) -> tuple[bytes, bytes, bytes]:
    """What stands before the signature, the signature, and the body."""
    return rest[:size], rest[size : size + _MAC_BYTES], rest[size + _MAC_BYTES :]


def _unproven() -> SignatureError:
    return SignatureError("the server that answered does not know the token in NOETL_TOKEN", hint=HINT)
