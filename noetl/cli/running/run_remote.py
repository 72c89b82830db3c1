"""Executions that run elsewhere, on a server above all: started, gone on with, followed from here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Connection
from noetl.cli.playbooks.bundle import bundle_files, find_in_project
from noetl.cli.playbooks.playbook_text import text_of
from noetl.cli.playbooks.sources import Source
from noetl.cli.running import follower, no_worker_notice
from noetl.cli.running.line_tail import tailing
from noetl.cli.running.runner import EXIT_OF, Start, Watch, exit_code
from noetl.core.message import Control
from noetl.errors import NotFound
from noetl.ports.front import Ask, Front, Started


@dataclass(frozen=True, slots=True)
class RemoteRunner:
    """A server that runs executions."""

    connection: Connection

    @property
    def front(self) -> Front:
        return self.connection.front

    async def text(self, source: Source) -> str:
        """A playbook's text without files: what it calls is registered, and named by its path."""
        return await bundle_files(self.front, source, text_of(source), self.connection.settings.project)

    async def start(self, ask: Ask, source: Source | None) -> Started:
        """Start a playbook; a path that the server does not know may be that of a file of the project."""
        if source is None:
            try:
                return await self.front.start(ask)
            except NotFound:
                if ask.version is not None:  # a file has none
                    raise
                source = find_in_project(self.connection.settings.project, ask.path or "")
                if source is None:
                    raise
            ask.path = None
        ask.text = await self.text(source)
        return await self.front.start(ask)

    async def follow(self, start: Start, watch: Watch, timeout_s: float | None) -> int:
        """Start an execution and show it to its end; the exit code."""
        started = await start()
        return await follow_elsewhere(self.connection, started.execution_id, started.path, watch, timeout_s)

    async def detach(self, start: Start, watch: Watch, timeout_s: float | None) -> int:
        """Start an execution, which the server goes on with anyhow; the exit code."""
        started = await start()
        result = await self.front.execution(started.execution_id)
        watch.detached(result)
        return EXIT_OF.get(result["status"], 0)

    async def resume(self, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
        """Let a paused execution go on, and show it to its end; the exit code."""
        await self.front.control(execution_id, Control("resume", by=caller()))
        path = (await self.front.execution(execution_id))["playbook"]["path"]
        return await follow_elsewhere(self.connection, execution_id, path, watch, timeout_s)


async def follow_elsewhere(
    connection: Connection, execution_id: str, path: str, watch: Watch, timeout_s: float | None = None
) -> int:
    """Show an execution that a server or another process runs, from its first event on; the exit code."""
    watch.began(execution_id, path, connection.page(execution_id))
    async with (
        _noticing_missing_workers(connection, execution_id, watch),
        tailing(connection.front, execution_id, watch),
    ):
        result, user_left = await follower.follow_remote(connection, execution_id, watch, timeout_s)
    code = exit_code(result, watch)
    return EXIT_OF[follower.INTERRUPTED] if user_left else code


@asynccontextmanager
async def _noticing_missing_workers(
    connection: Connection, execution_id: str, watch: Watch
) -> AsyncIterator[None]:
    """Meanwhile, tell when a server has nobody to run it; a process that runs its own has."""
    if connection.url is None:
        yield
        return
    notice = asyncio.create_task(no_worker_notice.watch_workers(connection.front, execution_id, watch))
    try:
        yield
    finally:
        notice.cancel()
