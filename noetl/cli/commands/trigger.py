"""`noetl trigger`: playbooks that are started by what arrives. A webhook's secret is shown once."""

import sys
from typing import TYPE_CHECKING, Literal, Unpack

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Group
from noetl.cli.commands.trigger_edit import edit, pause, resume
from noetl.cli.connection.caller import caller
from noetl.cli.formats.trigger_text import batch_of, trigger_words
from noetl.cli.terminal import emit, emit_json, emit_list, note, width_of

if TYPE_CHECKING:
    from noetl.ports.arrival import Arrival
    from noetl.ports.schedule import Trigger

SHOWN = 120  # characters of what arrived
Kind = Literal["webhook", "nats", "playbook", "object"]
EPILOG = """\b
Examples:
  noetl trigger add push team/build --webhook --as event
  noetl trigger add orders team/order --subject orders.new --as order
  noetl trigger add report team/report --after team/load --after team/clean --all
  noetl trigger add alarm team/repair --after 'team/*' --on failed --as ended
  noetl trigger add drop team/import --objects s3://inbox/csv --auth store --batch 50/10s
  noetl trigger edit drop --batch 100/30s
  noetl trigger list
  noetl trigger history report
  noetl trigger delete push

What arrived (a message, or which execution ended and what it gave) becomes
the workload's key that --as names; templates read it as trigger.payload too.
"""


@click.group("trigger", cls=Group, epilog=EPILOG)
def command() -> None:
    """Start playbooks by what arrives: calls, messages, ends of others, objects."""


@command.command("add")
@click.argument("name")
@click.argument("path", shell_complete=completers.playbooks)
@click.option("--webhook", is_flag=True, help="By a POST to /api/v1/hooks/NAME of a server.")
@click.option("--secret", metavar="TEXT|-", help="The webhook's secret; `-` reads it.  [default: a new one]")
@click.option("--subject", metavar="SUBJECT", help="By a message on this NATS subject of the servers' bus.")
@click.option("--queue", metavar="GROUP", help="The queue group that the servers share.")
@click.option(
    "--after",
    metavar="PATH",
    shell_complete=completers.playbooks,
    multiple=True,
    help="By the end of this playbook; `*` and `?` stand for any characters. May be given again.",
)
@click.option("--all", "each", is_flag=True, help="Wait until each of the --after has ended, not any one.")
@click.option("--on", metavar="END,...", help="Which ends: completed, failed.  [default: completed]")
@click.option("--children", is_flag=True, help="Count ends of executions that others started, too.")
@click.option(
    "--objects",
    "source",
    metavar="PLACE",
    help="By objects that arrive in s3://BUCKET/PREFIX, gs://, az:// or a folder of the servers.",
)
@click.option("--every", metavar="SPAN", help="How often to look for objects.  [default: 30s]")
@click.option("--auth", metavar="NAME", help="The credential of the place with the objects.")
@click.option("--existing", is_flag=True, help="Let the objects that are there already arrive, too.")
@click.option(
    "--filter",
    "condition",
    metavar="TEMPLATE",
    help="Only what this holds for, as in \"{{ trigger.payload.status == 'paid' }}\".",
)
@click.option("--debounce", metavar="SPAN", help="Wait until nothing arrives for so long; the newest counts.")
@click.option(
    "--batch",
    metavar="MAX/SPAN",
    help="Start once for up to MAX that arrive within a SPAN of the first, as in 100/5s.",
)
@click.option("--as", "payload_key", metavar="KEY", default="payload", show_default=True,
              help="The workload's key for what the message says.")  # fmt: skip
