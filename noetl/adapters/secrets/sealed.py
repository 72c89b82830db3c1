"""Credentials at rest: AES-256-GCM, the name as associated data, the key in a file only its owner reads."""

import os
from pathlib import Path
from typing import Any

import msgspec

from noetl.errors import BackendError

NONCE_BYTES = 12


class Sealer:
    """Seals and opens credentials with one key."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)

    def seal(self, name: str, material: dict[str, Any]) -> bytes:
        """The material as bytes that only this key opens, and only under this name."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, msgspec.json.encode(material), name.encode())

    def open(self, name: str, sealed: bytes) -> dict[str, Any]:
        """The material that was sealed under a name."""
        from cryptography.exceptions import InvalidTag

        try:
            body = self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
        except InvalidTag:
            hint = "set NOETL_KEY to the key it was sealed with, or set the credential again"
            raise BackendError(f"the credential {name!r} cannot be opened with this key", hint=hint) from None
        return msgspec.json.decode(body)  # type: ignore[no-any-return]


def key_of(given: str | None, file: Path) -> bytes:
    """The key that was given in base64, or the one in a file that is made on first use with mode 0600."""
    import base64

    if given:
        key = base64.b64decode(given)
        if len(key) != 32:
            raise BackendError("NOETL_KEY is not 32 bytes in base64", hint="openssl rand -base64 32")
        return key
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as made:
            made.write(os.urandom(32))
    return file.read_bytes()
