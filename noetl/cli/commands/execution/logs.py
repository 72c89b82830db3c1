"""`noetl execution logs`: what the tasks of an execution print."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import click
import msgspec

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, note
from noetl.core.values.lines import LEVELS
from noetl.ports.answers import LogLine

if TYPE_CHECKING:
    from noetl.ports.front import FindLines, Front


@click.command("logs", cls=Command)
@options.execution
@click.option("--follow", "-f", is_flag=True, help="Go on as lines are written, until the execution is over.")
@click.option("--children", is_flag=True, help="Also of executions that it started, and these.")
@click.option("--step", metavar="S", help="Only tasks of a step.")
@click.option("--task", metavar="T", help="Only one task of a step.")
@click.option(
    "--level", type=click.Choice(LEVELS), help="Only this level and worse ones; a line without one is info."
)
@click.option(
    "--grep", "text", metavar="TEXT", default="", help="Only lines with this text in them, in any case."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line of the log.")
async def command(
    execution: str,
    step: str | None,
    task: str | None,
    level: str | None,
    text: str,
    *,
    follow: bool,
    children: bool,
    as_json: bool,
) -> None:
    """Print what tasks wrote, line by line with time, step, task, iteration and level, and their errors.

    A line is there within a second after it was written. Of an execution that went on as another also what
    came then.
    """
    from noetl.cli.connection.connection import connect_execution
    from noetl.cli.formats.log_lines import LineFormat
    from noetl.ports.front import FindLines

    find, count = FindLines(step, task, level, text, children), 0
    async with connect_execution(execution) as (connection, execution_id):
        as_text = _json if as_json else LineFormat(execution_id)
        async for lines in _pages(connection.front, execution_id, find, live=follow):
            count += len(lines)
            emit("\n".join(map(as_text, lines)))
    if not count:
        every = f"no line matches; see all with: noetl execution logs {execution_id}{options.server_flag()}"
        note(every if step or task or level or text else "no task printed anything")


async def _pages(
    front: "Front", execution_id: str, find: "FindLines", *, live: bool
) -> AsyncIterator[list[LogLine]]:
    from contextlib import aclosing

    from noetl.cli.commands.execution.pages import chain

    async for member in chain(front, execution_id):
        async with aclosing(front.follow_logs(member, find, live=live)) as pages:
            async for page in pages:
                if page["items"]:
                    yield page["items"]


def _json(line: LogLine) -> str:
    return msgspec.json.encode(line).decode()
