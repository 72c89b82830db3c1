"""`noetl execution events`: what happened, in order."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, note

if TYPE_CHECKING:
    from noetl.core.event import EventEnvelope


@click.command("events", cls=Command)
@options.execution
@click.option("--json", "as_json", is_flag=True, help="One event envelope per line.")
@click.option(
    "--from", "first", type=click.IntRange(min=1), default=1, metavar="SEQ", help="Begin with this event."
)
@click.option("--name", metavar="GLOB", help="Only events whose name matches, as in 'task.*'.")
@click.option("--step", metavar="S", help="Only events of a step.")
async def command(execution: str, as_json: bool, first: int, name: str | None, step: str | None) -> None:
    """Print the events of an execution, in the order of their sequence numbers."""
    from noetl.cli.commands.execution.pages import envelopes
    from noetl.cli.connection.connection import connect_execution

    async with connect_execution(execution) as (connection, execution_id):
        count = 0
        async for event in envelopes(connection.front, execution_id, first=first, name=name, step=step):
            count += 1
            emit(msgspec.json.encode(event).decode() if as_json else _line(event))
    if not count:
        note(f"no such events; see all with: noetl execution events {execution_id}{options.server_flag()}")


def _line(event: "EventEnvelope") -> str:
    data = event["data"]
    place = event.get("task_run_id") or event.get("iteration_id") or event.get("step_run_id")
    place = place or data.get("step") or ""
    return (
        f"{event['seq']:>6}  {event['ts'][11:23]}  {event['name']:<28} {place:<24} {_detail(data)}".rstrip()
    )


def _detail(data: dict[str, Any]) -> str:
    """What an event says in a few words."""
    output = data.get("output")  # an envelope, or the value that the workflow ended with
    error = data.get("error") or (output.get("error") if isinstance(output, dict) else None)
    if isinstance(error, dict) and "kind" in error:
        return f"{error.get('kind')}: {error.get('message', '')}"[:100]
    if "taken" in data:
        return f"to {', '.join(data['taken'])}" if data["taken"] else "no arc taken"
    if data.get("do") not in (None, "continue"):
        return f"{data['do']} {data.get('to') or ''}".rstrip()
    if "patch" in data:
        return ", ".join(f"ctx.{'.'.join(path)}" for path, _ in data["patch"])[:100]
    return str(data.get("reason") or data.get("why") or (data["status"] if "counts" in data else ""))
