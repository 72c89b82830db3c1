"""What tasks wrote to their output, read back from event envelopes: a line each, with its place. Pure."""

from collections.abc import Iterator
from typing import Any


def lines_of(envelope: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines that an event carries; only the end of a task has any."""
    for text in envelope["data"].get("logs") or ():
        yield {
            "seq": envelope["seq"],
            "ts": envelope["ts"],
            "step": envelope.get("step"),
            "task": envelope.get("task_label"),
            "iteration": address_of(envelope),
            "attempt": envelope.get("attempt"),
            "text": text,
        }


def address_of(envelope: dict[str, Any]) -> str | None:
    """Where in its step run a task runs: `[2]`, `[2]/call[0]`; None outside loops and blocks."""
    own = f"/{envelope.get('task_label')}.{envelope.get('visit') or 1}"
    place = str(envelope.get("task_run_id", "")).removesuffix(own)
    return place.removeprefix(envelope.get("step_run_id", "")) or None
