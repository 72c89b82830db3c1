"""`noetl execution cancel`: end an execution, and the playbooks it waits for."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller


@click.command("cancel")
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
@options.as_json
def command(execution: str, why: str | None, as_json: bool) -> None:
    """Cancel an execution: tasks that run are stopped, nothing more is started."""
    asyncio.run(_cancel(execution, why, as_json))


async def _cancel(execution: str, why: str | None, as_json: bool) -> None:
    from noetl.cli.commands.execution.control import tell
    from noetl.core.message import Control

    await tell(execution, Control("cancel", caller(), why), "cancelled {id}", as_json=as_json)
