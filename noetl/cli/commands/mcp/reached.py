"""What the tools of a conversation speak to: a server, or the engine of this process, opened when needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from noetl.cli.connection import connection, embedded_engine
from noetl.cli.connection.connection import Reached
from noetl.settings import Settings


class Reach:
    """One way to the product for a whole conversation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._kept = AsyncExitStack()
        self._open: Reached | None = None
        self._opening = asyncio.Lock()

    async def running(self) -> Reached:
        """Where executions run: here they go on until the conversation ends."""
        async with self._opening:
            if self._open is None:
                if self.settings.server is not None:
                    self._open = await self._kept.enter_async_context(connection.server(self.settings))
                else:
                    made = await self._kept.enter_async_context(embedded_engine.opened(self.settings))
                    self._open = Reached(made.front, self.settings, made=made)
        return self._open

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[Reached]:
        """For looking things up: no store is made for that where there is none."""
        if self._open is not None or self.settings.server is not None:
            yield await self.running()
            return
        async with connection.reached(self.settings) as found:
            yield found

    async def close(self) -> None:
        """Let tasks that run here finish; what is not over can be resumed."""
        if self._open is not None and self._open.made is not None:
            await self._open.made.pool.drain()
        await self._kept.aclose()
