"""`noetl execution logs`: what the tasks of an execution printed."""

import click
import msgspec

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, note
from noetl.ports.answers import LogLine


@click.command("logs", cls=Command)
@options.execution
@click.option("--step", metavar="S", help="Only tasks of a step.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line of the log.")
async def command(execution: str, step: str | None, as_json: bool) -> None:
    """Print what tasks wrote to their output: each line with its step, task and iteration.

    Of an execution that went on as another also what came then.
    """
    from noetl.cli.commands.execution.pages import chain, lines
    from noetl.cli.connection.connection import connect_execution

    count = 0
    async with connect_execution(execution) as (connection, execution_id):
        async for member in chain(connection.front, execution_id):
            async for line in lines(connection.front, member, step):
                count += 1
                emit(msgspec.json.encode(line).decode() if as_json else _log_line(line))
    if not count:
        note("no task printed anything")


def _log_line(line: LogLine) -> str:
    place = f"{line['step']}{line['iteration'] or ''}/{line['task']}"
    attempt_words = f" attempt {line['attempt']}" if (line["attempt"] or 1) > 1 else ""
    return f"{line['ts'][11:23]}  {place}{attempt_words}  {line['text']}"
