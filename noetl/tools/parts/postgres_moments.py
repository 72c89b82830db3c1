"""Dates and timestamps as PostgreSQL sends them: its infinities are texts, and the last day of 9999 is a day.

The driver takes the greatest and the smallest moment of Python for the infinities, and so stores an infinity
where `9999-12-31` was given.
"""

import datetime
import struct
from typing import TYPE_CHECKING

from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from asyncpg import Connection

INFINITIES = ("infinity", "-infinity")
_DAYS, _MICROSECONDS = struct.Struct(">i"), struct.Struct(">q")
_FIRST_DAY = datetime.date(2000, 1, 1).toordinal()
_FIRST = datetime.datetime(2000, 1, 1)  # noqa: DTZ001 - also of moments without a zone
_MICROSECOND = datetime.timedelta(microseconds=1)


async def understand(connection: "Connection") -> None:
    """Let a connection read and write them; in binary, because COPY speaks nothing else."""
    for name, encode, decode in (
        ("date", write_date, read_date),
        ("timestamp", write_moment, lambda raw: read_moment(raw, None)),
        ("timestamptz", write_moment, lambda raw: read_moment(raw, datetime.UTC)),
    ):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=encode, decoder=decode, format="binary"
        )


def write_date(value: datetime.date | str) -> bytes:
    """Days since 2000."""
    return _DAYS.pack(_far(value, 31) if isinstance(value, str) else value.toordinal() - _FIRST_DAY)


def read_date(raw: bytes) -> object:
    """A date, or the text of an infinity."""
    (days,) = _DAYS.unpack(raw)
    try:
        return _infinity(days, 31) or datetime.date.fromordinal(days + _FIRST_DAY)
    except (ValueError, OverflowError):
        raise _beyond() from None


def write_moment(value: datetime.datetime | str) -> bytes:
    """Microseconds since 2000, of UTC where there is a zone."""
    if isinstance(value, str):
        return _MICROSECONDS.pack(_far(value, 63))
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return _MICROSECONDS.pack((value - _FIRST) // _MICROSECOND)


def read_moment(raw: bytes, zone: datetime.tzinfo | None) -> object:
    """A moment, or the text of an infinity."""
    (count,) = _MICROSECONDS.unpack(raw)
    try:
        far = _infinity(count, 63)
        return far or (_FIRST + datetime.timedelta(microseconds=count)).replace(tzinfo=zone)
    except OverflowError:
        raise _beyond() from None


def _far(text: str, bits: int) -> int:
    if text not in INFINITIES:
        raise TypeError(f"{text!r} is no date")
    return (1 << bits) - 1 if text == INFINITIES[0] else -(1 << bits)


def _infinity(number: int, bits: int) -> str | None:
    return next((text for text in INFINITIES if number == _far(text, bits)), None)


def _beyond() -> Failed:
    return Failed("value", "a date is not in the years 1 to 9999; select it as text, as in: day::text")
