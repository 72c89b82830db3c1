"""Bearer tokens as they are spelled: `noetl_<id>_<secret>`. Only the digest of the secret is ever kept.

A secret has 256 random bits, so a plain SHA-256 is enough: there is nothing to guess that a slow hash would
protect. Making one needs chance, which is not to be had here.
"""

import hashlib
import re
from typing import Literal, get_args

from noetl.core.event import iso
from noetl.ports.store import AccessToken

Scope = Literal["read", "run", "write", "admin", "worker"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SECRET_BYTES = 32
PREFIX = "noetl_"
_BEARER = re.compile(r"noetl_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


def spelled(token_id: str, secret: str) -> str:
    """The token as its owner keeps it."""
    return f"{PREFIX}{token_id}_{secret}"


def parsed(bearer: str) -> tuple[str, str] | None:
    """The id and the secret of a token; None for what cannot be one."""
    match = _BEARER.fullmatch(bearer)
    return (match[1], match[2]) if match else None


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_facts(token: AccessToken) -> dict[str, str | list[str] | None]:
    """A token as readers see it; neither its secret nor the digest of it."""
    return {
        "id": token.id,
        "name": token.name,
        "scopes": token.scopes,
        "prefixes": token.prefixes,
        "pools": token.pools,
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at) if token.expires_at is not None else None,
        "by": token.by,
    }
