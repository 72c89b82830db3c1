"""Credentials at rest: AES-256-GCM, each under a data key of its own that a master key wraps.

Name and version are associated data of both, so that a sealed credential opens under its own name alone and
no part of one version fits another. Changing the master key wraps the data keys again; the sealed values
stay as they are. Where the bytes rest is the store's.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from noetl.errors import BackendError
from noetl.json_value import JsonObject

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16
MARK = b"NOE1"
ID_BYTES, VERSION_BYTES = 8, 8
WRAPPED_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES
HEADER_BYTES = len(MARK) + ID_BYTES + VERSION_BYTES + WRAPPED_BYTES


class _Parts(NamedTuple):
    """A sealed credential, cut where its parts meet."""

    key_id: bytes
    version: int
    wrapped: bytes
    body: bytes

    def to_bytes(self) -> bytes:
        version = self.version.to_bytes(VERSION_BYTES, "big")
        return MARK + self.key_id + version + self.wrapped + self.body


def _cut(name: str, sealed: bytes) -> _Parts:
    if not sealed.startswith(MARK) or len(sealed) < HEADER_BYTES + NONCE_BYTES + TAG_BYTES:
        raise _damage(name)
    id_end = len(MARK) + ID_BYTES
    version_end = id_end + VERSION_BYTES
    version = int.from_bytes(sealed[id_end:version_end], "big")
    wrapped, body = sealed[version_end:HEADER_BYTES], sealed[HEADER_BYTES:]
    return _Parts(sealed[len(MARK) : id_end], version, wrapped, body)


def version_of(name: str, sealed: bytes) -> int:
    """How often a credential had been set when these bytes were sealed."""
    return _cut(name, sealed).version


class Sealer:
    """Seals with the first of its keys and opens with any of them, so that a key can be changed."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {_id(key): key for key in reversed(keys)}
        self._first = keys[0]

    def seal(self, name: str, material: JsonObject, version: int = 1) -> bytes:
        """The material as bytes that only these keys open, and only under this name and version."""
        data_key = os.urandom(KEY_BYTES)
        body = _encrypt(data_key, msgspec.json.encode(material), _about(b"value", name, version))
        wrapped = _encrypt(self._first, data_key, _about(b"key", name, version))
        return _Parts(_id(self._first), version, wrapped, body).to_bytes()

    def open(self, name: str, sealed: bytes) -> JsonObject:
        """The material that was sealed under a name."""
        parts = _cut(name, sealed)
        body = _decrypt(self._data_key(name, parts), parts.body, name, _about(b"value", name, parts.version))
        return msgspec.json.decode(body)  # type: ignore[no-any-return]

    def wrap_again(self, name: str, sealed: bytes) -> bytes:
        """The same sealed value with its data key wrapped by the first key; as it was when it is already."""
        parts = _cut(name, sealed)
        if parts.key_id == _id(self._first):
            return sealed
        about = _about(b"key", name, parts.version)
        wrapped = _encrypt(self._first, self._data_key(name, parts), about)
        return parts._replace(key_id=_id(self._first), wrapped=wrapped).to_bytes()

    def _data_key(self, name: str, parts: _Parts) -> bytes:
        master = self._keys.get(parts.key_id)
        if master is None:
            hint = "set NOETL_KEY to the key it was sealed with, or set the credential again"
            message = (
                f"the credential {name!r} cannot be opened with this key: it was sealed with another one"
            )
            raise BackendError(message, hint=hint)
        return _decrypt(master, parts.wrapped, name, _about(b"key", name, parts.version))


def _id(key: bytes) -> bytes:
    """Which key it is, without telling anything of it."""
    return hashlib.sha256(b"noetl key id" + key).digest()[:ID_BYTES]


def _about(what: bytes, name: str, version: int) -> bytes:
    return b"\0".join((what, name.encode(), str(version).encode()))


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _encrypt(key: bytes, body: bytes, about: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, body, about)


def _decrypt(key: bytes, sealed: bytes, name: str, about: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return _cipher(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about)
    except InvalidTag:
        raise _damage(name) from None


def _damage(name: str) -> BackendError:
    hint = "set the credential again, or restore the store from a copy"
    return BackendError(f"the credential {name!r} is damaged, or belongs to another name", hint=hint)


# ---- the master keys: given in base64, or in a file that only its owner reads; the newest stands first -----


def keys_of(setting: str | None, file: Path) -> tuple[bytes, ...]:
    """The keys that were given in base64, or those in a file that is made on first use with mode 0600."""
    if setting:
        return decode_keys(setting)
    if not file.exists():
        _write(file, os.urandom(KEY_BYTES), replace=False)
    text = file.read_bytes()
    if not text or len(text) % KEY_BYTES:
        raise BackendError(f"the key file {file} is damaged", hint="restore it, or set NOETL_KEY")
    return tuple(text[at : at + KEY_BYTES] for at in range(0, len(text), KEY_BYTES))


def add_key(file: Path) -> None:
    """Put a new key before those of a file; the older ones go on opening what they sealed."""
    with _alone(file.parent):
        _write(file, os.urandom(KEY_BYTES) + b"".join(keys_of(None, file)), replace=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While no other process adds a key: one that is lost takes along what it has sealed by then."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def decode_keys(text: str) -> tuple[bytes, ...]:
    """The keys of a text, in base64 with commas between; raises ValueError, which says what is wanted."""
    import base64

    try:
        keys = tuple(base64.b64decode(part.strip(), validate=True) for part in text.split(","))
    except ValueError:  # no base64, or not even ASCII
        keys = ()
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise ValueError("32 bytes in base64 (openssl rand -base64 32 makes them)")
    return keys


def _write(file: Path, content: bytes, *, replace: bool) -> None:
    """Write a file whole, with mode 0600; without `replace` the first of several writers wins."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, prefix=".key-", delete=False) as draft:
        draft.write(content)
        draft.flush()
        os.fsync(draft.fileno())
    if replace:
        os.replace(draft.name, file)
        return
    with suppress(FileExistsError):
        os.link(draft.name, file)
    os.unlink(draft.name)
