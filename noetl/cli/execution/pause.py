"""`noetl execution pause`: schedule nothing more until the execution is resumed."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.render import note


@click.command("pause")
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
def command(execution: str, why: str | None) -> None:
    """Pause an execution: tasks that run are finished, nothing more is started."""
    asyncio.run(_pause(execution, why))


async def _pause(execution: str, why: str | None) -> None:
    from noetl.cli.execution.control import tell
    from noetl.core.message import Control

    execution_id = await tell(execution, Control("pause", why=why))
    note(f"paused {execution_id}; go on with: noetl execution resume {execution_id}")
