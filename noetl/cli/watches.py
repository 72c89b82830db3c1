"""What a run shows: one JSON object, a stream of events, or words for a person."""

import sys
from typing import Any

import msgspec

from noetl.cli.formats.json import finding
from noetl.cli.render import Paint, colourful, emit, note
from noetl.cli.sources import Source
from noetl.control.engine import Listener
from noetl.core.event import Event, envelope, step_of
from noetl.errors import PlaybookError
from noetl.wiring.embedded import Embedded


def pretty(value: Any) -> str:
    """A value as indented JSON text."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


class JsonWatch:
    """`--json`: nothing but one object at the end."""

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The findings instead of a result."""
        found = [finding(item) for item in error.diagnostics]
        emit(pretty({"status": "rejected", "diagnostics": found}))

    def began(self, made: Embedded, execution_id: str) -> Listener | None:
        """Say nothing."""
        return None

    def ended(self, result: dict[str, Any]) -> None:
        """The result."""
        emit(pretty(result))


class EventWatch:
    """`--events`: every event of the execution, a line each, as it is committed."""

    def __init__(self) -> None:
        self._seen = 0

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """Findings are no events; they go where errors go."""
        _print_findings(source, error)

    def began(self, made: Embedded, execution_id: str) -> Listener | None:
        """Print what is committed, once each, in order."""
        wanted = execution_id

        def heard(execution_id: str, first: int, events: list[Event]) -> None:
            if execution_id != wanted:
                return
            for seq, event in enumerate(events, first):
                if seq > self._seen:
                    self._seen = seq
                    emit(msgspec.json.encode(envelope(execution_id, seq, event)).decode())

        return heard

    def ended(self, result: dict[str, Any]) -> None:
        """The last event said it."""


class TextWatch:
    """For a person: plain lines as steps end, and a closing tally."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self._paint = Paint(colourful(sys.stderr))
        self._seen = 0

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The findings like a compiler's."""
        _print_findings(source, error)

    def began(self, made: Embedded, execution_id: str) -> Listener | None:
        """Say which execution it is, then tell of its steps."""
        if self.quiet:
            return None
        note(f"execution {execution_id}")
        wanted = execution_id

        def heard(execution_id: str, first: int, events: list[Event]) -> None:
            if execution_id == wanted:
                for seq, event in enumerate(events, first):
                    if seq > self._seen:
                        self._seen = seq
                        self._tell(event)

        return heard

    def _tell(self, event: Event) -> None:
        if event.name in ("step.done", "loop.done", "step.failed") and event.run:
            well = event.name != "step.failed"
            mark = self._paint("done" if well else "failed", "good" if well else "error")
            loop = ((event.data or {}).get("output") or {}).get("loop")
            counts = f"  {loop['done']}/{loop['total']} ok · {loop['failed']} failed" if loop else ""
            note(f"  {mark}  {step_of(event.run)}{counts}")

    def ended(self, result: dict[str, Any]) -> None:
        """The tally, the output, and on failure where to look."""
        if result["status"] == "completed" and result["output"] is not None:
            emit(pretty(result["output"]))
        if result["error"] is not None:
            self._failure(result)
        if not self.quiet:
            counts = result["counts"]
            tone = "good" if result["status"] == "completed" else "error"
            note(
                f"{self._paint(result['status'], tone)} in {result['duration_ms']} ms: "
                f"{counts['steps']} steps, {counts['tasks']} tasks, {counts['events']} events"
            )

    def _failure(self, result: dict[str, Any]) -> None:
        error = result["error"]
        place = " ".join(f"{part} {error[part]}" for part in ("step", "task", "iteration") if error.get(part))
        note(f"{self._paint('error', 'error')}[{error['kind']}] {place}: {error['message']}")
        note(f"  try: noetl execution why {result['execution_id']}")


def _print_findings(source: Source, error: PlaybookError) -> None:
    from noetl.cli.checked import check
    from noetl.cli.formats import text

    checked = check(source)
    note(text.render([checked], colour=colourful(sys.stderr)))
