"""`noetl execution retry`: an ended execution again, from what failed."""

from typing import Unpack

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("retry", cls=Command)
@options.execution
@click.option(
    "--step", metavar="S", help="Also this step, whose failure was taken by an arc or left by its loop."
)
@options.output_options
@options.timeout
async def command(execution: str, step: str | None, **choices: Unpack[options.OutputChoices]) -> int:
    """Run a failed or cancelled execution again from what failed: a new one that keeps what succeeded.

    Of a loop only the iterations that did not end well run again.
    """
    from noetl.cli.running import run_flow

    return await run_flow.retry(run_flow.Viewer(choices), execution, step)
