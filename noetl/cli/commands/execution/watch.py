"""`noetl execution watch`: follow an execution that a server or another process runs."""

from typing import Unpack

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("watch", cls=Command)
@options.execution
@options.output_options
async def command(execution: str, **choices: Unpack[options.OutputChoices]) -> int:
    """Follow an execution until it is over or paused, as `noetl run` shows it; the exit code is the run's.

    Ctrl-C stops watching; the execution goes on.
    """
    from noetl.cli.running import run_flow

    return await run_flow.follow(run_flow.Viewer(choices), execution)
