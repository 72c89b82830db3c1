"""A place for objects as the kinds use it, whatever is behind it, and how much of one is read."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Annotated, Literal, Protocol

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Size, Spec, doc

PIECE = 1024**2
Mode = Literal["replace", "create"]


class ObjectKnobs(Spec):
    """What stands under the task's `spec`."""

    max_bytes: Annotated[Size, doc("The largest object that is read.")] = 1024**3


@dataclass(frozen=True, slots=True)
class Opened:
    """An object that is about to be read: how large it is, and its bytes as they arrive."""

    size: int
    chunks: AsyncIterator[bytes]

    async def read(self) -> bytes:
        """All of it."""
        return b"".join([chunk async for chunk in self.chunks])


class Bucket(Protocol):
    """A place for objects."""

    async def open(self, key: str) -> Opened:
        """An object, to be read piece by piece."""

    async def head(self, key: str) -> dict[str, Json]:
        """What is known of an object without reading it."""

    async def put(self, key: str, raw: bytes | BufferedReader, mode: Mode) -> str | None:
        """Keep bytes, or those of a file, under a key; the entity tag where there is one."""

    async def list(self, prefix: str | None, limit: int) -> list[dict[str, Json]]:
        """The objects whose key begins with a prefix."""

    async def delete(self, key: str) -> None:
        """Remove an object."""


async def open_limited(place: Bucket, key: str, max_bytes: int) -> Opened:
    """An object that is not too large to be read at all."""
    stream = await place.open(key)
    if stream.size > max_bytes:
        raise Failed("too_large", f"{key!r} has {stream.size} bytes; raise spec.max_bytes above {max_bytes}")
    return stream
