"""A connection that can be cut: a small TCP proxy on a free port, in a thread of its own."""

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Mode = Literal["pass", "stall", "stall_back", "refuse"]


class Proxy:
    """Forwards to an address until it is told otherwise.

    `stall`: nothing is forwarded, connections stay open; `stall_back`: only answers are held back;
    `refuse`: connections are reset, and new ones at once.
    """

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.mode: Mode = "pass"
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._passing = asyncio.Event()
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(128)  # whoever connects before the thread is ready waits for it
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to use instead."""
        user, at, _ = self._target.netloc.rpartition("@")
        place = f"{user}{at}127.0.0.1:{self._listening.getsockname()[1]}"
        return urlunsplit(self._target._replace(netloc=place))

    def set(self, mode: Mode) -> None:
        """Change what happens, now."""
        asyncio.run_coroutine_threadsafe(self._set(mode), self._loop).result(30)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._thread.join()
        self._loop.close()

    async def _set(self, mode: Mode) -> None:
        self.mode = mode
        if mode == "pass":
            self._passing.set()
        else:
            self._passing.clear()
        if mode == "refuse":
            self._reset_all()

    def _reset_all(self) -> None:
        for writer in list(self._open):
            _reset(writer)

    async def _serve(self) -> None:
        self._passing.set()
        self._ended = asyncio.Event()
        server = await asyncio.start_server(self._accept, sock=self._listening)
        await self._ended.wait()
        server.close()
        self._reset_all()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stop(self) -> None:
        self._ended.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "refuse":
            _reset(writer)
            return
        self._open.add(writer)
        try:
            with suppress(OSError):
                await self._pass_on(reader, writer)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._open.add(back)
        try:
            await asyncio.gather(
                self._forward(reader, back, ("stall",)),
                self._forward(there, writer, ("stall", "stall_back")),
            )
        finally:
            self._open.discard(back)
            back.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, held_in: tuple[str, ...]
    ) -> None:
        while data := await reader.read(65536):
            while self.mode in held_in:
                await self._passing.wait()
            writer.write(data)
            await writer.drain()
        writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with a reset instead of a farewell."""
    found = writer.get_extra_info("socket")
    if found is not None:
        with suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
