"""`noetl execution diff`: how two executions differ."""

from typing import Literal

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, emit_json, note, width_of
from noetl.ports.answers import Change, DiffAnswer

LINES_MAX = 100
PAIRS: tuple[Literal["status", "playbook", "error"], ...] = ("status", "playbook", "error")
VALUES: tuple[Literal["workload", "ctx", "outputs"], ...] = ("workload", "ctx", "outputs")


@click.command("diff", cls=Command)
@click.argument("first", metavar="A", shell_complete=completers.executions)
@click.argument("second", metavar="B", shell_complete=completers.executions)
@options.server
@options.as_json
async def command(first: str, second: str, as_json: bool) -> None:
    """Say how two executions differ: path, timing, ctx and outputs."""
    from noetl.cli.connection.connection import connect_execution, find_execution

    async with connect_execution(first) as (connection, first_id):
        difference = await connection.front.diff(first_id, await find_execution(connection.front, second))
    if as_json:
        emit_json(difference)
        return
    for line in _lines(difference):
        emit(line)
    if difference["same"]:
        note("the same path to the same result")


def _lines(difference: DiffAnswer) -> list[str]:
    from noetl.cli.running.run_summary import duration, short_json

    lines = [f"a  {difference['a']}", f"b  {difference['b']}"]
    for name in PAIRS:
        pair = difference[name]
        lines += [f"{name}: {' -> '.join(short_json(side, 200) for side in pair)}"] if pair else []
    if difference["path"]:
        lines += ["path:", *(f"  {line}" for line in difference["path"][:LINES_MAX])]
    for value in VALUES:
        if difference[value]:
            lines += [f"{value}:", *(f"  {_change(item)}" for item in difference[value][:LINES_MAX])]
    lines += [f"left out: {count} more in {place}" for place, count in difference["left_out"].items()]
    width = width_of(difference["timing_ms"])
    lines.append("timing:")
    for step, sides in difference["timing_ms"].items():
        a, b = ("–" if side is None else duration(side) for side in sides)
        lines.append(f"  {step:<{width}}  {a:>12}  {b:>12}")
    return lines


def _change(item: Change) -> str:
    from noetl.cli.running.run_summary import short_json

    if "a" not in item:
        return f"+ {item['path']} = {short_json(item['b'], 200)}"
    if "b" not in item:
        return f"- {item['path']} = {short_json(item['a'], 200)}"
    return f"~ {item['path']}: {short_json(item['a'], 200)} -> {short_json(item['b'], 200)}"
