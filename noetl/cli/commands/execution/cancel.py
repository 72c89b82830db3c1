"""`noetl execution cancel`: end an execution, and the playbooks it waits for."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("cancel", cls=Command)
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
@options.as_json
async def command(execution: str, why: str | None, as_json: bool) -> None:
    """Cancel an execution: tasks that run are stopped, nothing more is started."""
    from noetl.cli.commands.execution.control import send

    await send(execution, "cancel", "cancelled {id}", why=why, as_json=as_json)
