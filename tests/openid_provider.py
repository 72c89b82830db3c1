"""An OpenID provider on the loopback interface: it knows one person, and asks them for nothing."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "noetl", "between the two of us"


class OpenIdProvider(ThreadingHTTPServer):
    """What it says of its one person can be changed."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.claims: dict[str, Any] = {"preferred_username": "ada", "roles": ["noetl:run", "noetl:read"]}
        self.opaque = True  # whether its access tokens say nothing
        self.refuses = False
        self.asked: list[dict[str, str]] = []  # by those who were sent here
        self.codes: dict[str, dict[str, str]] = {}

    def token(self) -> str:
        said = {"iss": self.url, "aud": CLIENT, "sub": "u1", "exp": int(time.time()) + 300, **self.claims}
        return jwt.encode({"alg": "RS256", "kid": "one"}, said, self.key, algorithms=["RS256"])

    def answer(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, object]]:
        """What a code is exchanged for, once."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        client = "Basic " + base64.b64encode(f"{CLIENT}:{quote_plus(SECRET)}".encode()).decode()
        fits = asked is not None and (
            (asked["code_challenge"], asked["redirect_uri"]) == (proof, form.get("redirect_uri"))
        )
        if not fits or authorization != client or self.refuses:
            return 400, {"error": "invalid_grant", "error_description": "the code is good for nothing"}
        access = secrets.token_urlsafe() if self.opaque else self.token()
        return 200, {"token_type": "Bearer", "access_token": access, "id_token": self.token()}


class Handler(BaseHTTPRequestHandler):
    server: OpenIdProvider

    def do_GET(self) -> None:
        parts, url = urlsplit(self.path), self.server.url
        if parts.path == "/.well-known/openid-configuration":
            places = {"jwks_uri": "keys", "authorization_endpoint": "authorize", "token_endpoint": "token"}
            return self._say(200, {"issuer": url, **{name: f"{url}/{at}" for name, at in places.items()}})
        if parts.path == "/keys":
            return self._say(200, KeySet([self.server.key]).as_dict(private=False))
        asked = dict(parse_qsl(parts.query))
        self.server.asked.append(asked)
        code = secrets.token_urlsafe()
        self.server.codes[code] = asked
        self.send_response(302)
        back = urlencode({"code": code, "state": asked["state"]})
        self.send_header("Location", f"{asked['redirect_uri']}?{back}")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._say(*self.server.answer(form, self.headers.get("Authorization", "")))

    def _say(self, status: int, said: object) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def providing() -> Iterator[OpenIdProvider]:
    """A provider that listens."""
    made = OpenIdProvider()
    Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
