"""`noetl render`: a template evaluated against an execution as it was at one of its events."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, indented_json


@click.command("render", cls=Command)
@click.argument("expression", metavar="EXPR")
@click.option(
    "--at", "place", required=True, metavar="EXEC[:SEQ]", help="The execution, and the event; else its end."
)
@options.server
@options.as_json
async def command(expression: str, place: str, as_json: bool) -> None:
    """Evaluate a template against an execution as it was after an event.

    EXPR is a template such as "{{ ctx.total }}", or only what stands between the braces. It reads `workload`,
    `ctx`, finished steps by name, and `event`; at an event that has an output also `output`.
    """
    from noetl.cli.connection.connection import connect_execution

    name, seq = _split(place)
    async with connect_execution(name) as (connection, execution_id):
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
