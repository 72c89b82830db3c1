"""Executions that run elsewhere, on a server above all: started, gone on with, followed from here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Reached
from noetl.cli.playbooks.bundle import bundled, in_project
from noetl.cli.playbooks.sources import Source
from noetl.cli.running import follower, no_worker_notice
from noetl.cli.running.run_flow import EXIT_OF, Watch, Wish, end, text_of
from noetl.core.message import Control
from noetl.errors import NotFound
from noetl.ports.front import Ask, Started


async def run(reached: Reached, source: Source | None, ask: Ask, wish: Wish, watch: Watch) -> int:
    """Have a server run a playbook; the exit code."""
    started = await _start(reached, source, ask)
    if not wish.detach:
        return await follow(reached, started.execution_id, started.path, watch, wish.timeout_s)
    result = await reached.front.execution(started.execution_id)
    watch.detached(result)
    return EXIT_OF.get(result["status"], 0)


async def _start(reached: Reached, source: Source | None, ask: Ask) -> Started:
    """Ask for an execution; a path that the server does not know may be that of a file of the project."""
    if source is None:
        try:
            return await reached.front.start(ask)
        except NotFound:
            source = in_project(reached.settings.project, ask.path or "")
            if source is None:
                raise
        ask.text, ask.path = text_of(source), None
    ask.text = await bundled(reached.front, source, ask.text or "")
    return await reached.front.start(ask)


async def resume(reached: Reached, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
    """Let a paused execution go on, and follow it; the exit code."""
    await reached.front.control(execution_id, Control("resume", by=caller()))
    path = (await reached.front.execution(execution_id))["playbook"]["path"]
    return await follow(reached, execution_id, path, watch, timeout_s)


async def follow(
    reached: Reached, execution_id: str, path: str, watch: Watch, timeout_s: float | None = None
) -> int:
    """Show an execution from its first event on; the exit code."""
    watch.began(execution_id, path, reached.page(execution_id))
    async with _looked_after(reached, execution_id, watch):
        result, left = await follower.along(reached, execution_id, watch, timeout_s)
    code = await end(reached, result, watch)
    return EXIT_OF[follower.INTERRUPTED] if left else code


@asynccontextmanager
async def _looked_after(reached: Reached, execution_id: str, watch: Watch) -> AsyncIterator[None]:
    """Meanwhile, tell when a server has nobody to run it; a process that runs its own has."""
    if reached.url is None:
        yield
        return
    looking = asyncio.create_task(no_worker_notice.tell(reached.front, execution_id, watch))
    try:
        yield
    finally:
        looking.cancel()
