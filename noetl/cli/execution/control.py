"""Telling an execution something: directly when nobody runs it, else through the process that does."""

import asyncio
from contextlib import suppress

from noetl.cli import following
from noetl.control.history import events
from noetl.control.rows import encode_message
from noetl.core.message import Control
from noetl.errors import Conflict
from noetl.wiring.embedded import Embedded


async def tell(made: Embedded, execution_id: str, message: Control, proof: str) -> None:
    """Have a message decided on; returns when the log has the event that proves it."""
    summary = await made.store.summary(execution_id)
    if summary.ended_at is not None:
        raise Conflict(f"execution {execution_id} is already {summary.status}")
    if message.what == "pause" and summary.status == "paused":
        raise Conflict(f"execution {execution_id} is already paused")
    end = await made.store.end(execution_id)
    if not await made.store.owned(execution_id):
        with suppress(Conflict):  # another process took it up meanwhile
            return await _decide(made, execution_id, message)
    await made.store.post(execution_id, encode_message(message))
    return await _proven(made, execution_id, message, proof, end)


async def _decide(made: Embedded, execution_id: str, message: Control) -> None:
    await made.pool.drain()  # what follows from it is done by whoever goes on with the execution
    answer = await made.engine.send(execution_id, message)
    if not answer.accepted:
        raise Conflict(answer.why)


async def _proven(made: Embedded, execution_id: str, message: Control, proof: str, end: int) -> None:
    """Wait for the process that runs the execution to take the message."""
    while True:
        alive = await made.store.owned(execution_id)
        summary = await made.store.summary(execution_id)
        async for seq, event in events(made.store, execution_id, end + 1):
            end = seq
            if event.name == proof:
                return
        if summary.ended_at is not None:
            raise Conflict(f"execution {execution_id} is {summary.status}; it ended before it could be told")
        if not alive:
            told = f"the process that ran execution {execution_id} ended before it was told to {message.what}"
            raise Conflict(told, hint=f"it will be once you go on: noetl execution resume {execution_id}")
        await asyncio.sleep(following.POLL_S)
