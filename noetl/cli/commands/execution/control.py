"""Telling an execution something: one wish, brought to whoever runs it."""

from noetl.cli.terminal import emit, note
from noetl.core.message import Control


async def tell(name: str, wish: Control, told: str, *, as_json: bool) -> None:
    """Have a wish decided on, and say so; `told` may name the execution as {id}."""
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import pretty

    async with connection.reached() as reached:
        execution_id = await connection.find(reached.front, name)
        await reached.front.control(execution_id, wish)
        if not as_json:
            note(told.replace("{id}", execution_id))
            return
        status = (await reached.front.execution(execution_id))["status"]
        emit(pretty({"execution_id": execution_id, "status": status}))
