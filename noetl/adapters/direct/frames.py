"""WebSocket frames (RFC 6455): bytes to messages and back. Nothing here knows a connection.

Only binary messages are spoken. A message may come in several frames, since proxies may cut it.
"""

import os
import struct
from collections.abc import Callable

BINARY, CLOSE, PING, PONG = 0x2, 0x8, 0x9, 0xA
CONTINUATION = 0x0
END = 0x80  # the last frame of a message
MASKED = 0x80
FRAME_BYTES = 1024 * 1024  # of one message: what is longer is sent as several
CONTROL_BYTES = 125
UNFIT, TOO_LONG, WRONG_TYPE, REFUSED, GOING_AWAY = 1002, 1009, 1003, 1008, 1001  # why a connection is closed
_SHORT = struct.Struct("!BB")
_MIDDLE = struct.Struct("!BBH")
_LONG = struct.Struct("!BBQ")

Receiver = Callable[[int, bytes], None]  # opcode and body


class FrameError(Exception):
    """Bytes that are no frame, or one that nobody may send."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def encode_frame(opcode: int, body: bytes, *, masked: bool) -> bytes:
    """One whole message as one frame; clients mask theirs."""
    size = len(body)
    mask = MASKED if masked else 0
    if size < 126:
        head = _SHORT.pack(END | opcode, mask | size)
    elif size < 65536:
        head = _MIDDLE.pack(END | opcode, mask | 126, size)
    else:
        head = _LONG.pack(END | opcode, mask | 127, size)
    if not masked:
        return head + body
    key = os.urandom(4)
    return head + key + apply_mask(body, key)


def apply_mask(body: bytes, key: bytes) -> bytes:
    """Bytes masked, or masked bytes as they were."""
    size = len(body)
    mask = int.from_bytes((key * (size // 4 + 1))[:size], "little")
    return (int.from_bytes(body, "little") ^ mask).to_bytes(size, "little")


def encode_close(code: int, reason: str, *, masked: bool) -> bytes:
    """The last frame of a connection: why it ends."""
    body = struct.pack("!H", code) + reason.encode()[: CONTROL_BYTES - 2]
    return encode_frame(CLOSE, body, masked=masked)


def close_reason(body: bytes) -> str:
    """What a close frame says."""
    return body[2:].decode(errors="replace") or "the connection was closed"


class FrameReader:
    """Cuts what comes from one side of a connection into messages."""

    def __init__(self, receive: Receiver, *, masked: bool, most: int = FRAME_BYTES) -> None:
        self._receive, self._mask, self._most = receive, MASKED if masked else 0, most
        self._rest = b""
        self._parts: list[bytes] = []  # of a message that came in several frames
        self._begun = False

    def feed(self, data: bytes) -> None:
        """Read as many frames as are whole; raises FrameError."""
        if self._rest:
            data = self._rest + data
        place, size = 0, len(data)
        while size - place >= 2:
            start, end = self._extent(data, place, size)
            if end == 0 or end > size:
                break
            body = data[start:end]
            if self._mask:
                body = apply_mask(body, data[start - 4 : start])
            self._frame(data[place], body)
            place = end
        self._rest = data[place:]

    def _extent(self, data: bytes, place: int, size: int) -> tuple[int, int]:
        """Where the body of a frame begins and ends; 0 when that has not come yet."""
        second = data[place + 1]
        if second & MASKED != self._mask:
            raise FrameError(UNFIT, "frames of a client are masked, those of a server are not")
        length, start = second & 127, place + 2
        if length == 126:
            start += 2
            length = int.from_bytes(data[place + 2 : start], "big") if start <= size else -1
        elif length == 127:
            start += 8
            length = int.from_bytes(data[place + 2 : start], "big") if start <= size else -1
        if length < 0:
            return 0, 0
        if length > self._most:
            raise FrameError(TOO_LONG, f"a frame of {length} bytes is longer than {self._most}")
        start += 4 if self._mask else 0
        return start, start + length

    def _frame(self, first: int, body: bytes) -> None:
        opcode = first & 0x0F
        if first == END | BINARY and not self._begun:
            self._receive(BINARY, body)
        elif first & 0x70:
            raise FrameError(UNFIT, "a frame has flags that were not agreed on")
        elif opcode in (CLOSE, PING, PONG):
            if not first & END or len(body) > CONTROL_BYTES:
                raise FrameError(UNFIT, "a control frame is whole and short")
            self._receive(opcode, body)
        elif opcode == (CONTINUATION if self._begun else BINARY):
            self._continue(first, body)
        else:
            raise FrameError(WRONG_TYPE, f"a frame of type {opcode} is not expected here")

    def _continue(self, first: int, body: bytes) -> None:
        self._begun = True
        self._parts.append(body)
        if sum(map(len, self._parts)) > self._most or len(self._parts) > self._most // 64:
            raise FrameError(TOO_LONG, f"a message is longer than {self._most} bytes")
        if first & END:
            whole, self._parts, self._begun = b"".join(self._parts), [], False
            self._receive(BINARY, whole)
