"""`noetl execution signal`: give a waiting task the signal or approval it waits for."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command


@click.command("signal", cls=Command)
@options.execution
@click.argument("name")
@click.option("--payload", metavar="YAML", help="What the waiting task gets as its data.")
@options.as_json
async def command(execution: str, name: str, payload: str | None, as_json: bool) -> None:
    """Send the signal NAME to an execution; it is kept until a task waits for it."""
    from noetl.cli.commands.execution.control import send
    from noetl.cli.running.run_input import read_value

    value = None if payload is None else read_value(payload, "--payload")
    await send(execution, "signal", f"signalled {{id}}: {name}", name=name, payload=value, as_json=as_json)
