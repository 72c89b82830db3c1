"""`noetl trigger`: playbooks that are started by messages. A webhook's secret is shown once."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from noetl.cli import options
from noetl.cli.connection.caller import caller
from noetl.cli.terminal import emit, note

if TYPE_CHECKING:
    from noetl.ports.front import NewTrigger
    from noetl.ports.schedule import Trigger

EPILOG = """\b
Examples:
  noetl trigger add push team/build --webhook --as event
  noetl trigger add orders team/order --subject orders.new --as order
  noetl trigger list
  noetl trigger delete push

What a message says, as JSON, becomes the workload's key that --as names.
"""


@click.group("trigger", epilog=EPILOG)
def command() -> None:
    """Start playbooks by messages: calls of a webhook, or a NATS subject."""


@command.command("add")
@click.argument("name")
@click.argument("path")
@click.option("--webhook", is_flag=True, help="By a POST to /api/v1/hooks/NAME of a server.")
@click.option("--secret", metavar="TEXT|-", help="The webhook's secret; `-` reads it.  [default: a new one]")
@click.option("--subject", metavar="SUBJECT", help="By a message on this NATS subject of the servers' bus.")
@click.option("--queue", metavar="GROUP", help="The queue group that the servers share.")
@click.option("--as", "payload_key", metavar="KEY", default="payload", show_default=True,
              help="The workload's key for what the message says.")  # fmt: skip
@options.workload
@options.server
@options.as_json
def add(name: str, path: str, as_json: bool, **given: Any) -> None:
    """Start the registered playbook PATH by messages; of a webhook, print its secret, this once."""
    if given["webhook"] == (given["subject"] is not None):
        raise click.UsageError("give either --webhook or --subject SUBJECT")
    made = asyncio.run(_added(name, options.path(path), **given))
    if as_json:
        from noetl.cli.running.run_summary import pretty
        from noetl.ports.schedule import trigger_facts

        emit(pretty({**trigger_facts(made.trigger), "secret": made.secret}))
        return
    if made.secret is not None and given["secret"] is None:
        emit(made.secret)
        note(f"the secret of {name} is not shown again; callers send it as X-Noetl-Secret, or sign with it")
    note(f"trigger {name}: {_words(made.trigger)}")
    if made.trigger.kind == "nats":
        note("servers that have a bus (NOETL_BUS) listen; what is said while none runs starts nothing")


async def _added(name: str, path: str, **given: Any) -> "NewTrigger":
    from noetl.cli.connection import connection, embedded_engine
    from noetl.cli.running.run_input import read_payload
    from noetl.ports.front import TriggerAsk

    if given["secret"] == "-" and given["file"] == "-":
        raise click.UsageError("only one of --secret and --input can read standard input")
    secret = sys.stdin.read().removesuffix("\n") if given["secret"] == "-" else given["secret"]
    ask = TriggerAsk(
        by=caller(),
        name=name,
        kind="webhook" if given["webhook"] else "nats",
        path=path,
        version=given["version"],
        workload=read_payload(given["file"], given["assignments"]),
        payload_key=given["payload_key"],
        secret=secret,
        subject=given["subject"],
        queue=given["queue"],
    )
    async with connection.reached(embedded_engine.settings(), make=True) as reached:
        return await reached.front.put_trigger(ask, new=True)


@command.command("list")
@options.server
@options.as_json
def list_triggers(as_json: bool) -> None:
    """List triggers: what each listens to, and what it starts."""
    from noetl.cli.running.run_summary import pretty
    from noetl.ports.schedule import trigger_facts

    found = asyncio.run(_all())
    if as_json:
        emit(pretty([trigger_facts(one) for one in found]))
        return
    if not found:
        note("no triggers; make one with: noetl trigger add NAME PATH --webhook")
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        emit(f"{one.name:<{width}}  {_words(one)}{'' if one.enabled else '  (paused)'}")


async def _all() -> "list[Trigger]":
    from noetl.cli.connection import connection, embedded_engine

    settings = embedded_engine.settings()
    if not connection.anything(settings):
        return []
    async with connection.reached(settings) as reached:
        return list(await reached.front.triggers())


@command.command("show")
@click.argument("name")
@options.server
@options.as_json
def show(name: str, as_json: bool) -> None:
    """Show what a trigger listens to and what it starts; never its secret."""
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import pretty
    from noetl.ports.schedule import trigger_facts

    found = asyncio.run(connection.asked(lambda front: front.trigger(name)))
    facts = trigger_facts(found)
    if as_json:
        emit(pretty(facts))
        return
    emit(f"{name}: {_words(found)}{'' if found.enabled else '  (paused)'}")
    emit(f"payload: workload.{found.payload_key}\nmade: {facts['created_at'][:19]} by {found.by}")


@command.command("delete")
@click.argument("name")
@options.server
def delete(name: str) -> None:
    """Forget a trigger and its secret."""
    from noetl.cli.connection import connection

    asyncio.run(connection.asked(lambda front: front.delete_trigger(name)))
    note(f"deleted {name}")


def _words(trigger: "Trigger") -> str:
    from noetl.ports.schedule import HOOKS

    version = f" v{trigger.version}" if trigger.version is not None else ""
    heard = f"POST {HOOKS}{trigger.name}" if trigger.kind == "webhook" else f"NATS {trigger.subject}"
    return f"{heard} starts {trigger.path}{version}"
