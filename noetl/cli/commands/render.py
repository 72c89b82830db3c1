"""`noetl render`: a template evaluated against an execution as it was at one of its events."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.terminal import emit


@click.command("render")
@click.argument("expression", metavar="EXPR")
@click.option(
    "--at", "place", required=True, metavar="EXEC[:SEQ]", help="The execution, and the event; else its end."
)
@options.server
@options.as_json
def command(expression: str, place: str, as_json: bool) -> None:
    """Evaluate a template against an execution as it was after an event.

    EXPR is a template such as "{{ ctx.total }}", or only what stands between the braces. It reads `workload`,
    `ctx`, finished steps by name, and `event`; at an event that has an output also `output`.
    """
    asyncio.run(_render(expression, place, as_json))


async def _render(expression: str, place: str, as_json: bool) -> None:
    from noetl.cli.connection.connection import connect, find_execution
    from noetl.cli.running.run_summary import indented_json

    name, seq = _split(place)
    async with connect() as connection:
        execution_id = await find_execution(connection.front, name)
        value = await connection.front.evaluate(execution_id, expression, seq)
    emit(value if isinstance(value, str) and not as_json else indented_json(value))


def _split(place: str) -> tuple[str, int | None]:
    name, separator, number = place.partition(":")
    if not separator:
        return name, None
    if not number.isdecimal() or int(number) < 1:
        raise click.UsageError(
            f"--at takes EXEC or EXEC:SEQ, and SEQ counts from 1; '{number}' is no such number"
        )
    return name, int(number)
