"""`noetl execution release`: try again with an execution that is stuck."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import emit_json, note


@click.command("release", cls=Command)
@options.execution
@options.as_json
async def command(execution: str, as_json: bool) -> None:
    """Let an execution that is stuck go on: after an upgrade, say, or when its log can be read again.

    On a server it goes on there. Without one, its log is read and it is left for `noetl execution resume`.
    One that still cannot be decided stays stuck.
    """
    from noetl.cli.connection.connection import connect_execution

    async with connect_execution(execution) as (connection, execution_id):
        await connection.front.release(execution_id, caller())
        status = await connection.front.status(execution_id)
    if as_json:
        emit_json({"execution_id": execution_id, "status": status})
        return
    note(f"released {execution_id}")
    if connection.embedded is not None:
        note(f"go on with: noetl execution resume {execution_id}")
