"""Frames: what is whole is handed on however it is cut, and what nobody may send is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.adapters.direct.frames import (
    BINARY,
    CLOSE,
    PING,
    FrameError,
    FrameReader,
    close_reason,
    encode_close,
    encode_frame,
)


def read(
    data: bytes, *, masked: bool, step: int | None = None, most: int = 1_000_000
) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    reader = FrameReader(lambda opcode, body: found.append((opcode, body)), masked=masked, most=most)
    for start in range(0, len(data), step or len(data)):
        reader.feed(data[start : start + (step or len(data))])
    return found


@given(bodies=st.lists(st.binary(max_size=300), min_size=1), step=st.integers(1, 40), masked=st.booleans())
def test_messages_come_out_as_they_went_in_however_they_are_cut(
    bodies: list[bytes], step: int, masked: bool
) -> None:
    data = b"".join(encode_frame(BINARY, body, masked=masked) for body in bodies)
    assert read(data, masked=masked, step=step) == [(BINARY, body) for body in bodies]


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 200_000])
def test_every_length_has_its_spelling(size: int) -> None:
    assert read(encode_frame(BINARY, b"x" * size, masked=True), masked=True) == [(BINARY, b"x" * size)]


def test_a_message_may_come_in_several_frames_with_a_ping_between() -> None:
    first, last = (
        bytearray(encode_frame(BINARY, b"one", masked=False)),
        bytearray(encode_frame(0, b"two", masked=False)),
    )
    first[0] &= 0x7F
    data = bytes(first) + encode_frame(PING, b"", masked=False) + bytes(last)
    assert read(data, masked=False) == [(PING, b""), (BINARY, b"onetwo")]


def test_a_close_says_why() -> None:
    [(opcode, body)] = read(encode_close(1008, "no such token", masked=False), masked=False)
    assert (opcode, close_reason(body)) == (CLOSE, "no such token")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (encode_frame(BINARY, b"x", masked=False), 1002),  # not masked
        (b"\xc2\x80\0\0\0\0", 1002),  # flags
        (b"\x81\x80\0\0\0\0", 1003),  # text
        (b"\x80\x80\0\0\0\0", 1003),  # goes on with nothing
        (b"\x82\xff" + struct.pack("!Q", 1_000_001), 1009),
        (b"\x09\x80\0\0\0\0", 1002),  # a ping in parts
    ],
)
def test_what_nobody_may_send_is_refused(data: bytes, code: int) -> None:
    with pytest.raises(FrameError) as refused:
        read(data, masked=True)
    assert refused.value.code == code


def test_a_message_in_many_frames_is_bounded_too() -> None:
    part = bytearray(encode_frame(BINARY, b"x" * 100, masked=False))
    part[0] &= 0x7F
    more = bytearray(encode_frame(0, b"x" * 100, masked=False))
    more[0] &= 0x7F
    with pytest.raises(FrameError, match="longer than 150"):
        read(bytes(part + more), masked=False, most=150)
