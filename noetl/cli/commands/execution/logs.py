"""`noetl execution logs`: what the tasks of an execution printed."""

import asyncio

import click
import msgspec

from noetl.cli import options
from noetl.cli.terminal import emit, note
from noetl.ports.answers import LogLine


@click.command("logs")
@options.execution
@click.option("--step", metavar="S", help="Only tasks of a step.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line of the log.")
def command(execution: str, step: str | None, as_json: bool) -> None:
    """Print what tasks wrote to their output: each line with its step, task and iteration."""
    asyncio.run(_print(execution, step, as_json))


async def _print(execution: str, step: str | None, as_json: bool) -> None:
    from noetl.cli.commands.execution.pages import lines
    from noetl.cli.connection.connection import connect, find_execution

    count = 0
    async with connect() as connection:
        execution_id = await find_execution(connection.front, execution)
        async for line in lines(connection.front, execution_id, step):
            count += 1
            emit(msgspec.json.encode(line).decode() if as_json else _log_line(line))
    if not count:
        note("no task printed anything")


def _log_line(line: LogLine) -> str:
    place = f"{line['step']}{line['iteration'] or ''}/{line['task']}"
    attempt_words = f" attempt {line['attempt']}" if (line["attempt"] or 1) > 1 else ""
    return f"{line['ts'][11:23]}  {place}{attempt_words}  {line['text']}"
