"""`noetl execution retry`: an ended execution again, from what failed."""

import asyncio
from typing import Unpack

import click

from noetl.cli import options


@click.command("retry")
@options.execution
@click.option(
    "--step", metavar="S", help="Also this step, whose failure was taken by an arc or left by its loop."
)
@options.output_options
@options.timeout
def command(execution: str, step: str | None, **choices: Unpack[options.OutputChoices]) -> int:
    """Run a failed or cancelled execution again from what failed: a new one that keeps what succeeded.

    Of a loop only the iterations that did not end well run again.
    """
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.cli.running import run_flow

    watch = run_flow.make_watch(**options.output_format(choices))
    return asyncio.run(run_flow.retry(current_settings(), execution, step, watch, choices["timeout"]))
