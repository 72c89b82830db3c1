"""`noetl execution list`: the newest executions of this project."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from noetl.adapters.clock.wall import now_ms
from noetl.cli import completers, options
from noetl.cli.command_classes import Command
from noetl.cli.formats.text import printable
from noetl.cli.terminal import counted, emit_list
from noetl.core.state import STATUSES
from noetl.ports.answers import ExecutionItem

if TYPE_CHECKING:
    from noetl.cli.connection.connection import Connection
    from noetl.ports.store import Find

PAGE = 500
ERROR_CHARS = 100
NONE = "no executions; start one with: noetl run FILE"


@click.command("list", cls=Command)
@click.option("--status", type=click.Choice(STATUSES), help="Only executions of this status.")
@click.option(
    "--path",
    metavar="PATH",
    shell_complete=completers.playbooks,
    help="Only executions of this playbook; * and ? stand for any characters.",
)
@click.option("--label", metavar="KEY[=VALUE]", help="Only executions of playbooks with this label.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many."
)
@click.option("--all", "children", is_flag=True, help="Also those that other executions started.")
@click.option("--continued", is_flag=True, help="Also those that went on as another execution.")
@options.server
@options.as_json
async def command(
    status: str | None,
    path: str | None,
    label: str | None,
    limit: int,
    *,
    children: bool,
    continued: bool,
    as_json: bool,
) -> None:
    """List the newest executions of this project, or of the server."""
    from noetl.cli.connection.connection import connect, has_data
    from noetl.cli.connection.embedded_engine import current_settings
    from noetl.ports.store import Find

    settings = current_settings()
    rows: list[ExecutionItem] = []
    if has_data(settings):
        async with connect(settings) as connection:
            find = Find(status=status, path=path, label=label, children=children, continued=continued)
            rows = await _rows(connection, find, limit)
    others = "" if children else " (with --all also those that other executions started)"
    empty = (
        f"no such executions{others}; see all with: noetl execution list" if status or path or label else NONE
    )
    emit_list(rows, _line, fields=dict, empty=empty, as_json=as_json)


async def _rows(connection: "Connection", find: "Find", limit: int) -> list[ExecutionItem]:
    from noetl.ports.front import execution_row

    now = now_ms()
    rows: list[ExecutionItem] = []
    while len(rows) < limit:
        find.limit = min(PAGE, limit - len(rows))
        page = await connection.front.executions(find)
        for item in page.items:
            running = item.status in ("pending", "running", "waiting")
            interrupted = running and await connection.interrupted(item.execution_id)
            rows.append({**execution_row(item, now), "interrupted": interrupted})
        find.cursor = page.cursor
        if find.cursor is None:
            break
    return rows


def _line(row: ExecutionItem) -> str:
    from noetl.cli.running.run_summary import duration

    moment = datetime.fromisoformat(row["requested_at"]).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    status = "interrupted" if row["interrupted"] else row["status"]
    playbook, failed = row["playbook"], row["failed_iterations"]
    flawed = f"  ({counted(failed, 'failed iteration')})" if failed else ""
    if row["ended_at"] is not None and row["counts"] is None:
        replay = f"noetl execution replay {row['execution_id']}{options.server_flag()}"
        flawed = f"  (what was kept of it cannot be read; check its log with: {replay})"
    if row["continued_as"] is not None:
        status = "continued"
    return (
        f"{row['execution_id']}  {status:<11}  {moment}  {duration(row['duration_ms']):>12}  "
        f"{playbook['path']} v{playbook['version']}{_starter(row)}{_late(row)}{flawed}{_error(row)}"
    )


def _starter(row: ExecutionItem) -> str:
    return f"  by {printable(row['by'])}" if row["by"] else ""


def _late(row: ExecutionItem) -> str:
    """That it has taken longer than its playbook expects."""
    from noetl.cli.running.run_summary import late_words

    late = late_words(row["late_at"], row["ended_at"])
    return f"  {late}" if late else ""


def _error(row: ExecutionItem) -> str:
    """Why it failed, as far as there is room on its line."""
    from noetl.core.reading import explain_text
    from noetl.dsl.yaml.one_line import shortened

    if row["error"] is None or row["status"] != "failed":
        return ""
    first, _, more = explain_text.error(row["error"]).partition("\n")
    return f"  {printable(shortened(first + ('…' if more else ''), ERROR_CHARS))}"
