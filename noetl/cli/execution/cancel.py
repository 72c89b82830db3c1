"""`noetl execution cancel`: end an execution, and the playbooks it waits for."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.render import note


@click.command("cancel")
@options.execution
@click.option("--why", metavar="TEXT", help="The reason, kept in the log.")
def command(execution: str, why: str | None) -> None:
    """Cancel an execution: tasks that run are stopped, nothing more is started."""
    asyncio.run(_cancel(execution, why))


async def _cancel(execution: str, why: str | None) -> None:
    from noetl.cli.execution.control import tell
    from noetl.core.message import Control

    execution_id = await tell(execution, Control("cancel", why=why))
    note(f"cancelled {execution_id}")
