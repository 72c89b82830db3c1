"""`noetl execution pause`: schedule nothing more until the execution is resumed."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller


@click.command("pause")
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
@options.as_json
def command(execution: str, why: str | None, as_json: bool) -> None:
    """Pause an execution: tasks that run are finished, nothing more is started."""
    asyncio.run(_pause(execution, why, as_json))


async def _pause(execution: str, why: str | None, as_json: bool) -> None:
    from noetl.cli.commands.execution.control import tell
    from noetl.core.message import Control

    message = f"paused {{id}}; go on with: noetl execution resume {{id}}{options.server_flag()}"
    await tell(execution, Control("pause", caller(), why), message, as_json=as_json)
