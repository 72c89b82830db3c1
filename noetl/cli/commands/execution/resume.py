"""`noetl execution resume`: go on with an execution that was interrupted, crashed or paused."""

import asyncio
from typing import Unpack

import click

from noetl.cli import options


@click.command("resume")
@options.execution
@options.output_options
@options.timeout
def command(execution: str, **choices: Unpack[options.OutputChoices]) -> int:
    """Go on with an execution in this process, from where it stood; shows progress like `noetl run`.

    One that is paused but still has its process, or a server, is resumed there and watched from here.
    """
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.cli.running import run_flow

    watch = run_flow.make_watch(**options.output_format(choices))
    return asyncio.run(run_flow.resume(current_settings(), execution, watch, choices["timeout"]))
