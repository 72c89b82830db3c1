"""The version of the worker protocol on the bus: each message says its own, and the range its sender speaks.

Nobody on a bus is connected to anybody: a server that does not speak the version of a question answers with
the range it does, and is asked again in the one that both sides do. Servers announce their range as well, so
that beats, which nobody answers, are told in every version that a server needs.
"""

import struct

import msgspec

from noetl.errors import RequestError
from noetl.ports.link_protocol import ProtocolRange

_HEAD = struct.Struct("!BBB")  # this message, and the oldest and newest that its sender speaks


class Announcement(msgspec.Struct):
    """A server is there, and speaks these versions."""

    server: str
    spoken: ProtocolRange


class Enveloped(msgspec.Struct):
    """A message, and what it says of its version."""

    protocol: int
    spoken: ProtocolRange
    body: bytes


def enclose(protocol: int, spoken: ProtocolRange, body: bytes) -> bytes:
    """A message that says its version."""
    return _HEAD.pack(protocol, *spoken) + body


def open_envelope(message: bytes) -> Enveloped:
    """What a message says; raises RequestError when it does not say its version."""
    if len(message) < _HEAD.size:
        raise RequestError("the message does not say the version of its protocol")
    protocol, oldest, newest = _HEAD.unpack_from(message)
    return Enveloped(protocol, ProtocolRange(oldest, newest), message[_HEAD.size :])
