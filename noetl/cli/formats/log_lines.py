"""A line of a task's log as a terminal shows it: with the colours of the task, and no other control."""

import re
import sys
from typing import TextIO

from noetl.cli.formats.text import printable
from noetl.cli.terminal import Paint, Tone, colourful
from noetl.ports.answers import LogLine

TONES: dict[str, Tone] = {"warning": "warning", "error": "error", "critical": "error"}
ID_CHARS = 8
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_PLAIN = "\x1b[0m"


class LineFormat:
    """Time, place and text; of a child also which execution it is."""

    def __init__(self, execution_id: str, stream: TextIO | None = None) -> None:
        self._id, stream = execution_id, stream or sys.stdout
        self._paint, self._on_terminal = Paint(colourful(stream)), stream.isatty()

    def __call__(self, line: LogLine) -> str:
        """One line."""
        place = f"{line['step']}{line['iteration'] or ''}/{line['task']}" if line["task"] else "-"
        if line["execution_id"] != self._id:
            place = f"{line['execution_id'][-ID_CHARS:]}:{place}"
        attempt = f" attempt {line['attempt']}" if (line["attempt"] or 1) > 1 else ""
        level = (line["level"] or "").upper()
        said = not level or line["text"].startswith((level, "{"))
        text = line["text"] if said else f"{level}  {line['text']}"
        if self._on_terminal and not text.isprintable():
            text = self._safe(text)
        tone = TONES.get(line["level"] or "")
        return f"{line['ts'][11:23]}  {place}{attempt}  {self._paint(text, tone) if tone else text}"

    def _safe(self, text: str) -> str:
        """What neither moves the cursor nor says anything else to the terminal."""
        parts, colours = _COLOUR.split(text), _COLOUR.findall(text)
        shown = [*colours, _PLAIN] if self._paint.on and colours else [""] * len(parts)
        return "".join(printable(part) + colour for part, colour in zip(parts, shown, strict=True))
