"""How a request of HTTP becomes a WebSocket (RFC 6455): what both ends have to agree on.

Versions of the worker protocol are offered and chosen as subprotocols: `noetl-worker.1`.
"""

import re
from base64 import b64encode
from hashlib import sha1

from noetl.ports.link_protocol import ProtocolRange

VERSION = "13"
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SUBPROTOCOL = re.compile(r"noetl-worker\.(\d{1,4})")


def accept_key(key: str) -> str:
    """What a server answers to the key of a request."""
    return b64encode(sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()).decode()


def subprotocol(version: int) -> str:
    """A version of the worker protocol as headers name it."""
    return f"noetl-worker.{version}"


def offered(spoken: ProtocolRange) -> str:
    """The versions that a worker speaks, the one it likes best first."""
    return ", ".join(map(subprotocol, range(spoken.newest, spoken.oldest - 1, -1)))


def read_versions(header: str) -> ProtocolRange | None:
    """The versions that a header names."""
    found = (_SUBPROTOCOL.fullmatch(name.strip()) for name in header.split(","))
    versions = [int(match[1]) for match in found if match is not None]
    return ProtocolRange(min(versions), max(versions)) if versions else None
