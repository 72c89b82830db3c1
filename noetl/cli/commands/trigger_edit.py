"""`noetl trigger edit`, `pause` and `resume`: a trigger is changed in place."""

import sys
from typing import TYPE_CHECKING, Unpack

import click

from noetl.cli import completers, options
from noetl.cli.change_in_place import changed, changes_of
from noetl.cli.command_classes import Command
from noetl.cli.formats.trigger_text import batch_of, trigger_words
from noetl.cli.terminal import emit_json, note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noetl.ports.schedule import Trigger

NONE = "none"  # takes off what a trigger need not have
OWN = {  # options by the kind that they are of
    "webhook": ("secret",),
    "nats": ("subject", "queue"),
    "playbook": ("after", "match", "on", "children"),
    "object": ("source", "every", "auth"),
}


@click.command("edit", cls=Command)
@click.argument("name", shell_complete=completers.triggers)
@click.option(
    "--path", metavar="PATH", shell_complete=completers.playbooks, help="Start another registered playbook."
)
@click.option("--secret", metavar="TEXT|-", help="Of a webhook: another secret; `-` reads it.")
@click.option("--subject", metavar="SUBJECT", help="Another NATS subject.")
@click.option("--queue", metavar="GROUP", help="Another queue group.")
@click.option(
    "--after",
    metavar="PATH",
    shell_complete=completers.playbooks,
    multiple=True,
    help="These playbooks instead. May be given again.",
)
@click.option("--all/--any", "each", default=None, help="Wait until each of them has ended, or any one.")
@click.option("--on", metavar="END,...", help="Which ends: completed, failed.")
@click.option("--children/--no-children", default=None, help="Whether ends of children count.")
@click.option("--objects", "source", metavar="PLACE", help="Objects of another place.")
@click.option("--every", metavar="SPAN", help="How often to look for objects.")
@click.option("--auth", metavar="NAME", help="The credential of their place; none: without one.")
@click.option("--filter", "condition", metavar="TEMPLATE", help="Only what this holds for; none: everything.")
@click.option("--debounce", metavar="SPAN", help="Wait until nothing arrives for so long; none: do not.")
@click.option("--batch", metavar="MAX/SPAN", help="Start once for several; none: for each.")
@click.option("--as", "payload_key", metavar="KEY", help="The workload's key for what the message says.")
@options.workload
@options.server
@options.as_json
async def edit(
    name: str,
    *,
    as_json: bool,
    path: str | None,
    secret: str | None,
    subject: str | None,
    queue: str | None,
    after: tuple[str, ...],
    each: bool | None,
    on: str | None,
    children: bool | None,
    source: str | None,
    every: str | None,
    auth: str | None,
    condition: str | None,
    debounce: str | None,
    batch: str | None,
    payload_key: str | None,
    **start: Unpack[options.WorkloadChoices],
) -> None:
    """Change a trigger in place: what is not given stays. A workload is replaced as a whole."""
    from noetl.ports.schedule import trigger_facts

    given = {
        "path": path,
        "secret": sys.stdin.read().removesuffix("\n") if secret == "-" else secret,
        "subject": subject,
        "queue": queue,
        "after": list(after) or None,
        "match": None if each is None else "all" if each else "any",
        "on": None if on is None else [end.strip() for end in on.split(",")],
        "children": children,
        "source": source,
        "every": every,
        "auth": auth,
        "filter": condition,
        "debounce": debounce,
        "batch": batch if batch in (None, NONE) else batch_of(batch or ""),
        "payload_key": payload_key,
    }
    changes = changes_of(given, start, example="--batch 50/10s")
    for field in ("auth", "filter", "debounce", "batch"):
        changes |= {field: None} if changes.get(field) == NONE else {}
    trigger = await _change(name, changes)
    if as_json:
        emit_json(trigger_facts(trigger))
    else:
        note(f"trigger {name}: {trigger_words(trigger)}")


@click.command("pause", cls=Command)
@click.argument("name", shell_complete=completers.triggers)
@options.server
async def pause(name: str) -> None:
    """Let a trigger rest: what arrives meanwhile starts nothing."""
    await _change(name, {"enabled": False})
    note(f"paused {name}; go on with: noetl trigger resume {name}")


@click.command("resume", cls=Command)
@click.argument("name", shell_complete=completers.triggers)
@options.server
async def resume(name: str) -> None:
    """Let a paused trigger go on."""
    await _change(name, {"enabled": True})
    note(f"resumed {name}")


async def _change(name: str, changes: "Mapping[str, object]") -> "Trigger":
    from noetl.cli.connection.connection import connect
    from noetl.ports.schedule import TriggerAsk

    async with connect() as connection:
        found = await connection.front.trigger(name)
        for kind, fields in OWN.items():
            for field in fields:
                if kind != found.kind and field in changes:
                    raise click.UsageError(f"{name} is a trigger of the kind {found.kind}: it has no {field}")
        kept_secret = {"secret": None}  # only its digest is known; what is not given stays
        wanted = changed(TriggerAsk, found, {**kept_secret, **changes})
        return (await connection.front.put_trigger(wanted)).trigger
