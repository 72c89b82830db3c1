"""`noetl execution rerun`: an ended execution again from any step, perhaps with a changed playbook."""

from typing import Unpack

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.playbooks.sources import read_one


@click.command("rerun", cls=Command)
@options.execution
@click.option(
    "--from", "start", required=True, metavar="STEP", help="The step, or one run of it as in 'load.2'."
)
@click.option("--playbook", metavar="FILE", type=click.Path(), help="Go on with this playbook instead.")
@options.output_options
@options.timeout
async def command(
    execution: str, start: str, playbook: str | None, **choices: Unpack[options.OutputChoices]
) -> int:
    """Run an ended execution again from a step on, as a new execution that keeps what does not depend on it.

    A step that ran often begins again with its first run. What had failed or was cut off runs again too.
    """
    from noetl.cli.running import run_flow

    source = read_one(playbook) if playbook is not None else None
    return await run_flow.rerun(run_flow.Viewer(choices), execution, start, source)
