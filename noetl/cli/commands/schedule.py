"""`noetl schedule`: playbooks that are started by the clock. A server, or `noetl dev`, starts them."""

from typing import TYPE_CHECKING, Literal, Unpack

import click

from noetl.cli import completers, options
from noetl.cli.change_in_place import changed, changes_of
from noetl.cli.command_classes import Group
from noetl.cli.commands.db import Span
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import counted, emit, emit_json, emit_list, note, width_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noetl.ports.schedule import ComingTick, Schedule

TICKS = 5
CATCH_UPS = ["none", "latest", "all"]
OVERLAPS = ["skip", "queue", "allow", "replace"]
CatchUp = Literal["none", "latest", "all"]
Overlap = Literal["skip", "queue", "allow", "replace"]

EPILOG = """\b
Examples:
  noetl schedule add nightly team/load --cron '0 3 * * *' --timezone Europe/Berlin
  noetl schedule add poll team/poll --every 15m --set source=api
  noetl schedule add morning team/report --cron @daily --timezone Europe/Berlin
  noetl schedule edit nightly --cron '0 4 * * *'
  noetl schedule list
  noetl schedule pause nightly
  noetl schedule run nightly
  noetl schedule history nightly
  noetl schedule backfill nightly --from 2026-10-01 --to 2026-10-31 --parallel 2

Schedules rest in the store; whichever server runs over it starts what is due, each tick once.
"""


@click.group("schedule", cls=Group, epilog=EPILOG)
def command() -> None:
    """Start playbooks by the clock: at the times of a cron expression, or at an interval."""


@command.command("add")
@click.argument("name")
@click.argument("path", shell_complete=completers.playbooks)
@click.option(
    "--cron",
    metavar="EXPRESSION",
    help="Minute, hour, day, month, weekday, as in '0 3 * * MON-FRI'; or @hourly, @daily, @weekly, @monthly.",
)
@click.option("--timezone", metavar="NAME", default="UTC", show_default=True, help="Where its hours are.")
@click.option("--every", type=Span(), metavar="SPAN", help="An interval instead, as in 30s, 15m or 1d.")
@options.workload
@click.option(
    "--catch-up",
    type=click.Choice(CATCH_UPS),
    default="latest",
    show_default=True,
    help="Of ticks that passed while no server ran, start none, the latest, or all.",
)
@click.option(
    "--overlap",
    type=click.Choice(OVERLAPS),
    default="skip",
    show_default=True,
    help="What becomes of a tick while the execution of an earlier one is not over.",
)
@click.option("--paused", is_flag=True, help="Do not begin yet.")
@options.server
@options.as_json
async def add(
    name: str,
    path: str,
    *,
    as_json: bool,
    cron: str | None,
    timezone: str,
    every: int | None,
    catch_up: CatchUp,
    overlap: Overlap,
    paused: bool,
    **start: Unpack[options.WorkloadChoices],
) -> None:
    """Start the registered playbook PATH by the clock."""
    from noetl.cli.connection.connection import connect
    from noetl.ports.schedule import ScheduleAsk, schedule_facts

    ask = ScheduleAsk(by=caller(), name=name, **options.playbook_start(path, start))
    ask.cron, ask.timezone, ask.catch_up, ask.enabled = cron, timezone, catch_up, not paused
    ask.overlap = overlap
    ask.every_s = None if every is None else every // 1000
    async with connect(make=True) as connection:
        schedule = await connection.front.put_schedule(ask, new=True)
        served = connection.url is not None
    if as_json:
        emit_json(schedule_facts(schedule))
        return
    _tell(schedule)
    if not served:
        note("a server starts it: noetl server start, or noetl dev")


@command.command("edit")
@click.argument("name", shell_complete=completers.schedules)
@click.option(
    "--path", metavar="PATH", shell_complete=completers.playbooks, help="Start another registered playbook."
)
@click.option("--cron", metavar="EXPRESSION", help="Other times, or a word such as @daily.")
@click.option("--timezone", metavar="NAME", help="Where its hours are.")
@click.option("--every", type=Span(), metavar="SPAN", help="An interval instead, as in 30s, 15m or 1d.")
@options.workload
@click.option("--catch-up", type=click.Choice(CATCH_UPS), help="Of ticks that passed, which to start.")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="While an earlier one is not over.")
@options.server
@options.as_json
async def edit(
    name: str,
    *,
    as_json: bool,
    path: str | None,
    cron: str | None,
    timezone: str | None,
    every: int | None,
    catch_up: CatchUp | None,
    overlap: Overlap | None,
    **start: Unpack[options.WorkloadChoices],
) -> None:
    """Change a schedule in place: what is not given stays. A workload is replaced as a whole."""
    from noetl.ports.schedule import schedule_facts

    if cron is not None and every is not None:
        raise click.UsageError("a schedule has either --cron or --every")
    every_s = None if every is None else every // 1000
    given = {"path": path, "cron": cron, "timezone": timezone, "every_s": every_s}
    given |= {"catch_up": catch_up, "overlap": overlap}
    changes = changes_of(given, start, example="--cron '0 4 * * *'")
    if cron is not None or every is not None:
        changes |= {"cron": cron, "every_s": every_s}  # one instead of the other
    schedule = await _change(name, changes)
    if as_json:
        emit_json(schedule_facts(schedule))
    else:
        _tell(schedule)


