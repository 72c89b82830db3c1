"""`noetl execution events`: what happened, in order."""

import asyncio

import click
import msgspec

from noetl.cli.render import emit


@click.command("events")
@click.argument("execution", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One event envelope per line.")
@click.option("--from", "first", type=click.IntRange(min=1), default=1, metavar="SEQ", help="Begin with this event.")
@click.option("--name", metavar="GLOB", help="Only events whose name matches.")
@click.option("--step", metavar="S", help="Only events of a step.")
def command(execution: str, as_json: bool, first: int, name: str | None, step: str | None) -> None:
    """Print the events of an execution."""
    asyncio.run(_print(execution, as_json, first, name, step))


async def _print(execution: str, as_json: bool, first: int, name: str | None, step: str | None) -> None:
    from noetl.cli import local
    from noetl.control.history import envelopes
    from noetl.settings import load

    async with local.opened(load({})) as made:
        execution_id = await local.find(made, execution)
        async for shown in envelopes(made.store, execution_id, first=first, name=name, step=step):
            if as_json:
                emit(msgspec.json.encode(shown).decode())
            else:
                place = shown.get("task_run_id") or shown.get("iteration_id") or shown.get("step_run_id") or ""
                emit(f"{shown['seq']:>6}  {shown['ts'][11:23]}  {shown['name']:<28} {place}")
