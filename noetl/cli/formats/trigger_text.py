"""Triggers in the words of the command line."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noetl.ports.schedule import Trigger, TriggerBatch


def trigger_words(trigger: "Trigger") -> str:
    """What starts which playbook."""
    from noetl.ports.schedule import HOOKS

    version = f" v{trigger.version}" if trigger.version is not None else ""
    source = f"NATS {trigger.subject}"
    if trigger.kind == "webhook":
        source = f"POST {HOOKS}{trigger.name}"
    elif trigger.kind == "object":
        source = f"objects in {trigger.source} every {trigger.every}"
    elif trigger.kind == "playbook":
        named = (" and " if trigger.match == "all" else " or ").join(trigger.after)
        source = f"{' or '.join(trigger.on)}: {named}"
    return f"{source} starts {trigger.path}{version}"


def batch_of(text: str) -> "TriggerBatch":
    """A batch as it is written on the command line; raises UsageError."""
    from noetl.ports.schedule import TriggerBatch

    most, slash, within = text.partition("/")
    if not slash or not most.isascii() or not most.isdigit() or len(most) > 9:
        raise click.UsageError(f"--batch is '{text[:80]}'; write how many, / and a span, as in 100/5s")
    return TriggerBatch(int(most), within)
