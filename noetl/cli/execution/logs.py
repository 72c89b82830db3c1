"""`noetl execution logs`: what the tasks of an execution printed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import click
import msgspec

from noetl.cli import options
from noetl.cli.render import emit, note
from noetl.wiring.embedded import Embedded


@click.command("logs")
@options.execution
@click.option("--step", metavar="S", help="Only tasks of a step.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line of the log.")
def command(execution: str, step: str | None, as_json: bool) -> None:
    """Print what tasks wrote to their output: each line with its step, task and iteration."""
    asyncio.run(_print(execution, step, as_json))


async def _print(execution: str, step: str | None, as_json: bool) -> None:
    from noetl.cli import local

    count = 0
    async with local.consulted() as made:
        execution_id = await local.find(made, execution)
        async for line in _lines(made, execution_id, step):
            count += 1
            emit(msgspec.json.encode(line).decode() if as_json else _told(line))
    if not count:
        note("no task printed anything")


async def _lines(made: Embedded, execution_id: str, step: str | None) -> AsyncIterator[dict[str, Any]]:
    from noetl.control.history import events
    from noetl.core.event import iso, step_of

    async for seq, event in events(made.store, execution_id):
        logs = (event.data or {}).get("logs") if event.name == "task.done" else None
        own = step_of(event.run) if event.run else None
        for text in logs or () if step in (None, own) else ():
            place = {"step": own, "task": event.label, "iteration": event.at, "attempt": event.attempt}
            yield {"seq": seq, "ts": iso(event.ts), **place, "text": text}


def _told(line: dict[str, Any]) -> str:
    place = f"{line['step']}{line['iteration'] or ''}/{line['task']}"
    again = f" attempt {line['attempt']}" if (line["attempt"] or 1) > 1 else ""
    return f"{line['ts'][11:23]}  {place}{again}  {line['text']}"
