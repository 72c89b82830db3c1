"""`noetl execution pause`: schedule nothing more until the execution is resumed."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("pause", cls=Command)
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
@options.as_json
async def command(execution: str, why: str | None, as_json: bool) -> None:
    """Pause an execution: tasks that run are finished, nothing more is started."""
    from noetl.cli.commands.execution.control import send

    message = f"paused {{id}}; go on with: noetl execution resume {{id}}{options.server_flag()}"
    await send(execution, "pause", message, why=why, as_json=as_json)
