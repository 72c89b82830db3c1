"""`noetl db`: the store's schema, what is in it, and what may go. The work is done elsewhere."""

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

import click

from noetl.adapters.clock.wall import now_ms
from noetl.cli.command_classes import Group
from noetl.cli.terminal import counted, emit, emit_json, indented_json, note, width_of
from noetl.errors import NotFound
from noetl.ports.time_span import read_span

if TYPE_CHECKING:
    from noetl.cli.store_admin import StoreAdmin
    from noetl.control.garbage import Collected
    from noetl.ports.store import Extent

SIZES = ("B", "KiB", "MiB", "GiB", "TiB")

EPILOG = """\b
Examples:
  noetl db status
  noetl db gc --dry-run
  noetl db gc --executions-older-than 30d
"""


class Span(click.ParamType[int]):
    """A span of time such as 90s, 15m, 24h, 30d or 2w, in milliseconds."""

    name = "span"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a span."""
        try:
            return read_span(str(value))
        except ValueError as error:
            self.fail(f"{value!r} is no span of time; {error}", param, ctx)


@click.group("db", cls=Group, epilog=EPILOG)
def command() -> None:
    """The store of this project: its schema, what is in it, and what may go."""


@command.command("init")
def init() -> int:
    """Make the store. Commands that need one make it themselves; this is for looking after it first."""
    from noetl.cli.store_admin import store_admin

    admin = store_admin()
    before, after = admin.migrate()
    schema_words = f"schema {after}" if before in (0, after) else f"schema {before} -> {after}"
    note(f"{'there is a store already' if before else 'made a store'}: {admin.location} ({schema_words})")
    return 0


@command.command("migrate")
def migrate() -> int:
    """Bring the schema of the store up to date. Opening a store does the same."""
    before, after = _existing().migrate()
    note(f"schema {after}: up to date" if before == after else f"schema {before} -> {after}")
    return 0


@command.command("status", short_help="Say what is in the store.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as data.")
def status(as_json: bool) -> int:
    """Say how far the schema is, how much the store holds, and what has been due for longest."""
    admin = _existing()
    schema, newest = admin.version(), admin.newest
    facts: dict[str, Any] = {"store": admin.location, "schema": schema, "newest_schema": newest}
    if schema >= newest:
        extent, footprint = asyncio.run(_measure(admin))
        facts |= {**_as_data(extent), "payloads": footprint[0], "payload_bytes": footprint[1]}
    facts["file_bytes"] = admin.size()
    emit(indented_json(facts) if as_json else "\n".join(_lines(facts)))
    return 0


@command.command("gc", short_help="Remove what is over.")
@click.option(
    "--older-than",
    type=Span(),
    default="24h",
    show_default=True,
    help="Remove payloads of executions that ended longer ago, and those that no execution knows.",
)
@click.option(
    "--executions-older-than",
    type=Span(),
    help="Also forget executions that ended longer ago, with their logs.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="Print the same as data.")
def gc(older_than: int, executions_older_than: int | None, dry_run: bool, as_json: bool) -> int:
    """Remove what is over: payloads, task detail that `executor.spec.trace` does not keep, old executions.

    Nothing of an execution is removed while it runs, or while its parent, a child or a retry of it does.
    """
    collected = asyncio.run(_collect(_existing(), older_than, executions_older_than, dry_run))
    if as_json:
        emit_json({**dataclasses.asdict(collected), "dry_run": dry_run})
    else:
        note(_collected_line(collected, dry_run))
    return 0


def _collected_line(collected: "Collected", dry_run: bool) -> str:
    verb = "would remove" if dry_run else "removed"
    verb += f" {counted(collected.payloads, 'payload')} ({size(collected.bytes)})"
    verb += f" and {counted(collected.executions, 'execution')}"
    if collected.trimmed:
        verb += "; would take" if dry_run else "; took"
        verb += f" task detail out of {counted(collected.trimmed, 'execution')}"
    return verb


async def _collect(admin: "StoreAdmin", ttl_ms: int, retention_ms: int | None, dry_run: bool) -> "Collected":
    from noetl.control.garbage import Terms, collect

    now = now_ms()
    terms = Terms(now - ttl_ms, None if retention_ms is None else now - retention_ms, dry_run)
    async with admin.open() as content:
        return await collect(content.store, content.results, content.catalog, terms)


async def _measure(admin: "StoreAdmin") -> "tuple[Extent, tuple[int, int]]":
    async with admin.open() as content:
        footprints = await content.results.footprints()
        return await content.store.extent(), (
            sum(footprint.payloads for footprint in footprints),
            sum(footprint.bytes for footprint in footprints),
        )


def _as_data(extent: "Extent") -> dict[str, Any]:
    from noetl.core.event import iso

    due = extent.oldest_due
    return {
        "executions": extent.executions,
        "events": extent.events,
        "playbooks": extent.playbooks,
        "credentials": extent.credentials,
        "messages": extent.messages,
        "oldest_due": None if due is None else {"execution_id": due[0], "due_at": iso(due[1])},
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    schema, newest = facts["schema"], facts["newest_schema"]
    state_words = "up to date" if schema == newest else f"this noetl works with {newest}"
    lines = [
        ("store", facts["store"]),
        ("schema", f"{schema} ({state_words})"),
        ("size", size(facts["file_bytes"])),
    ]
    if "executions" in facts:
        lines += _content(facts)
    elif schema < newest:
        lines.append(("next", "noetl db migrate"))
    width = width_of(name for name, _ in lines)
    return [f"{name.ljust(width)}  {value}" for name, value in lines]


def _content(facts: dict[str, Any]) -> list[tuple[str, str]]:
    by_status = facts["executions"]
    parts = ", ".join(f"{count:,} {name}" for name, count in sorted(by_status.items()))
    due = facts["oldest_due"]
    return [
        ("executions", f"{sum(by_status.values()):,}" + (f" ({parts})" if parts else "")),
        ("events", f"{facts['events']:,}"),
        ("payloads", f"{facts['payloads']:,} ({size(facts['payload_bytes'])})"),
        ("playbooks", f"{facts['playbooks']:,}"),
        ("credentials", f"{facts['credentials']:,}"),
        ("messages", f"{facts['messages']:,}"),
        ("oldest due", f"{due['due_at']} ({due['execution_id']})" if due else "nothing"),
    ]


def size(number: float) -> str:
    """A number of bytes as a person reads it."""
    for unit in SIZES:
        if number < 1024 or unit == SIZES[-1]:
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == SIZES[0] else f"{number:.1f} {unit}"


def _existing() -> "StoreAdmin":
    from noetl.cli.store_admin import store_admin

    admin = store_admin()
    if admin.version() == 0:
        raise NotFound(f"there is no store '{admin.location}'", hint="noetl db init, or run a playbook")
    return admin