def _tell(schedule: "Schedule") -> None:
    when = f"next at {_local(schedule, schedule.next_at)}" if schedule.next_at is not None else "paused"
    note(f"schedule {schedule.name}: {schedule_words(schedule)}, {when}")


@command.command("list")
@options.server
@options.as_json
async def list_schedules(as_json: bool) -> None:
    """List schedules with their next tick."""
    from noetl.cli.connection.connection import list_from_front
    from noetl.ports.schedule import schedule_facts

    schedules = await list_from_front(lambda front: front.schedules())
    width = width_of(schedule.name for schedule in schedules)

    def line(schedule: "Schedule") -> str:
        when = f"next {_local(schedule, schedule.next_at)}" if schedule.next_at is not None else "paused"
        trouble = f"  last tick failed: {schedule.last_error}" if schedule.last_error is not None else ""
        trouble += f"  {schedule.skipped.total} ticks skipped so far" if schedule.skipped is not None else ""
        return f"{schedule.name:<{width}}  {when}  {schedule_words(schedule)}  {schedule.path}{trouble}"

    empty = "no schedules; make one with: noetl schedule add NAME PATH --every 15m"
    emit_list(schedules, line, fields=schedule_facts, empty=empty, as_json=as_json)


@command.command("show")
@click.argument("name", shell_complete=completers.schedules)
@options.server
@options.as_json
async def show(name: str, as_json: bool) -> None:
    """Show what a schedule starts and when, and what its last tick did."""
    import msgspec

    from noetl.cli.commands.backfill import tick_words
    from noetl.cli.connection.connection import connect
    from noetl.control.tick_decision import skipped_words
    from noetl.control.ticks import coming_ticks
    from noetl.ports.schedule import schedule_facts
    from noetl.ports.tick import tick_facts

    async with connect() as connection:
        schedule = await connection.front.schedule(name)
        ticks = await connection.front.schedule_ticks(name, TICKS)
    if as_json:
        emit_json({**schedule_facts(schedule), "ticks": [tick_facts(tick) for tick in ticks]})
        return
    version = f" v{schedule.version}" if schedule.version is not None else ""
    emit(f"{schedule.name}: {schedule_words(schedule)}\nplaybook: {schedule.path}{version}")
    emit(f"workload: {msgspec.json.encode(schedule.workload).decode()}")
    emit(f"overlap: {schedule.overlap}, catch-up: {schedule.catch_up}")
    following = [_shown(tick) for tick in coming_ticks(schedule, TICKS)]
    emit(f"next: {(chr(10) + ' ' * 6).join(following) or 'paused'}")
    if schedule.last_at is not None and schedule.last_error is not None:
        emit(f"last: {_moment(schedule.last_at)}  {schedule.last_error}")
    if schedule.skipped is not None:
        more = schedule.skipped.total > schedule.skipped.count
        emit(skipped_words(schedule.skipped) + (f"; {schedule.skipped.total} so far" if more else ""))
    for tick in ticks:
        emit(f"tick: {tick_words(tick)}")


@command.command("history")
@click.argument("name", shell_complete=completers.schedules)
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many ticks.")
@options.server
@options.as_json
async def history(name: str, limit: int, as_json: bool) -> None:
    """List what became of the ticks of a schedule, the newest first."""
    from noetl.cli.commands.backfill import tick_words
    from noetl.cli.connection.connection import list_from_front
    from noetl.ports.tick import tick_facts

    ticks = await list_from_front(lambda front: front.schedule_ticks(name, limit))
    empty = f"no tick of {name} has come yet; noetl schedule show {name} tells the next ones"
    emit_list(ticks, tick_words, fields=tick_facts, empty=empty, as_json=as_json)


