"""How a request of HTTP becomes a WebSocket (RFC 6455): what both ends have to agree on."""

from base64 import b64encode
from hashlib import sha1

VERSION = "13"
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(key: str) -> str:
    """What a server answers to the key of a request."""
    return b64encode(sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()).decode()
