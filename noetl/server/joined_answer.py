"""The head of an answer goes out with the beginning of its body: one system call, one wake-up of who asked.

What an answer says is not known here.
"""

import asyncio
from typing import Any


class JoinedAnswer:
    """The transport of one answer, as who answers sees it."""

    __slots__ = ("_head", "_loop", "_said", "_transport")

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._said, self._head = False, b""

    def write(self, data: bytes) -> None:
        """The first piece waits for the second, until the end of this turn."""
        if self._head:
            data, self._head = self._head + data, b""
        elif not self._said:
            self._said, self._head = True, data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)

    def close(self) -> None:
        """There is nothing more to say."""
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether nothing more can be said."""
        return bool(self._transport.is_closing())
