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
            "iteration": _place(envelope),
            "attempt": envelope.get("attempt"),
            "text": text,
        }


def _place(envelope: dict[str, Any]) -> str | None:
    """The address of the pipeline inside its step run."""
    task = envelope.get("task_run_id", "")
    address = str(task).removeprefix(envelope.get("step_run_id", "")).rpartition("/")[0]
    return address or None
