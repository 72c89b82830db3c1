"""`noetl execution diff`: how two executions differ."""

import asyncio
from typing import Any

import click

from noetl.cli import options
from noetl.cli.terminal import emit, note

SHOWN = 100


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.server
@options.as_json
def command(first: str, second: str, as_json: bool) -> None:
    """Say how two executions differ: path, timing, ctx and outputs."""
    asyncio.run(_diff(first, second, as_json))


async def _diff(first: str, second: str, as_json: bool) -> None:
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import pretty

    async with connection.reached() as reached:
        one = await connection.find(reached.front, first)
        found = await reached.front.diff(one, await connection.find(reached.front, second))
    if as_json:
        emit(pretty(found))
        return
    for line in _lines(found):
        emit(line)
    if found["same"]:
        note("the same path to the same result")


def _lines(found: dict[str, Any]) -> list[str]:
    from noetl.cli.running.run_summary import brief, duration

    lines = [f"a  {found['a']}", f"b  {found['b']}"]
    for name in ("status", "playbook", "error"):
        sides = [brief(side, 200) for side in found[name] or ()]
        lines += [f"{name}: {' -> '.join(sides)}"] if sides else []
    if found["path"]:
        lines += ["path:", *(f"  {line}" for line in found["path"][:SHOWN])]
    for name in ("workload", "ctx", "outputs"):
        if found[name]:
            lines += [f"{name}:", *(f"  {_change(item)}" for item in found[name][:SHOWN])]
    lines += [f"left out: {count} more in {place}" for place, count in found["left_out"].items()]
    width = max(map(len, found["timing_ms"]), default=0)
    lines.append("timing:")
    for step, sides in found["timing_ms"].items():
        a, b = ("–" if side is None else duration(side) for side in sides)
        lines.append(f"  {step:<{width}}  {a:>12}  {b:>12}")
    return lines


def _change(item: dict[str, Any]) -> str:
    from noetl.cli.running.run_summary import brief

    if "a" not in item:
        return f"+ {item['path']} = {brief(item['b'], 200)}"
    if "b" not in item:
        return f"- {item['path']} = {brief(item['a'], 200)}"
    return f"~ {item['path']}: {brief(item['a'], 200)} -> {brief(item['b'], 200)}"
