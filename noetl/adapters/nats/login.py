"""How we log in to NATS beside names and passwords: a file of credentials (JWT, NKEY), and whom to believe.

A file as `nsc` writes it has a JWT and the seed of a key; one with a seed alone logs in as that key.
"""

import base64
import re
import ssl
from binascii import crc_hqx
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from noetl.errors import RequestError

USER = 20 << 3  # what the name of a user's key begins with: U
_SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
_SEED_HEAD = 2


@dataclass(frozen=True, slots=True)
class Credentials:
    """The key of a user, and the JWT that vouches for it."""

    key: Ed25519PrivateKey
    jwt: str | None

    def answer(self, nonce: str) -> dict[str, str | None]:
        """What proves to a server who we are."""
        named: dict[str, str | None] = {"jwt": self.jwt} if self.jwt else {"nkey": self.public}
        return {**named, "sig": self.signature(nonce).decode()}

    def signature(self, nonce: str) -> bytes:
        """A server's question, signed."""
        return base64.urlsafe_b64encode(self.key.sign(nonce.encode())).rstrip(b"=")

    @property
    def public(self) -> str:
        """The name of the key."""
        raw = bytes((USER,)) + self.key.public_key().public_bytes_raw()
        return base64.b32encode(raw + crc_hqx(raw, 0).to_bytes(2, "little")).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class BusLogin:
    """What a connection to NATS is made with beside its address."""

    credentials: Credentials | None = None
    ca: str | None = None  # a file of certificates that are believed beside those of the system

    def context(self) -> ssl.SSLContext:
        """Whom we believe."""
        context = ssl.create_default_context()
        if self.ca is not None:
            try:
                context.load_verify_locations(self.ca)
            except (OSError, ssl.SSLError) as error:
                raise RequestError(
                    f"NOETL_BUS_CA is '{self.ca}', which has no certificates: {error}", hint="a PEM file"
                ) from None
        return context

    def library_options(self) -> dict[str, Any]:
        """The same for the client library."""
        options: dict[str, Any] = {"tls": self.context()} if self.ca is not None else {}
        credentials = self.credentials
        if credentials is not None:
            options["signature_cb"] = credentials.signature
            if credentials.jwt is not None:
                jwt = credentials.jwt.encode()
                options["user_jwt_cb"] = lambda: bytearray(jwt)
        return options


NO_LOGIN = BusLogin()


def read_login(credentials: str | None, ca: str | None) -> BusLogin:
    """The login that two settings name; raises RequestError when a file is not what it should be."""
    return BusLogin(None if credentials is None else read_credentials(credentials), ca)


def read_credentials(file: str) -> Credentials:
    """The credentials of a file."""
    try:
        text = Path(file).expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise RequestError(f"NOETL_BUS_CREDS: '{file}' cannot be read: {why}") from None
    seed, jwt = _SEED.search(text), _JWT.search(text)
    if seed is None:
        raise RequestError(
            f"NOETL_BUS_CREDS: '{file}' has no seed of a user's key",
            hint="a file as nsc writes it, or a line that begins with SU",
        )
    raw = base64.b32decode(seed[0] + "=" * (-len(seed[0]) % 8))
    body, check = raw[:-2], raw[-2:]
    if crc_hqx(body, 0).to_bytes(2, "little") != check:
        raise RequestError(f"NOETL_BUS_CREDS: the seed in '{file}' is misspelt", hint="copy it again")
    return Credentials(Ed25519PrivateKey.from_private_bytes(body[_SEED_HEAD:]), jwt[0] if jwt else None)
