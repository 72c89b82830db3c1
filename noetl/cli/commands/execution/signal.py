"""`noetl execution signal`: give a waiting task the signal or approval it waits for."""

from typing import TYPE_CHECKING

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.formats.text import printable
from noetl.cli.terminal import note

if TYPE_CHECKING:
    from noetl.ports.front import Front

NAMED = 5  # of the signals that are waited for
WAIT_S = 1.0  # to be told of the last of a chain


@click.command("signal", cls=Command)
@options.execution
@click.argument("name")
@click.option("--payload", metavar="YAML", help="What the waiting task gets as its data.")
@options.as_json
async def command(execution: str, name: str, payload: str | None, as_json: bool) -> None:
    """Send the signal NAME to an execution; it is kept until a task waits for it."""
    from noetl.cli.commands.execution.control import send
    from noetl.cli.connection.connection import connect_execution
    from noetl.cli.running.run_input import read_value

    value = None if payload is None else read_value(payload, "--payload")
    async with connect_execution(execution) as (connection, execution_id):
        waited = await _waited_for(connection.front, execution_id)
    await send(execution_id, "signal", f"signalled {{id}}: {name}", name=name, payload=value, as_json=as_json)
    if waited is not None and name not in {*waited, *waited.values()} and not as_json:
        others = f"; it waits for: {', '.join(map(printable, list(waited)[:NAMED]))}" if waited else ""
        note(f"nothing waits for {printable(name)} yet, so it is kept{others}")


async def _waited_for(front: "Front", execution_id: str) -> dict[str, str | None] | None:
    """The signals that are waited for, each with the text of its approval; None where that cannot be told."""
    from noetl.errors import NoetlError

    try:
        standing = await front.execution(execution_id)
        if standing["continued_as"] is not None:  # the last of them is what runs
            standing = await front.execution(execution_id, wait_s=WAIT_S)
        runs = (await front.state(standing["execution_id"]))["runs"]
    except NoetlError:  # it is stuck, say; the signal itself says what is wrong
        return None
    waits = [wait["for"] for run in runs for wait in run["waiting"]]
    return {wait["signal"]: wait.get("approval") for wait in waits if "signal" in wait}
