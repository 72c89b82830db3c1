"""Long messages in pieces: kept while someone goes on with them, and no more than there is room for."""

import asyncio

from noetl.errors import BackendError

QUIET_S = 20.0  # so long a message waits for its next piece, or for the next piece to be fetched
STALE_S = 2.0  # so long it does when another one needs its room
AROUND = 256  # what a piece takes beside its own bytes


class ChunkBuffer:
    """The pieces of messages, by the number of each message."""

    def __init__(self, most: int, quiet_s: float = QUIET_S) -> None:
        self._most, self._quiet_s = most, quiet_s
        self._kept: dict[bytes, list[bytes]] = {}
        self._touched: dict[bytes, float] = {}  # when someone last went on with each, the latest at the end
        self._timer: asyncio.TimerHandle | None = None
        self.bytes = 0

    def put(self, number: bytes, pieces: list[bytes]) -> None:
        """Keep a message, alone however long it is; raises BackendError when others take the room."""
        self.drop(number)
        size = _size(pieces)
        if not self._has_room(size):
            raise _full()
        self._kept[number] = pieces
        self.bytes += size
        self._touch(number)

    def add(self, number: bytes, piece: bytes) -> None:
        """Keep one more piece of a message; forgets it, and raises BackendError, when there is no room."""
        size = len(piece) + AROUND
        self._touch(number)
        if not self._has_room(size):
            self.drop(number)
            raise _full()
        self._kept[number].append(piece)
        self.bytes += size

    def get(self, number: bytes) -> list[bytes] | None:
        """The pieces of a message, while they are here."""
        if number in self._kept:
            self._touch(number)
        return self._kept.get(number)

    def drop(self, number: bytes) -> None:
        """Forget a message."""
        if number in self._kept:
            self.bytes -= _size(self._kept.pop(number))
            del self._touched[number]

    def _touch(self, number: bytes) -> None:
        loop = asyncio.get_running_loop()
        self._touched.pop(number, None)
        self._touched[number] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._quiet_s, self._drop_quiet)

    def _has_room(self, size: int) -> bool:
        """Whether there is room, after those have made way that were left alone for a moment."""
        stale = asyncio.get_running_loop().time() - STALE_S
        while self.bytes and self.bytes + size > self._most:
            number, touched = next(iter(self._touched.items()))
            if touched >= stale:
                return False
            self.drop(number)
        return True

    def _drop_quiet(self) -> None:
        """Forget what nobody goes on with; look again when the next one may be so."""
        loop, self._timer = asyncio.get_running_loop(), None
        while self._touched:
            number, touched = next(iter(self._touched.items()))
            if touched + self._quiet_s > loop.time():
                self._timer = loop.call_at(touched + self._quiet_s, self._drop_quiet)
                return
            self.drop(number)

    def close(self) -> None:
        """Forget everything."""
        if self._timer is not None:
            self._timer.cancel()
        self._kept.clear()
        self._touched.clear()
        self.bytes = 0


def _size(pieces: list[bytes]) -> int:
    return AROUND + sum(len(piece) + AROUND for piece in pieces)


def _full() -> BackendError:
    return BackendError("too many long messages are on their way at once; ask again")