@options.workload
@options.server
@options.as_json
async def add(
    name: str,
    path: str,
    *,
    as_json: bool,
    webhook: bool,
    secret: str | None,
    subject: str | None,
    queue: str | None,
    after: tuple[str, ...],
    each: bool,
    on: str | None,
    children: bool,
    source: str | None,
    every: str | None,
    auth: str | None,
    existing: bool,
    condition: str | None,
    debounce: str | None,
    batch: str | None,
    payload_key: str,
    **start: Unpack[options.WorkloadChoices],
) -> None:
    """Start the registered playbook PATH by what arrives; of a webhook, print its secret, this once."""
    if [webhook, subject is not None, bool(after), source is not None].count(True) != 1:
        raise click.UsageError("give one of --webhook, --subject SUBJECT, --after PATH and --objects PLACE")
    if source is None and (every is not None or auth is not None or existing):
        raise click.UsageError("--every, --auth and --existing go with --objects PLACE")
    if not after and (each or on is not None or children):
        raise click.UsageError("--all, --on and --children go with --after PATH")
    if secret == start["file"] == "-":
        raise click.UsageError("only one of --secret and --input can read standard input")
    from noetl.cli.connection.connection import connect
    from noetl.ports.schedule import TriggerAsk, trigger_facts

    by, started = caller(), options.playbook_start(path, start)
    kind: Kind = "webhook" if webhook else "playbook" if after else "nats" if subject else "object"
    ask = TriggerAsk(by=by, name=name, kind=kind, after=list(after), **started)
    ask.match, ask.children = "all" if each else "any", children
    ask.source, ask.auth, ask.existing, ask.every = source, auth, existing, every or ask.every
    ask.filter, ask.debounce, ask.batch = condition, debounce, None if batch is None else batch_of(batch)
    if on is not None:
        ask.on = [end.strip() for end in on.split(",")]  # type: ignore[misc]  # checked with the rest
    ask.payload_key, ask.subject, ask.queue = payload_key, subject, queue
    ask.secret = sys.stdin.read().removesuffix("\n") if secret == "-" else secret
    async with connect(make=True) as connection:
        new_trigger = await connection.front.put_trigger(ask, new=True)
    if as_json:
        emit_json({**trigger_facts(new_trigger.trigger), "secret": new_trigger.secret})
        return
    if new_trigger.secret is not None and secret is None:
        emit(new_trigger.secret)
        note(f"the secret of {name} is not shown again; callers send it as X-Noetl-Secret, or sign with it")
    note(f"trigger {name}: {trigger_words(new_trigger.trigger)}")
    if new_trigger.trigger.kind == "nats":
        note("servers that have a bus (NOETL_BUS) listen; what is said while none runs starts nothing")
    if kind == "object":
        what = "with what is there already" if existing else "what is there already is passed over"
        note(f"servers look, first within a second; {what}")
    if kind == "playbook":
        note("servers fire it; what ends while none runs is kept until one does")


for change in (edit, pause, resume):
    command.add_command(change)


@command.command("list")
@options.server
@options.as_json
async def list_triggers(as_json: bool) -> None:
    """List triggers: what each listens to, and what it starts."""
    from noetl.cli.connection.connection import list_from_front
    from noetl.ports.schedule import trigger_facts

    triggers = await list_from_front(lambda front: front.triggers())
    width = width_of(trigger.name for trigger in triggers)
    empty = "no triggers; make one with: noetl trigger add NAME PATH --webhook"
    emit_list(
        triggers,
        lambda trigger: f"{trigger.name:<{width}}  {trigger_words(trigger)}{_standing(trigger)}",
        fields=trigger_facts,
        empty=empty,
        as_json=as_json,
    )


@command.command("show")
@click.argument("name", shell_complete=completers.triggers)
@options.server
@options.as_json
async def show(name: str, as_json: bool) -> None:
    """Show what a trigger listens to and what it starts; never its secret."""
    from noetl.cli.connection.connection import call_front
    from noetl.core.event import iso
    from noetl.ports.schedule import trigger_facts

    trigger = await call_front(lambda front: front.trigger(name))
    facts = trigger_facts(trigger)
    if as_json:
        emit_json(facts)
        return
    emit(f"{name}: {trigger_words(trigger)}{_paused(trigger)}")
    waits = {"filter": trigger.filter, "debounce": trigger.debounce}
    if trigger.batch is not None:
        waits["batch"] = f"up to {trigger.batch.max} within {trigger.batch.within}"
    for what, value in waits.items():
        if value is not None:
            emit(f"{what}: {value}")
    emit(f"payload: workload.{trigger.payload_key}\nmade: {iso(trigger.created_at)[:19]} by {trigger.by}")
    if trigger.last_at is not None:
        emit(f"last: {iso(trigger.last_at)[:19]} {trigger.last_error or trigger.last_execution}")
    if trigger.pending:
        emit(f"pending: {trigger.pending}")


@command.command("history")
@click.argument("name", shell_complete=completers.triggers)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many.")
@options.server
@options.as_json
async def history(name: str, limit: int, as_json: bool) -> None:
    """List what arrived for a trigger and what became of it, the newest first."""
    from noetl.cli.connection.connection import call_front
    from noetl.ports.arrival import arrival_facts

    arrivals = await call_front(lambda front: front.arrivals(name, limit))
    empty = f"nothing that {name} had to wait with has arrived"
    emit_list(arrivals, _arrival_line, fields=arrival_facts, empty=empty, as_json=as_json)


@command.command("delete")
@click.argument("name", shell_complete=completers.triggers)
@options.server
async def delete(name: str) -> None:
    """Forget a trigger and its secret."""
    from noetl.cli.connection.connection import call_front

    await call_front(lambda front: front.delete_trigger(name))
    note(f"deleted {name}")


def _arrival_line(arrival: "Arrival") -> str:
    from noetl.core.event import iso

    became = arrival.execution or arrival.error or ""
    what = arrival.body if len(arrival.body) <= SHOWN else f"{arrival.body[: SHOWN - 1]}…"
    return f"{iso(arrival.at)[:19]}  {arrival.state:<10}  {what}  {became}".rstrip()


def _paused(trigger: "Trigger") -> str:
    return "" if trigger.enabled else "  (paused)"


def _standing(trigger: "Trigger") -> str:
    return _paused(trigger) + (f"  failed last: {trigger.last_error}" if trigger.last_error else "")
