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
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import pretty

    async with connection.reached() as reached:
        execution_id = await connection.find(reached.front, execution)
        await reached.front.release(execution_id, caller())
        status = await reached.front.status(execution_id)
    if as_json:
        emit(pretty({"execution_id": execution_id, "status": status}))
        return
    note(f"released {execution_id}")
    if reached.made is not None:
        note(f"go on with: noetl execution resume {execution_id}")
