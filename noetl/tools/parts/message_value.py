"""Values as the bytes of a message, and back: for kinds that talk to a broker."""

import msgspec

from noetl.json_value import Json
from noetl.ports.values import to_json


def to_bytes(value: Json) -> bytes:
    """Text as it is, everything else as JSON."""
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def from_bytes(raw: bytes) -> Json:
    """JSON as its value, other text as text, other bytes as base64."""
    try:
        value: Json = msgspec.json.decode(raw)
        return to_json(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return to_json(raw.decode())
    except UnicodeDecodeError:
        return to_json(raw)
