"""What the engine needs of a result store: payloads by key, written before the event that names them."""

import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from noetl.core.message import Payload
from noetl.core.values.output import is_reference
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json

PIECE = 1024**2
"""So many bytes at a time are read of a payload that is read as a stream."""
_KEY = re.compile(r"[0-9a-f]{32}/[0-9a-f]{32}")


class TooLarge(Exception):
    """A payload that has more bytes than whoever reads it can take; `bytes`: so many at least."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the payload has at least {size} bytes")
        self.bytes = size


class Footprint(msgspec.Struct):
    """The payloads of one execution: how many, how large, and when the newest was written."""

    execution_id: str
    payloads: int
    bytes: int
    written_at: int


class Results(Protocol):
    """Payloads of executions. Keys are `<execution_id>/<digest>`; writing the same key again is harmless."""

    async def write(self, payload: Payload) -> None:
        """Write a payload durably."""

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> tuple[str, int, str]:
        """Write bytes as they arrive; the key, their number, and their sha256."""

    async def read(self, key: str) -> bytes:
        """The bytes of a payload; raises NotFound."""

    def read_stream(self, key: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a payload, read as they are taken; raises NotFound."""

    async def footprints(self) -> Sequence[Footprint]:
        """What is there, by execution."""

    async def discard(self, execution_id: str) -> None:
        """Remove every payload of an execution."""


class Payloads(Protocol):
    """The result store as the control plane sees it: payloads as values, verified."""

    async def get(self, ref: Mapping[str, object], most: int | None = None) -> Json:
        """The payload of a reference, of at most so many bytes; raises NotFound, TooLarge."""

    async def pack(self, key: str) -> tuple[list[Json], int]:
        """The outputs of a pack of iterations, and how many bytes they have; raises NotFound."""


async def assembled(
    payloads: Payloads, entries: Sequence[Mapping[str, Any]], most: int | None = None, size: int = 0
) -> list[Json]:
    """The items that entries of a manifest of so many bytes list; only what they name is read, packs once."""
    packs: dict[str, list[Json]] = {}
    items = []
    size += sum(entry["ref"]["meta"].get("bytes", 0) for entry in entries if is_reference(entry.get("ref")))
    for entry in entries:
        if most is not None and size > most:
            raise TooLarge(size)
        if is_reference(entry.get("ref")):
            items.append(await payloads.get(entry["ref"]))
        elif "part" in entry:
            key, place = entry["part"]
            if key not in packs:
                packs[key], more = await payloads.pack(key)
                size += more
            items.append(packs[key][place])
        else:
            items.append(entry.get("value"))
    return items


def pieces_of(body: bytes) -> Iterator[bytes]:
    """Bytes that are there, in pieces, so that whoever takes them does not copy them at once."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


def check_key(key: str) -> str:
    """The key, when it is one; raises NotFound for anything else, a path out of the store above all."""
    if not _KEY.fullmatch(key):
        raise NotFound(f"{key!r} is no key of a result store", hint="a key is <execution id>/<digest>")
    return key


def check_content(payload: Payload) -> Payload:
    """The payload, when its key is the one of its bytes; raises RequestError."""
    check_digest(payload.key, hashlib.sha256(payload.body).hexdigest())
    return payload


def check_digest(key: str, sha256: str) -> str:
    """The key, when it is the one of bytes with that digest; raises RequestError."""
    if check_key(key) != stream_key(key[:32], sha256):
        raise RequestError(f"the payload {key} has other bytes than its key says")
    return key


def stream_key(execution_id: str, sha256: str) -> str:
    """The key of bytes that were written as they came."""
    return check_key(f"{execution_id}/{sha256[:32]}")
