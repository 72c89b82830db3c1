"""`noetl schedule`: playbooks that are started by the clock. A server, or `noetl dev`, starts them."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import options
from noetl.cli.commands.db import Span
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import emit, note

if TYPE_CHECKING:
    from noetl.ports.schedule import Schedule

EPILOG = """\b
Examples:
  noetl schedule add nightly team/load --cron '0 3 * * *' --timezone Europe/Berlin
  noetl schedule add poll team/poll --every 15m --set source=api
  noetl schedule list
  noetl schedule pause nightly
  noetl schedule run nightly

Schedules rest in the store; whichever server runs over it starts what is due, each tick once.
"""


@click.group("schedule", epilog=EPILOG)
def command() -> None:
    """Start playbooks by the clock: at the times of a cron expression, or at an interval."""


@command.command("add")
@click.argument("name")
@click.argument("path")
@click.option(
    "--cron", metavar="EXPRESSION", help="Minute, hour, day, month, weekday, as in '0 3 * * MON-FRI'."
)
@click.option("--timezone", metavar="NAME", default="UTC", show_default=True, help="Where its hours are.")
@click.option("--every", type=Span(), metavar="SPAN", help="An interval instead, as in 30s, 15m or 1d.")
@options.workload
@click.option(
    "--catch-up",
    type=click.Choice(["one", "skip"]),
    default="one",
    show_default=True,
    help="Of ticks that passed while no server ran, fire one, or none.",
)
@click.option("--paused", is_flag=True, help="Do not begin yet.")
@options.server
@options.as_json
def add(name: str, path: str, as_json: bool, **given: Any) -> None:
    """Start the registered playbook PATH by the clock."""
    made = asyncio.run(_added(name, options.path(path), **given))
    if as_json:
        _print(made)
        return
    when = f"next at {_moment(made.next_at)}" if made.next_at is not None else "paused"
    note(f"schedule {name}: {times(made)}, {when}")
    note("a server starts it: noetl server start, or noetl dev")


async def _added(name: str, path: str, **given: Any) -> "Schedule":
    from noetl.cli.connection import connection, embedded_engine
    from noetl.cli.running.run_input import read_payload
    from noetl.ports.front import ScheduleAsk

    ask = ScheduleAsk(
        by=caller(),
        name=name,
        path=path,
        version=given["version"],
        workload=read_payload(given["file"], given["assignments"]),
        cron=given["cron"],
        timezone=given["timezone"],
        every_s=None if given["every"] is None else given["every"] // 1000,
        enabled=not given["paused"],
        catch_up=given["catch_up"],
    )
    async with connection.reached(embedded_engine.settings(), make=True) as reached:
        return await reached.front.put_schedule(ask, new=True)


@command.command("list")
@options.server
@options.as_json
def list_schedules(as_json: bool) -> None:
    """List schedules with their next tick."""
    from noetl.cli.running.run_summary import pretty
    from noetl.ports.schedule import schedule_facts

    found = asyncio.run(_all())
    if as_json:
        emit(pretty([schedule_facts(one) for one in found]))
        return
    if not found:
        note("no schedules; make one with: noetl schedule add NAME PATH --every 15m")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        when = f"next {_moment(one.next_at)}" if one.next_at is not None else "paused"
        trouble = f"  last tick failed: {one.last_error}" if one.last_error is not None else ""
        trouble += f"  {one.skipped.total} ticks skipped so far" if one.skipped is not None else ""
        emit(f"{one.name:<{width}}  {when}  {times(one)}  {one.path}{trouble}")


async def _all() -> "list[Schedule]":
    from noetl.cli.connection import connection, embedded_engine

    settings = embedded_engine.settings()
    if not connection.anything(settings):
        return []
    async with connection.reached(settings) as reached:
        return list(await reached.front.schedules())


@command.command("show")
@click.argument("name")
@options.server
@options.as_json
def show(name: str, as_json: bool) -> None:
    """Show what a schedule starts and when, and what its last tick did."""
    from noetl.cli.connection import connection
    from noetl.control.schedules import told_skipped

    found = asyncio.run(connection.asked(lambda front: front.schedule(name)))
    if as_json:
        _print(found)
        return
    version = f" v{found.version}" if found.version is not None else ""
    emit(f"{found.name}: {times(found)}\nplaybook: {found.path}{version}")
    emit(f"workload: {_json(found.workload)}")
    emit(f"next: {_moment(found.next_at) if found.next_at is not None else 'paused'}")
    if found.last_at is not None:
        did = found.last_error or f"execution {found.last_execution}"
        emit(f"last: {_moment(found.last_at)}  {did}")
    if found.skipped is not None:
        emit(f"skipped: {told_skipped(found.skipped)}; {found.skipped.total} so far")


@command.command("delete")
@click.argument("name")
@options.server
def delete(name: str) -> None:
    """Forget a schedule; what it started goes on."""
    from noetl.cli.connection import connection

    asyncio.run(connection.asked(lambda front: front.delete_schedule(name)))
    note(f"deleted {name}")


@command.command("pause")
@click.argument("name")
@options.server
def pause(name: str) -> None:
    """Let a schedule rest: ticks that pass meanwhile are not made up for."""
    asyncio.run(_turned(name, enabled=False))
    note(f"paused {name}; go on with: noetl schedule resume {name}")


@command.command("resume")
@click.argument("name")
@options.server
def resume(name: str) -> None:
    """Let a paused schedule go on with its next tick."""
    found = asyncio.run(_turned(name, enabled=True))
    note(f"resumed {name}: next at {_moment(found.next_at)}")


async def _turned(name: str, *, enabled: bool) -> "Schedule":
    import msgspec

    from noetl.cli.connection import connection, embedded_engine
    from noetl.ports.front import ScheduleAsk

    async with connection.reached(embedded_engine.settings()) as reached:
        found = msgspec.structs.asdict(await reached.front.schedule(name))
        fields = {field: found[field] for field in ScheduleAsk.__struct_fields__}
        return await reached.front.put_schedule(ScheduleAsk(**{**fields, "enabled": enabled, "by": caller()}))


@command.command("run")
@click.argument("name")
@options.showing
@options.timeout
@options.server
def run(name: str, **given: Any) -> int:
    """Start at once what a schedule starts, and say how it went; its ticks stay where they are."""
    from noetl.cli.connection import embedded_engine
    from noetl.cli.running import run_flow

    watch = run_flow.watcher(**options.shown(given))
    return asyncio.run(run_flow.run_schedule(embedded_engine.settings(), name, watch, given["timeout"]))


def times(schedule: "Schedule") -> str:
    """When a schedule is due, in words."""
    if schedule.cron is None:
        return f"every {schedule.every_s} s"
    return f"'{schedule.cron}' {schedule.timezone}"


def _moment(ms: int | None) -> str:
    from noetl.core.event import iso

    return f"{iso(ms or 0)[:19].replace('T', ' ')} UTC"


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _print(schedule: "Schedule") -> None:
    from noetl.cli.running.run_summary import pretty
    from noetl.ports.schedule import schedule_facts

    emit(pretty(schedule_facts(schedule)))
