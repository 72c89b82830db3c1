"""`noetl backfill`: ticks of the past that are made up for. `noetl schedule backfill` begins one."""

from typing import TYPE_CHECKING

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Group
from noetl.cli.terminal import emit, emit_json, emit_list, note

if TYPE_CHECKING:
    from noetl.ports.front import Front
    from noetl.ports.tick import Backfill, BackfillWish, Tick

SHOWN, PAGE = 20, 500  # ticks: that are shown, and that are asked for at once
FAILED = ("failed", "refused")

EPILOG = """\b
Examples:
  noetl schedule backfill nightly --from 2026-10-01 --to 2026-10-31 --parallel 2
  noetl backfill list
  noetl backfill pause 1f6a
  noetl backfill resume 1f6a

An id may be shortened to its beginning, while that is one backfill's alone.
"""


@click.group("backfill", cls=Group, epilog=EPILOG)
def command() -> None:
    """Ticks of the past that are made up for: watch, pause and cancel them."""


@command.command("list")
@options.server
@options.as_json
async def list_backfills(as_json: bool) -> None:
    """List backfills with their progress, the newest first."""
    from noetl.cli.connection.connection import list_from_front
    from noetl.ports.tick import backfill_facts

    backfills = await list_from_front(lambda front: front.backfills())
    empty = "no backfills; make one with: noetl schedule backfill NAME --from DATE --to DATE"
    emit_list(backfills, backfill_words, fields=backfill_facts, empty=empty, as_json=as_json)


@command.command("show")
@click.argument("backfill_id", metavar="ID", shell_complete=completers.backfills)
@click.option("--failed", is_flag=True, help="Only ticks that failed or could not be started, all of them.")
@options.server
@options.as_json
async def show(backfill_id: str, failed: bool, as_json: bool) -> None:
    """Show how far a backfill is, and the newest ticks that have begun."""
    from noetl.cli.connection.connection import connect
    from noetl.ports.tick import backfill_facts, tick_facts

    async with connect() as connection:
        backfill = await _found(connection.front, backfill_id)
        ticks = await _shown(connection.front, backfill.id, failed)
    if as_json:
        emit_json({**backfill_facts(backfill), "ticks": [tick_facts(tick) for tick in ticks]})
        return
    emit(backfill_words(backfill))
    for tick in ticks:
        emit(f"  {tick_words(tick)}")
    if not failed and any(status in backfill.counts for status in FAILED):
        note(f"those that failed: noetl backfill show {backfill.id} --failed")


async def _shown(front: "Front", backfill_id: str, failed: bool) -> "list[Tick]":
    """Ticks that have begun, the newest first: so many of them, or all that failed."""
    shown: list[Tick] = []
    before = None
    while ticks := await front.backfill_ticks(backfill_id, PAGE, before):
        begun = (tick for tick in ticks if tick.execution is not None or tick.status == "refused")
        shown += [tick for tick in begun if not failed or tick.status in FAILED]
        if not failed and len(shown) >= SHOWN:
            return shown[:SHOWN]
        before = ticks[-1].tick
    return shown


@command.command("pause")
@click.argument("backfill_id", metavar="ID", shell_complete=completers.backfills)
@options.server
async def pause(backfill_id: str) -> None:
    """Start no more ticks for now; what has begun goes on."""
    backfill = await _control(backfill_id, "pause")
    note(f"paused {backfill.id}; go on with: noetl backfill resume {backfill.id}")


@command.command("resume")
@click.argument("backfill_id", metavar="ID", shell_complete=completers.backfills)
@options.server
async def resume(backfill_id: str) -> None:
    """Go on with a paused backfill."""
    backfill = await _control(backfill_id, "resume")
    note(f"resumed {backfill_words(backfill)}")


@command.command("cancel")
@click.argument("backfill_id", metavar="ID", shell_complete=completers.backfills)
@options.server
async def cancel(backfill_id: str) -> None:
    """Start no more ticks; what has begun goes on."""
    backfill = await _control(backfill_id, "cancel")
    note(f"cancelled {backfill_words(backfill)}")


async def _control(backfill_id: str, wish: "BackfillWish") -> "Backfill":
    from noetl.cli.connection.connection import connect

    async with connect() as connection:
        backfill = await _found(connection.front, backfill_id)
        return await connection.front.control_backfill(backfill.id, wish)


async def _found(front: "Front", beginning: str) -> "Backfill":
    """A backfill by its id, or by the beginning of it."""
    from noetl.errors import RequestError
    from noetl.ports.tick import unknown_backfill

    found = [one for one in await front.backfills() if beginning and one.id.startswith(beginning)]
    if not found:
        raise unknown_backfill(beginning)
    if len(found) > 1:
        raise RequestError(f"{len(found)} backfills begin with '{beginning}'", hint="noetl backfill list")
    return found[0]


def backfill_words(backfill: "Backfill") -> str:
    """A backfill and how far it is, in a line."""
    from noetl.core.event import iso
    from noetl.ports.tick import over

    what = f"schedule {backfill.schedule}" if backfill.schedule else backfill.path
    span = f"{iso(backfill.first_at)[:16]} to {iso(backfill.last_at)[:16]} UTC"
    counts = ", ".join(f"{number} {status}" for status, number in sorted(backfill.counts.items()))
    progress = f"{over(backfill.counts)} of {backfill.total} over"
    return f"{backfill.id}  {backfill.status}  {what}  {span}  {progress}" + (
        f" ({counts})" if counts else ""
    )


def tick_words(tick: "Tick") -> str:
    """A tick and what became of it, in a line."""
    from noetl.core.event import iso

    execution = f"  execution {tick.execution}" if tick.execution else ""
    return f"{iso(tick.tick)[:19]}Z  {tick.status:<9}{execution}" + (f"  {tick.why}" if tick.why else "")
