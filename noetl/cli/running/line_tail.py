"""What tasks print, shown beside a run while it goes on: `-v`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from noetl.cli.commands.execution.pages import chain
from noetl.cli.formats.log_lines import LineFormat
from noetl.cli.running.runner import Watch
from noetl.ports.front import FindLines, Front

LAST_LINES_S = 3.0  # so long the lines of a run that is over are waited for; of one that rests, less
RESTING_S = 1.0


@asynccontextmanager
async def tailing(front: Front, execution_id: str, watch: Watch) -> AsyncIterator[None]:
    """Meanwhile, show what tasks print, those of children too, if that is wanted."""
    if not watch.verbose:
        yield
        return
    tail = asyncio.create_task(_tail(front, execution_id, watch))
    try:
        yield
        over = (await front.execution(execution_id))["ended_at"] is not None
        await asyncio.wait({tail}, timeout=LAST_LINES_S if over else RESTING_S)
    finally:
        tail.cancel()
        await asyncio.gather(tail, return_exceptions=True)


async def _tail(front: Front, execution_id: str, watch: Watch) -> None:
    as_text, find = LineFormat(execution_id, sys.stderr), FindLines(children=True)
    async for member in chain(front, execution_id):
        async with aclosing(front.follow_logs(member, find)) as pages:
            async for page in pages:
                if page["items"]:
                    watch.announce("\n".join(map(as_text, page["items"])))
