"""`noetl execution watch`: follow an execution that a server or another process runs."""

import asyncio
from typing import Unpack

import click

from noetl.cli import options


@click.command("watch")
@options.execution
@options.output_options
def command(execution: str, **choices: Unpack[options.OutputChoices]) -> int:
    """Follow an execution until it is over or paused, as `noetl run` shows it; the exit code is the run's.

    Ctrl-C stops watching; the execution goes on.
    """
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.cli.running import run_flow

    watch = run_flow.make_watch(**options.output_format(choices))
    return asyncio.run(run_flow.follow(current_settings(), execution, watch))
