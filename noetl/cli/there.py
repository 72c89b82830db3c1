"""Executions that run elsewhere, on a server above all: started, gone on with, followed from here."""

from noetl.cli import following
from noetl.cli.reach import Reached
from noetl.cli.running import EXIT_OF, Watch, Wish, end
from noetl.core.message import Control
from noetl.ports.front import Ask


async def run(reached: Reached, ask: Ask, wish: Wish, watch: Watch) -> int:
    """Have a server run a playbook; the exit code."""
    started = await reached.front.start(ask)
    if not wish.detach:
        return await follow(reached, started.execution_id, started.path, watch, wish.timeout_s)
    result = await reached.front.execution(started.execution_id)
    watch.detached(result)
    return EXIT_OF.get(result["status"], 0)


async def resume(reached: Reached, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
    """Let a paused execution go on, and follow it; the exit code."""
    await reached.front.control(execution_id, Control("resume"))
    path = (await reached.front.execution(execution_id))["playbook"]["path"]
    return await follow(reached, execution_id, path, watch, timeout_s)


async def follow(
    reached: Reached, execution_id: str, path: str, watch: Watch, timeout_s: float | None = None
) -> int:
    """Show an execution from its first event on; the exit code."""
    watch.began(execution_id, path, reached.page(execution_id))
    result, left = await following.along(reached, execution_id, watch, timeout_s)
    code = await end(reached, result, watch)
    return EXIT_OF[following.INTERRUPTED] if left else code
