"""What tasks wrote to their output, read back from event envelopes: a line each, with its place. Pure.

A task that failed says so below what it printed, with its traceback and what else its error carries.
"""

from collections.abc import Iterator
from typing import Any

from noetl.core.event import EventEnvelope
from noetl.core.reading import explain_text


def lines_of(envelope: EventEnvelope) -> Iterator[dict[str, Any]]:
    """The lines that an event carries; only the end of a task has any."""
    place = {
        "seq": envelope["seq"],
        "ts": envelope["ts"],
        "step": envelope.get("step"),
        "task": envelope.get("task_label"),
        "iteration": address_of(envelope),
        "attempt": envelope.get("attempt"),
    }
    for text, level in texts_of(envelope["data"]):
        yield {**place, "text": text, "level": level}


def texts_of(data: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What the end of a task has to say, and the level of each line where it is known."""
    for text in data.get("logs") or ():
        yield str(text), None
    error = (data.get("output") or {}).get("error")
    if error:
        yield explain_text.error(error), "error"
        for _, lines in explain_text.details(error):
            yield from ((line, "error") for line in lines)


def address_of(envelope: EventEnvelope) -> str | None:
    """Where in its step run a task runs: `[2]`, `[2]/call[0]`; None outside loops and blocks."""
    own = f"/{envelope.get('task_label')}.{envelope.get('visit') or 1}"
    place = str(envelope.get("task_run_id", "")).removesuffix(own)
    return place.removeprefix(envelope.get("step_run_id", "")) or None
