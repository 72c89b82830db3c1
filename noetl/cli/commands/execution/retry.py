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
    from noetl.cli.connection import embedded_engine
    from noetl.cli.running import run_flow

    watch = run_flow.watcher(**options.shown(given))
    return asyncio.run(run_flow.retry(embedded_engine.settings(), execution, step, watch, given["timeout"]))
