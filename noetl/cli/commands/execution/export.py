"""`noetl execution export`: the whole log in a format that other programs read."""

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TextIO

import click
import msgspec

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit
from noetl.errors import RequestError

if TYPE_CHECKING:
    from noetl.core.event import EventEnvelope


@click.command("export", cls=Command)
@options.execution
@click.option(
    "--format", "as_format", type=click.Choice(["jsonl", "xes"]), default="jsonl", show_default=True,
    help="JSON lines (one event envelope each), or XES for process mining.",
)  # fmt: skip
@click.option("--json", "as_format", flag_value="jsonl", help="The same as --format jsonl.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write here instead of to stdout.")
async def command(execution: str, as_format: str, output: str | None) -> None:
    """Export the log of an execution."""
    from noetl.cli.commands.execution.pages import envelopes
    from noetl.cli.connection.connection import connect_execution

    async with connect_execution(execution) as (connection, execution_id):
        path = (await connection.front.execution(execution_id))["playbook"]["path"]
        events = envelopes(connection.front, execution_id)
        if as_format == "xes":
            from noetl.cli.formats.xes import document

            pieces = document(execution_id, path, events)
        else:
            pieces = _lines(events)
        await _write(pieces, output)


async def _lines(events: AsyncIterator["EventEnvelope"]) -> AsyncIterator[str]:
    async for event in events:
        yield msgspec.json.encode(event).decode() + "\n"


async def _write(pieces: AsyncIterator[str], output: str | None) -> None:
    if output is None:
        async for piece in pieces:
            emit(piece.removesuffix("\n"))
        return
    with _file(output) as file:
        async for piece in pieces:
            file.write(piece)


def _file(name: str) -> AbstractContextManager[TextIO]:
    try:
        return nullcontext(sys.stdout) if name == "-" else open(name, "w", encoding="utf-8")
    except OSError as error:
        message = f"cannot write '{name}': {error.strerror}"
        raise RequestError(message, hint="choose another place with -o") from error
