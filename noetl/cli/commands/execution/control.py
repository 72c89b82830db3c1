"""Telling an execution something: one control message, brought to whoever runs it."""

from noetl.cli.terminal import emit, note
from noetl.core.message import Control


async def tell(name: str, control: Control, text: str, *, as_json: bool) -> None:
    """Have it decided on, and say so; `text` may name the execution as {id}."""
    from noetl.cli.connection.connection import connect, find_execution
    from noetl.cli.running.run_summary import indented_json

    async with connect() as connection:
        execution_id = await find_execution(connection.front, name)
        await connection.front.control(execution_id, control)
        if not as_json:
            note(text.replace("{id}", execution_id))
            return
        status = (await connection.front.execution(execution_id))["status"]
        emit(indented_json({"execution_id": execution_id, "status": status}))
