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
    from noetl.cli import local, running

    watch = running.watcher(**options.shown(given))
    return asyncio.run(running.retry(local.settings(), execution, step, watch, given["timeout"]))
