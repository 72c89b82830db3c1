"""What the tools of a conversation speak to: a server, or the engine of this process, opened when needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from noetl.cli.connection.connection import Connection, connect, connect_server
from noetl.cli.connection.embedded_engine import open_engine
from noetl.settings import Settings


class SharedConnection:
    """One way to the product for a whole conversation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._stack = AsyncExitStack()
        self._open: Connection | None = None
        self._opening = asyncio.Lock()

    async def for_running(self) -> Connection:
        """Where executions run: here they go on until the conversation ends."""
        async with self._opening:
            if self._open is None:
                if self.settings.server is not None:
                    self._open = await self._stack.enter_async_context(connect_server(self.settings))
                else:
                    engine = await self._stack.enter_async_context(open_engine(self.settings))
                    self._open = Connection(engine.front, self.settings, embedded=engine)
        return self._open

    @asynccontextmanager
    async def for_reading(self) -> AsyncIterator[Connection]:
        """For looking things up: no store is made for that where there is none."""
        if self._open is not None or self.settings.server is not None:
            yield await self.for_running()
            return
        async with connect(self.settings) as connection:
            yield connection

    async def close(self) -> None:
        """Let tasks that run here finish; what is not over can be resumed."""
        if self._open is not None and self._open.embedded is not None:
            await self._open.embedded.pool.drain()
        await self._stack.aclose()
