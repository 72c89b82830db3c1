"""What either end of the direct link writes, and when."""

import asyncio

from noetl.adapters.direct.connection import HELD_BYTES, NOTICE, Budget, LinkConnection
from noetl.adapters.direct.frames import BINARY, CLOSE, REFUSED, FrameReader


class Written(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing


def connected() -> tuple[LinkConnection, Written]:
    connection, transport = LinkConnection(Budget(0)), Written()
    connection.connection_made(transport)
    return connection, transport


def frames(data: bytes) -> list[tuple[int, bytes]]:
    read: list[tuple[int, bytes]] = []
    FrameReader(lambda opcode, body: read.append((opcode, body)), masked=False).feed(data)
    return read


async def test_what_is_said_in_one_turn_is_one_write() -> None:
    connection, transport = connected()
    for word in (b"one", b"two", b"three"):
        connection.send(NOTICE, 0, word)
    assert transport.writes == []
    await asyncio.sleep(0)
    (write,) = transport.writes
    assert [body[5:] for _, body in frames(write)] == [b"one", b"two", b"three"]
    connection.send(NOTICE, 0, b"four")
    await asyncio.sleep(0)
    assert len(transport.writes) == 2


async def test_much_is_not_held_until_the_turn_ends() -> None:
    connection, transport = connected()
    connection.send(NOTICE, 0, b"x" * HELD_BYTES)
    assert len(transport.writes) == 1
    await asyncio.sleep(0)
    assert len(transport.writes) == 1


async def test_what_was_said_goes_before_the_end() -> None:
    connection, transport = connected()
    connection.send(NOTICE, 0, b"last")
    connection.close(REFUSED, "enough")
    read = [frame for write in transport.writes for frame in frames(write)]
    assert [opcode for opcode, _ in read] == [BINARY, CLOSE]
    assert read[0][1].endswith(b"last")
    await asyncio.sleep(0)
    assert transport.closing
