"""`noetl execution list`: the newest executions of this project."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import click

from noetl.cli import options
from noetl.cli.render import emit, note
from noetl.ports.store import Summary
from noetl.wiring.embedded import Embedded

STATUSES = ("pending", "running", "paused", "completed", "failed", "cancelled")


@click.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only executions of this status.")
@click.option("--path", metavar="PATH", help="Only executions of this playbook.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many."
)
@click.option("--all", "children", is_flag=True, help="Also those that other executions started.")
@options.as_json
def command(as_json: bool, **given: Any) -> None:
    """List the newest executions."""
    asyncio.run(_list(as_json, given))


async def _list(as_json: bool, given: dict[str, Any]) -> None:
    from noetl.cli import local
    from noetl.cli.closing import pretty

    found: list[dict[str, Any]] = []
    if local.store_exists():
        async with local.consulted() as made:
            listed = await made.store.executions(**given)
            found = [await _row(made, item) for item in listed.items]
    if as_json:
        emit(pretty(found))
    elif not found:
        note("no executions; start one with: noetl run FILE")
    for row in () if as_json else found:
        emit(_line(row))


async def _row(made: Embedded, item: Summary) -> dict[str, Any]:
    from noetl.core.event import iso

    end = item.ended_at or time.time_ns() // 1_000_000
    running = item.status in ("pending", "running")
    return {
        "execution_id": item.execution_id,
        "status": item.status,
        "playbook": {"path": item.path, "version": item.version, "hash": item.hash},
        "requested_at": iso(item.requested_at),
        "ended_at": iso(item.ended_at) if item.ended_at else None,
        "duration_ms": end - item.requested_at,
        "parent": item.parent,
        "retry_of": item.retry_of,
        "interrupted": running and not await made.store.owned(item.execution_id),
    }


def _line(row: dict[str, Any]) -> str:
    from noetl.cli.closing import duration

    moment = datetime.fromisoformat(row["requested_at"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    status = "interrupted" if row["interrupted"] else row["status"]
    playbook = row["playbook"]
    return (
        f"{row['execution_id']}  {status:<11}  {moment}  {duration(row['duration_ms']):>12}  "
        f"{playbook['path']} v{playbook['version']}"
    )
