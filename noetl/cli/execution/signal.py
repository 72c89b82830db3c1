"""`noetl execution signal`: give a waiting task the signal or approval it waits for."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.render import note


@click.command("signal")
@options.execution
@click.argument("name")
@click.option("--payload", metavar="YAML", help="What the waiting task gets as its data.")
def command(execution: str, name: str, payload: str | None) -> None:
    """Send the signal NAME to an execution; it is kept until a task waits for it."""
    asyncio.run(_signal(execution, name, payload))


async def _signal(execution: str, name: str, payload: str | None) -> None:
    from noetl.cli.execution.control import tell
    from noetl.cli.payload import read_value
    from noetl.core.message import Control

    value = None if payload is None else read_value(payload, "--payload")
    execution_id = await tell(execution, Control("signal", name=name, payload=value))
    note(f"signalled {execution_id}: {name}")
