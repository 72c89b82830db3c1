"""Secrets on the bus: sealed for the one worker that asked, so that no value ever travels in the clear.

A worker makes a key pair when it starts and tells the public half; each secret is sealed with a key that is
made for it alone (X25519, HKDF-SHA256, AES-256-GCM).
"""

import os

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from noetl.errors import BackendError
from noetl.json_value import JsonObject

_KEY_BYTES = 32
_NONCE_BYTES = 12
_PURPOSE = b"noetl secret for a worker"


def seal(public: bytes, material: JsonObject) -> bytes:
    """Material that only the holder of the other half of a key can read."""
    own = X25519PrivateKey.generate()
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    nonce = os.urandom(_NONCE_BYTES)
    sealed = AESGCM(_derived(shared)).encrypt(nonce, msgspec.json.encode(material), _PURPOSE)
    return own.public_key().public_bytes_raw() + nonce + sealed


class SealedBox:
    """The key pair of a worker."""

    def __init__(self) -> None:
        self._own = X25519PrivateKey.generate()
        self.public = self._own.public_key().public_bytes_raw()

    def open(self, sealed: bytes) -> JsonObject:
        """What was sealed for us."""
        other, rest = sealed[:_KEY_BYTES], sealed[_KEY_BYTES:]
        shared = self._own.exchange(X25519PublicKey.from_public_bytes(other))
        nonce, body = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        try:
            opened: JsonObject = msgspec.json.decode(AESGCM(_derived(shared)).decrypt(nonce, body, _PURPOSE))
        except InvalidTag:
            raise BackendError("a secret was not sealed for this worker") from None
        return opened


def _derived(shared: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_PURPOSE).derive(shared)
