"""`noetl execution resume`: go on with an execution that was interrupted, crashed or paused."""

from typing import Unpack

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("resume", cls=Command)
@options.execution
@options.output_options
@options.timeout
async def command(execution: str, **choices: Unpack[options.OutputChoices]) -> int:
    """Go on with an execution in this process, from where it stood; shows progress like `noetl run`.

    One that is paused but still has its process, or a server, is resumed there and watched from here.
    """
    from noetl.cli.running import run_flow

    return await run_flow.resume(run_flow.Viewer(choices), execution)
