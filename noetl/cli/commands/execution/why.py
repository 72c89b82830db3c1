"""`noetl execution why`: an execution explained in words, from its log alone."""

import sys

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import Paint, colourful, emit, emit_json, note, width_of
from noetl.ports.answers import Reason, WhyAnswer


@click.command("why", cls=Command)
@options.execution
@click.option("--step", metavar="S", help="Only what concerns one step, or why it never ran.")
@options.as_json
async def command(execution: str, step: str | None, as_json: bool) -> None:
    """Say why an execution went as it did: why arcs were taken or not, tokens held or refused, tasks retried.

    Every sentence has the number of the event that says so and the values the decision saw.
    """
    from noetl.cli.connection.connection import connect_execution
    from noetl.cli.running.no_worker_notice import unserved_lines
    from noetl.cli.running.run_summary import next_lines

    async with connect_execution(execution) as (connection, execution_id):
        explanation = await connection.front.why(execution_id, step)
        result = None if as_json else await connection.front.execution(execution_id)
        live = result is not None and result["status"] == "running"
        interrupted = live and await connection.interrupted(execution_id)
        served = not live or connection.url is None
        unserved = [] if served else await unserved_lines(connection.front, execution_id)
    if result is None:
        emit_json(explanation)
        return
    _tell(explanation)
    flawed = [reason["step"] for reason in explanation["reasons"] if reason["facts"].get("failed_iterations")]
    steps = [name for name in dict.fromkeys(flawed) if name is not None]
    more = [] if interrupted else next_lines(result, Paint(colourful(sys.stderr)), steps)
    for line in [*unserved, *more]:
        note(line)


def _tell(explanation: WhyAnswer) -> None:
    from noetl.cli.running.run_summary import detail_lines

    paint = Paint(colourful(sys.stdout))
    emit(f"execution {explanation['execution_id']}: {paint(explanation['summary'], 'strong')}")
    width = width_of(reason["step"] or "" for reason in explanation["reasons"])
    printed: list[tuple[str, list[str]]] = []  # a task and its step fail with one error
    for reason in explanation["reasons"]:
        emit(_line(reason, width, paint))
        error = reason["facts"].get("error")
        for line in detail_lines(error if isinstance(error, dict) else None, " " * (width + 10), printed):
            emit(line)
    if not explanation["reasons"]:
        note("the log says nothing about it")


def _line(reason: Reason, width: int, paint: Paint) -> str:
    seq = paint(f"{reason['seq']:>6}", "faint")
    place = paint(f"{reason['step'] or '':<{width}}", "info")
    return f"{seq}  {place}  {reason['text']}"
