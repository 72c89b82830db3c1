"""`noetl execution retry`: an ended execution again, from what failed."""

import asyncio
from typing import Any

import click

from noetl.cli import options


@click.command("retry")
@options.execution
@click.option(
    "--step", metavar="S", help="Also this step, whose failure was taken by an arc or left by its loop."
)
@options.showing
@options.timeout
def command(execution: str, step: str | None, **given: Any) -> int:
    """Run a failed or cancelled execution again from what failed: a new one that keeps what succeeded.

    Of a loop only the iterations that did not end well run again.
    """
    return asyncio.run(_retry(execution, step, given))


async def _retry(execution: str, step: str | None, given: dict[str, Any]) -> int:
    from noetl.cli import local, running
    from noetl.control.again import retry

    watch = running.watcher(**options.shown(given))
    async with local.opened(local.settings()) as made:
        execution_id = await local.find(made, execution)
        request = await retry(made.catalog, made.payloads, execution_id, step)
        return await running.again(made, request, watch, given["timeout"])
