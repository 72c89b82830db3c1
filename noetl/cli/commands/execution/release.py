"""`noetl execution release`: try again with an execution that is stuck."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import emit, note


@click.command("release")
@options.execution
@options.as_json
def command(execution: str, as_json: bool) -> None:
    """Let an execution that is stuck go on: after an upgrade, say, or when its log can be read again.

    On a server it goes on there. Without one, its log is read and it is left for `noetl execution resume`.
    One that still cannot be decided stays stuck.
    """
    asyncio.run(_release(execution, as_json))


async def _release(execution: str, as_json: bool) -> None:
    from noetl.cli.connection.connection import connect, find_execution
    from noetl.cli.running.run_summary import indented_json

    async with connect() as connection:
        execution_id = await find_execution(connection.front, execution)
        await connection.front.release(execution_id, caller())
        status = await connection.front.status(execution_id)
    if as_json:
        emit(indented_json({"execution_id": execution_id, "status": status}))
        return
    note(f"released {execution_id}")
    if connection.embedded is not None:
        note(f"go on with: noetl execution resume {execution_id}")
