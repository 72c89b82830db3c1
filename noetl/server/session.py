"""The web page's way to prove who one is: a cookie no script can read, and a token that changes carry."""

import hashlib
import hmac

from starlette.requests import HTTPConnection
from starlette.responses import Response

COOKIE = "noetl_session"
CSRF_HEADER = "x-csrf-token"
LIFE_S = 12 * 3600
BY_LOGIN = "login"  # who made the token of a session that began at an OpenID provider


def csrf_of(bearer: str) -> str:
    """What changes under a session must carry; only who has seen the answer to the login knows it."""
    return hmac.new(bearer.encode(), b"noetl csrf", hashlib.sha256).hexdigest()


def carries_csrf(connection: HTTPConnection, bearer: str) -> bool:
    """Whether a request has the token of its session."""
    header = connection.headers.get(CSRF_HEADER, "")
    return hmac.compare_digest(header.encode(), csrf_of(bearer).encode())


def over_tls(connection: HTTPConnection) -> bool:
    """Whether the browser speaks TLS, to us or to a proxy; a lie only makes one's own cookie stricter."""
    scheme = connection.headers.get("x-forwarded-proto", connection.url.scheme)
    return scheme.partition(",")[0].strip().lower() == "https"


def begin(answer: Response, bearer: str, *, secure: bool) -> None:
    """Let the browser keep a session."""
    answer.set_cookie(
        COOKIE, bearer, max_age=LIFE_S, path="/", secure=secure, httponly=True, samesite="strict"
    )


def end(answer: Response, *, secure: bool) -> None:
    """Let the browser forget its session."""
    answer.delete_cookie(COOKIE, path="/", secure=secure, httponly=True, samesite="strict")
