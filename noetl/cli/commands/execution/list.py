"""`noetl execution list`: the newest executions of this project."""

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from noetl.adapters.clock.wall import now_ms
from noetl.cli import options
from noetl.cli.terminal import counted, emit, note
from noetl.core.state import STATUSES

if TYPE_CHECKING:
    from noetl.cli.connection.connection import Reached

PAGE = 500
NONE = "no executions; start one with: noetl run FILE"


@click.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only executions of this status.")
@click.option("--path", metavar="PATH", help="Only executions of this playbook.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many."
)
@click.option("--all", "children", is_flag=True, help="Also those that other executions started.")
@options.server
@options.as_json
def command(as_json: bool, **given: Any) -> None:
    """List the newest executions of this project, or of the server."""
    asyncio.run(_list(as_json, given))


async def _list(as_json: bool, given: dict[str, Any]) -> None:
    from noetl.cli.connection import connection, embedded_engine
    from noetl.cli.running.run_summary import pretty

    settings = embedded_engine.settings()
    found: list[dict[str, Any]] = []
    if connection.anything(settings):
        async with connection.reached(settings) as reached:
            found = await _rows(reached, given)
    if as_json:
        emit(pretty(found))
    elif not found:
        some = given["status"] or given["path"]
        note("no such executions; see all with: noetl execution list" if some else NONE)
    for row in () if as_json else found:
        emit(_line(row))


async def _rows(reached: "Reached", given: dict[str, Any]) -> list[dict[str, Any]]:
    from noetl.ports.front import Find, listed

    now = now_ms()
    rows: list[dict[str, Any]] = []
    cursor = None
    while len(rows) < given["limit"]:
        some = min(PAGE, given["limit"] - len(rows))
        page = await reached.front.executions(Find(**{**given, "cursor": cursor, "limit": some}))
        for item in page.items:
            running = item.status in ("pending", "running", "waiting")
            interrupted = running and await reached.interrupted(item.execution_id)
            rows.append({**listed(item, now), "interrupted": interrupted})
        cursor = page.cursor
        if cursor is None:
            break
    return rows


def _line(row: dict[str, Any]) -> str:
    from noetl.cli.running.run_summary import duration

    moment = datetime.fromisoformat(row["requested_at"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    status = "interrupted" if row["interrupted"] else row["status"]
    playbook, failed = row["playbook"], row["failed_iterations"]
    flawed = f"  ({counted(failed, 'failed iteration')})" if failed else ""
    return (
        f"{row['execution_id']}  {status:<11}  {moment}  {duration(row['duration_ms']):>12}  "
        f"{playbook['path']} v{playbook['version']}{flawed}"
    )
