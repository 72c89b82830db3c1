"""A line of a task's log as a terminal shows it."""

import sys

from noetl.cli.terminal import Paint, Tone, colourful
from noetl.ports.answers import LogLine

TONES: dict[str, Tone] = {"warning": "warning", "error": "error", "critical": "error"}
ID_CHARS = 8


class LineFormat:
    """Time, place and text; of a child also which execution it is."""

    def __init__(self, execution_id: str, paint: Paint | None = None) -> None:
        self._id = execution_id
        self._paint = paint or Paint(colourful(sys.stdout))

    def __call__(self, line: LogLine) -> str:
        """One line."""
        place = f"{line['step']}{line['iteration'] or ''}/{line['task']}" if line["task"] else "-"
        if line["execution_id"] != self._id:
            place = f"{line['execution_id'][-ID_CHARS:]}:{place}"
        attempt = f" attempt {line['attempt']}" if (line["attempt"] or 1) > 1 else ""
        level = (line["level"] or "").upper()
        said = not level or line["text"].startswith((level, "{"))
        text = line["text"] if said else f"{level}  {line['text']}"
        tone = TONES.get(line["level"] or "")
        return f"{line['ts'][11:23]}  {place}{attempt}  {self._paint(text, tone) if tone else text}"
