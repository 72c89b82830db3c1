"""Credentials at rest: AES-256-GCM, the name as associated data, the key in a file only its owner reads."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec

from noetl.errors import BackendError

NONCE_BYTES = 12


KEY_BYTES = 32


class Sealer:
    """Seals with the first of its keys and opens with any of them, so that a key can be changed."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, name: str, material: dict[str, Any]) -> bytes:
        """The material as bytes that only this key opens, and only under this name."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, msgspec.json.encode(material), name.encode())

    def open(self, name: str, sealed: bytes) -> dict[str, Any]:
        """The material that was sealed under a name."""
        from cryptography.exceptions import InvalidTag

        for cipher in self._ciphers:
            with suppress(InvalidTag):
                body = cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
                return msgspec.json.decode(body)  # type: ignore[no-any-return]
        hint = "set NOETL_KEY to the key it was sealed with, or set the credential again"
        raise BackendError(f"the credential {name!r} cannot be opened with this key", hint=hint)


def keys_of(given: str | None, file: Path) -> tuple[bytes, ...]:
    """The keys that were given in base64, or those in a file that is made on first use with mode 0600."""
    if given:
        return tuple(_decoded(one) for one in given.split(","))
    if not file.exists():
        _write(file, os.urandom(KEY_BYTES), replace=False)
    text = file.read_bytes()
    if not text or len(text) % KEY_BYTES:
        raise BackendError(f"the key file {file} is damaged", hint="restore it, or set NOETL_KEY")
    return tuple(text[at : at + KEY_BYTES] for at in range(0, len(text), KEY_BYTES))


def add_key(file: Path) -> None:
    """Put a new key before those of a file; the older ones go on opening what they sealed."""
    _write(file, os.urandom(KEY_BYTES) + b"".join(keys_of(None, file)), replace=True)


def _decoded(text: str) -> bytes:
    import base64
    import binascii

    try:
        key = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise BackendError("NOETL_KEY is not 32 bytes in base64", hint="openssl rand -base64 32")
    return key


def _write(file: Path, content: bytes, *, replace: bool) -> None:
    """Write a file whole, with mode 0600; without `replace` the first of several writers wins."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, prefix=".key-", delete=False) as made:
        made.write(content)
        made.flush()
        os.fsync(made.fileno())
    if replace:
        os.replace(made.name, file)
        return
    with suppress(FileExistsError):
        os.link(made.name, file)
    os.unlink(made.name)
