"""Standard input and output as a conversation: a line is a message, and nothing else is ever written."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec

LINE_MAX = 16 * 1024 * 1024
READ_BYTES = 256 * 1024
TOO_LONG = b"\x00"  # no JSON: the answer says so


@contextmanager
def own_output() -> Iterator[int]:
    """Standard output for messages alone: whatever else prints, also a child process, prints to stderr."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield own
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)


class LineWriter:
    """Writes messages one after another; a client that reads slowly holds up nobody but its own answers."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._executor = ThreadPoolExecutor(1)
        self.gone = False

    async def send(self, message: object) -> None:
        line = msgspec.json.encode(message) + b"\n"
        await asyncio.get_running_loop().run_in_executor(self._executor, self._write, line)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest and not self.gone:
                rest = rest[os.write(self._file, rest) :]
        except BrokenPipeError:
            self.gone = True

    def close(self) -> None:
        """Let the last message out."""
        self._executor.shutdown()


async def lines() -> AsyncIterator[bytes]:
    """The lines of standard input until it ends or the process is told to; endless ones are passed over."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(64)  # so much is read ahead
    threading.Thread(target=_read, args=(loop, pieces, room), daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, pieces.put_nowait, b"")
    try:
        async for line in _split(pieces, room):
            yield line
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _split(pieces: "asyncio.Queue[bytes]", room: threading.Semaphore) -> AsyncIterator[bytes]:
    part, passing_over = b"", False
    while piece := await pieces.get():
        room.release()
        *whole, rest = piece.split(b"\n")
        for line in whole:
            if not passing_over and (part + line).strip():
                yield part + line
            part, passing_over = b"", False
        part = b"" if passing_over else part + rest
        if len(part) > LINE_MAX:
            yield TOO_LONG
            part, passing_over = b"", True
    if part.strip():
        yield part


def _read(loop: asyncio.AbstractEventLoop, pieces: "asyncio.Queue[bytes]", room: threading.Semaphore) -> None:
    """Reading waits in a thread that nobody waits for: input may be a pipe, a file or a terminal."""
    piece = b" "
    while piece:
        room.acquire()
        try:
            piece = os.read(0, READ_BYTES)
        except OSError:
            piece = b""
        try:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
        except RuntimeError:  # the conversation is over
            return