@command.command("backfill")
@click.argument("name", metavar="NAME|PATH", shell_complete=completers.schedules_and_playbooks)
@click.option("--from", "from_", metavar="MOMENT", required=True, help="The first moment, as in 2026-10-01.")
@click.option("--to", metavar="MOMENT", required=True, help="The last moment, as in 2026-10-31T23:59.")
@click.option("--every", type=Span(), metavar="SPAN", help="Of the playbook PATH: at this interval.")
@click.option("--cron", metavar="EXPRESSION", help="Of the playbook PATH: at these times.")
@click.option("--timezone", metavar="NAME", help="Of the playbook PATH: where its hours are.  [default: UTC]")
@click.option(
    "--parallel",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How many executions at a time.",
)
@click.option("--dry-run", is_flag=True, help="Only tell the ticks.")
@options.workload
@options.server
@options.as_json
async def backfill(
    name: str,
    *,
    from_: str,
    to: str,
    every: int | None,
    cron: str | None,
    timezone: str | None,
    parallel: int,
    dry_run: bool,
    as_json: bool,
    **start: Unpack[options.WorkloadChoices],
) -> None:
    """Make up for the ticks of a span: one execution for each that has none yet."""
    from noetl.cli.commands.backfill import backfill_words
    from noetl.cli.connection.connection import connect
    from noetl.core.event import iso
    from noetl.ports.tick import BackfillAsk, backfill_facts, plan_facts

    ask = BackfillAsk(from_=from_, to=to, parallel=parallel, dry_run=dry_run, by=caller())
    given = start["file"] is not None or start["assignments"]
    ask.workload = options.playbook_start(name, start)["workload"] if given else None
    ask.version = start["version"]
    if every is None and cron is None:
        if "/" in name:
            raise click.UsageError(
                f"'{name}' is a playbook and no schedule: say how often, as with --every 1d"
            )
        ask.schedule = name
    else:
        ask.path, ask.cron, ask.timezone = name, cron, timezone
        ask.every_s = None if every is None else every // 1000
    async with connect() as connection:
        planned = await connection.front.add_backfill(ask)
        served = connection.url is not None
    if as_json:
        facts = backfill_facts(planned.backfill)
        emit_json({**facts, **plan_facts(planned)} if dry_run else facts)
        return
    if dry_run:
        for tick in planned.ticks:
            has = planned.existing.get(tick)
            emit(f"{iso(tick)}  has execution {has} already" if has else iso(tick))
        many = counted(len(planned.ticks), "tick")
        note(f"{many}; without --dry-run each that has no execution yet gets one")
        return
    emit(backfill_words(planned.backfill))
    if not served:
        note("a server starts it: noetl server start, or noetl dev")
    note(f"watch it with: noetl backfill show {planned.backfill.id}")


@command.command("delete")
@click.argument("name", shell_complete=completers.schedules)
@options.server
async def delete(name: str) -> None:
    """Forget a schedule; what it started goes on."""
    from noetl.cli.connection.connection import call_front

    await call_front(lambda front: front.delete_schedule(name))
    note(f"deleted {name}")


@command.command("pause")
@click.argument("name", shell_complete=completers.schedules)
@options.server
async def pause(name: str) -> None:
    """Let a schedule rest: ticks that pass meanwhile are not made up for."""
    await _set_enabled(name, enabled=False)
    note(f"paused {name}; go on with: noetl schedule resume {name}")


@command.command("resume")
@click.argument("name", shell_complete=completers.schedules)
@options.server
async def resume(name: str) -> None:
    """Let a paused schedule go on with its next tick."""
    schedule = await _set_enabled(name, enabled=True)
    note(f"resumed {name}: next at {_local(schedule, schedule.next_at or 0)}")


async def _set_enabled(name: str, *, enabled: bool) -> "Schedule":
    return await _change(name, {"enabled": enabled})


async def _change(name: str, changes: "Mapping[str, object]") -> "Schedule":
    from noetl.cli.connection.connection import connect
    from noetl.ports.schedule import ScheduleAsk

    async with connect() as connection:
        found = await connection.front.schedule(name)
        return await connection.front.put_schedule(changed(ScheduleAsk, found, changes))


@command.command("run")
@click.argument("name", shell_complete=completers.schedules)
@options.output_options
@options.timeout
@options.server
async def run(name: str, **choices: Unpack[options.OutputChoices]) -> int:
    """Start at once what a schedule starts, and say how it went; its ticks stay where they are."""
    from noetl.cli.running import run_flow

    return await run_flow.run_schedule(run_flow.Viewer(choices), name)


def schedule_words(schedule: "Schedule") -> str:
    from noetl.ports.schedule import span_text

    if schedule.cron is None:
        return f"every {span_text(schedule.every_s or 1)}"
    return f"'{schedule.cron}' {schedule.timezone}"


def _shown(tick: "ComingTick") -> str:
    return tick.local + (f"  (clocks go {tick.clocks} before it)" if tick.clocks else "")


def _local(schedule: "Schedule", ms: int) -> str:
    from noetl.control.ticks import local_words

    return local_words(schedule, ms)


def _moment(ms: int | None) -> str:
    from noetl.core.event import iso

    return f"{iso(ms or 0)[:19].replace('T', ' ')} UTC"
