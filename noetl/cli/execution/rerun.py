"""`noetl execution rerun`: an ended execution again from any step, perhaps with a changed playbook."""

import asyncio
from typing import Any

import click

from noetl.cli import options


@click.command("rerun")
@options.execution
@click.option(
    "--from", "start", required=True, metavar="STEP", help="The step, or one run of it as in 'load.2'."
)
@click.option("--playbook", metavar="FILE", help="Go on with this playbook instead.")
@options.showing
@options.timeout
def command(execution: str, start: str, playbook: str | None, **given: Any) -> int:
    """Run an ended execution again from a step on, as a new execution that keeps what does not depend on it.

    A step that ran often begins again with its first run. What had failed or was cut off runs again too.
    """
    return asyncio.run(_rerun(execution, start, playbook, given))


async def _rerun(execution: str, start: str, playbook: str | None, given: dict[str, Any]) -> int:
    from noetl.cli import local, running
    from noetl.cli.sources import read_one
    from noetl.control.again import rerun
    from noetl.errors import PlaybookError

    watch = running.watcher(**options.shown(given))
    source = read_one(playbook) if playbook is not None else None
    async with local.opened(local.settings()) as made:
        execution_id = await local.find(made, execution)
        try:
            text = running.text_of(source) if source is not None else None
            request = await rerun(made.catalog, made.payloads, execution_id, start, text)
        except PlaybookError as error:
            if source is None:
                raise
            watch.rejected(source, error)
            return running.REJECTED
        return await running.again(made, request, watch, given["timeout"])
