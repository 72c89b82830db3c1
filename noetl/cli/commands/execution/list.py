"""`noetl execution list`: the newest executions of this project."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import counted, emit_list
from noetl.core.state import STATUSES
from noetl.ports.answers import ExecutionRow

if TYPE_CHECKING:
    from noetl.cli.connection.connection import Connection

PAGE = 500
NONE = "no executions; start one with: noetl run FILE"


class ListChoices(TypedDict):
    """Which executions are wanted."""

    status: str | None
    path: str | None
    limit: int
    children: bool


@click.command("list", cls=Command)
@click.option("--status", type=click.Choice(STATUSES), help="Only executions of this status.")
@click.option("--path", metavar="PATH", help="Only executions of this playbook.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many."
)
@click.option("--all", "children", is_flag=True, help="Also those that other executions started.")
@options.server
@options.as_json
async def command(as_json: bool, **filters: Unpack[ListChoices]) -> None:
    """List the newest executions of this project, or of the server."""
    from noetl.cli.connection.connection import connect, has_data
    from noetl.cli.connection.embedded_engine import current_settings

    settings = current_settings()
    rows: list[ExecutionRow] = []
    if has_data(settings):
        async with connect(settings) as connection:
            rows = await _rows(connection, filters)
    some = filters["status"] or filters["path"]
    empty = "no such executions; see all with: noetl execution list" if some else NONE
    emit_list(rows, _line, fields=dict, empty=empty, as_json=as_json)


async def _rows(connection: "Connection", filters: ListChoices) -> list[ExecutionRow]:
    from noetl.ports.front import listed
    from noetl.ports.store import Find

    now = now_ms()
    rows: list[ExecutionRow] = []
    cursor = None
    while len(rows) < filters["limit"]:
        some = min(PAGE, filters["limit"] - len(rows))
        find = Find(status=filters["status"], path=filters["path"], children=filters["children"])
        page = await connection.front.executions(msgspec.structs.replace(find, cursor=cursor, limit=some))
        for item in page.items:
            running = item.status in ("pending", "running", "waiting")
            interrupted = running and await connection.interrupted(item.execution_id)
            rows.append({**listed(item, now), "interrupted": interrupted})
        cursor = page.cursor
        if cursor is None:
            break
    return rows


def _line(row: ExecutionRow) -> str:
    from noetl.cli.running.run_summary import duration

    moment = datetime.fromisoformat(row["requested_at"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    status = "interrupted" if row["interrupted"] else row["status"]
    playbook, failed = row["playbook"], row["failed_iterations"]
    flawed = f"  ({counted(failed, 'failed iteration')})" if failed else ""
    if row["ended_at"] is not None and row["counts"] is None:
        replay = f"noetl execution replay {row['execution_id']}{options.server_flag()}"
        flawed = f"  (what was kept of it cannot be read; check its log with: {replay})"
    return (
        f"{row['execution_id']}  {status:<11}  {moment}  {duration(row['duration_ms']):>12}  "
        f"{playbook['path']} v{playbook['version']}{flawed}"
    )
