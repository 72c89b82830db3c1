"""Telling an execution something: one control message, brought to whoever runs it."""

from typing import Literal

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import connect_execution
from noetl.cli.terminal import emit_json, note
from noetl.core.message import Control
from noetl.json_value import Json


async def send(
    execution: str,
    action: Literal["cancel", "pause", "signal"],
    text: str,
    *,
    as_json: bool,
    why: str | None = None,
    name: str | None = None,
    payload: Json = None,
) -> None:
    """Have a message decided on, and say so; `text` may name the execution as {id}."""
    async with connect_execution(execution) as (connection, execution_id):
        await connection.front.control(execution_id, Control(action, caller(), why, name, payload))
        if not as_json:
            note(text.replace("{id}", execution_id))
            return
        status = (await connection.front.execution(execution_id))["status"]
        emit_json({"execution_id": execution_id, "status": status})
