"""What the tools of a conversation speak to: a server, or the engine of this process, opened when needed."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import msgspec

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Connection, connect, connect_server, has_data
from noetl.cli.connection.embedded_engine import open_engine
from noetl.cli.playbooks.playbook_text import file_of, text_of
from noetl.cli.playbooks.sources import Source, read_one
from noetl.cli.tool_page import library_for
from noetl.dsl.diagnostic import Diagnostic
from noetl.errors import RequestError
from noetl.ports.front import Front
from noetl.ports.mcp_protocol import Message
from noetl.settings import Settings

TEXT = "playbook"  # the name a text without a file is reported under


@dataclass(frozen=True, slots=True)
class LocalPlaybook:
    """A text, or a file of this machine."""

    source: Source
    product: "SharedConnection"

    async def findings(self, *, strict: bool) -> Sequence[Diagnostic]:
        from noetl.cli.playbooks.validation import check

        return (await asyncio.to_thread(check, self.source, strict=strict)).diagnostics

    async def runnable(self, front: object) -> tuple[str, str | None]:
        from noetl.cli.playbooks.bundle import bundle_files

        text = text_of(self.source)
        connection = await self.product.connection()
        if connection.url is not None:
            project = connection.settings.project
            return await bundle_files(connection.front, self.source, text, project), None
        return text, None if self.source.name == TEXT else file_of(self.source)


class SharedConnection:
    """One way to the product for a whole conversation."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.by, self.library = settings, caller("mcp"), library_for(settings)
        self._stack = AsyncExitStack()
        self._open: Connection | None = None
        self._opening = asyncio.Lock()

    def has_data(self) -> bool:
        return has_data(self.settings)

    async def connection(self) -> Connection:
        async with self._opening:
            if self._open is None:
                if self.settings.server is not None:
                    self._open = await self._stack.enter_async_context(connect_server(self.settings))
                else:
                    engine = await self._stack.enter_async_context(open_engine(self.settings))
                    self._open = Connection(engine.front, self.settings, embedded=engine)
        return self._open

    async def for_running(self) -> Front:
        """Where executions run: here they go on until the conversation ends."""
        return (await self.connection()).front

    @asynccontextmanager
    async def for_reading(self) -> AsyncIterator[Front]:
        if self._open is not None or self.settings.server is not None:
            yield await self.for_running()
            return
        async with connect(self.settings) as connection:
            yield connection.front

    def source(self, playbook: str | None, file: str | None) -> LocalPlaybook:
        if (playbook is None) == (file is None):
            raise RequestError("give one of playbook, its text, and file, its name")
        source = read_one(file) if file is not None else Source(TEXT, (playbook or "").encode())
        return LocalPlaybook(source, self)

    async def run_tests(self, path: str) -> Message:
        """Run tests in a process of their own: each has a clock of its own, too."""
        words = [sys.executable, "-m", "noetl.cli", "test", "--json", path]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        try:
            printed, errors = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode not in (0, 1):
            raise RequestError(errors.decode(errors="replace").strip()[:2000] or "the tests could not be run")
        report: Message = msgspec.json.decode(printed)
        return report

    def stopping(self) -> bool:
        return False  # the end of the input ends the conversation, and with it what is under way

    def trouble(self) -> str | None:
        embedded = None if self._open is None else self._open.embedded
        return None if embedded is None or embedded.trouble is None else str(embedded.trouble)

    async def close(self) -> None:
        """Let tasks that run here finish; what is not over can be resumed."""
        if self._open is not None and self._open.embedded is not None:
            await self._open.embedded.pool.drain()
        await self._stack.aclose()
