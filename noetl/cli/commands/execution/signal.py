"""`noetl execution signal`: give a waiting task the signal or approval it waits for."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller


@click.command("signal")
@options.execution
@click.argument("name")
@click.option("--payload", metavar="YAML", help="What the waiting task gets as its data.")
@options.as_json
def command(execution: str, name: str, payload: str | None, as_json: bool) -> None:
    """Send the signal NAME to an execution; it is kept until a task waits for it."""
    asyncio.run(_signal(execution, name, payload, as_json))


async def _signal(execution: str, name: str, payload: str | None, as_json: bool) -> None:
    from noetl.cli.commands.execution.control import tell
    from noetl.cli.running.run_input import read_value
    from noetl.core.message import Control

    value = None if payload is None else read_value(payload, "--payload")
    control = Control("signal", caller(), name=name, payload=value)
    await tell(execution, control, f"signalled {{id}}: {name}", as_json=as_json)
