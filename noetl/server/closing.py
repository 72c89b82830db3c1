"""That a server stops: whoever waits for something is told, and answers with what there is."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noetl.errors import BackendError
from noetl.server.problem import of_error

T = TypeVar("T")


class Closing(asyncio.Event):
    """Set when the server stops."""

    def __init__(self) -> None:
        super().__init__()
        self._patience: set[asyncio.Timeout] = set()

    def set(self) -> None:
        """Nobody waits any longer."""
        if self.is_set():
            return
        super().set()
        for patience in self._patience:
            patience.reschedule(0)

    async def before(self, work: Awaitable[T]) -> T:
        """What comes of a piece of work; TimeoutError when the server stops before that."""
        async with asyncio.timeout(0 if self.is_set() else None) as patience:
            self._patience.add(patience)
            try:
                return await work
            finally:
                self._patience.discard(patience)


class OutOfTime:
    """Stands before what answers: a request that the end of the server breaks off is told to come again."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; of an answer that has begun nothing more can be said."""
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if begun:
                raise
            message = "the server stops, and nothing is known yet of what was asked"
            error = BackendError(message, hint="ask another server, or this one once it is back")
            await of_error(error)(scope, receive, send)
