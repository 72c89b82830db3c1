"""The hash chain of a log: what each row's link covers, by its format, and what seals a row that was trimmed.

Nothing is read or written here.
"""

import hashlib
import struct
from collections.abc import Callable

import msgspec

from noetl.core.formats import ROW_FORMAT, check_row_format
from noetl.ports.store import Row

_FIELDS = struct.Struct(">HQQqI")


def chained(previous: bytes, body: bytes) -> bytes:
    """The next link of the hash chain in format 1: over the body alone."""
    return hashlib.sha256(previous + body).digest()


def _covering(previous: bytes, row: Row) -> bytes:
    """The next link in format 2: over the place, the moment, the cause, the batch and the body."""
    batch = (row.batch or "").encode()
    fields = _FIELDS.pack(row.format, row.first, row.last, row.ts, len(row.cause))
    lengths = len(batch).to_bytes(4, "big") if row.batch is not None else b""
    return hashlib.sha256(b"".join((previous, fields, row.cause, lengths, batch, row.body))).digest()


# What the hash of a row covers, by the row's format.
_LINKS: dict[int, Callable[[bytes, Row], bytes]] = {
    1: lambda previous, row: chained(previous, row.body),
    **dict.fromkeys(range(2, ROW_FORMAT + 1), _covering),
}


def link(previous: bytes, row: Row) -> bytes:
    """The link of the hash chain that a row is, by its format; raises NewerFormat for one that is newer."""
    check_row_format(row.first, row.format)
    return _LINKS.get(row.format, _covering)(previous, row)


def sealed(previous: bytes, row: Row, body: bytes) -> Row:
    """A row of which only a part is left; it keeps its link, and the seal binds the part to its place."""
    shorter = msgspec.structs.replace(row, body=body)
    return msgspec.structs.replace(shorter, seal=link(previous + row.hash, shorter))


def linked(previous: bytes, row: Row) -> bool:
    """Whether a row follows a link of the hash chain and is as it was written, or as it was sealed."""
    try:
        if row.seal is None:
            return link(previous, row) == row.hash
        return link(previous + row.hash, row) == row.seal
    except struct.error:  # a number that no row was ever written with
        return False
