"""`noetl execution watch`: follow an execution that another process runs."""

import asyncio
from typing import Any

import click

from noetl.cli import options


@click.command("watch")
@options.execution
@options.showing
def command(execution: str, **given: Any) -> int:
    """Follow an execution until it is over or paused, as `noetl run` shows it; the exit code is the run's.

    Ctrl-C stops watching; the execution goes on.
    """
    return asyncio.run(_watch(execution, given))


async def _watch(execution: str, given: dict[str, Any]) -> int:
    from noetl.cli import local, running

    watch = running.watcher(**options.shown(given))
    async with local.consulted() as made:
        return await running.follow_other(made, await local.find(made, execution), watch)
