"""`noetl execution why`: an execution explained in words, from its log alone."""

import asyncio
import sys
from typing import Any

import click

from noetl.cli import options
from noetl.cli.terminal import Paint, colourful, emit, note


@click.command("why")
@options.execution
@click.option("--step", metavar="S", help="Only what concerns one step, or why it never ran.")
@options.as_json
def command(execution: str, step: str | None, as_json: bool) -> None:
    """Say why an execution went as it did: why arcs were taken or not, tokens held or refused, tasks retried.

    Every sentence has the number of the event that says so and the values the decision saw.
    """
    asyncio.run(_why(execution, step, as_json))


async def _why(execution: str, step: str | None, as_json: bool) -> None:
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import pretty

    async with connection.reached() as reached:
        found = await reached.front.why(await connection.find(reached.front, execution), step)
    if as_json:
        emit(pretty(found))
    else:
        _tell(found)


def _tell(found: dict[str, Any]) -> None:
    from noetl.cli.running.run_summary import detailed

    paint = Paint(colourful(sys.stdout))
    emit(f"execution {found['execution_id']}: {paint(found['summary'], 'strong')}")
    width = max((len(reason["step"] or "") for reason in found["reasons"]), default=0)
    told: list[tuple[str, list[str]]] = []  # a task and its step fail with one error
    for reason in found["reasons"]:
        emit(_line(reason, width, paint))
        for line in detailed(reason["facts"].get("error"), " " * (width + 10), told):
            emit(line)
    if not found["reasons"]:
        note("the log says nothing about it")


def _line(reason: dict[str, Any], width: int, paint: Paint) -> str:
    seq = paint(f"{reason['seq']:>6}", "faint")
    place = paint(f"{reason['step'] or '':<{width}}", "info")
    return f"{seq}  {place}  {reason['text']}"
