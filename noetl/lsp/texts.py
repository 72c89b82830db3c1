"""The texts that an editor has open, in its way of counting.

Lines end where the protocol says they do, and nowhere else; the last one may be empty. Columns of an editor
are in units that both have agreed on, most often UTF-16, where this program counts characters.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lsprotocol import types

Units = Callable[[str], int]  # how long an editor says that a text is
_END = re.compile(r"\r\n|\n|\r")
UNITS: Mapping[str, Units] = {
    types.PositionEncodingKind.Utf8: lambda text: len(text.encode(errors="surrogatepass")),
    types.PositionEncodingKind.Utf16: lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    types.PositionEncodingKind.Utf32: len,
}


@dataclass(frozen=True)
class Text:
    """One version of an open text."""

    source: str
    version: int | None
    units: Units

    @cached_property
    def lines(self) -> list[str]:
        """Without their ends; one more than there are ends."""
        return _END.split(self.source)

    def place(self, position: types.Position) -> tuple[int, int]:
        """A place of the editor as a line and a character; what is beyond a line or the text is its end."""
        if position.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return position.line, self._character(self.lines[position.line], position.character)

    def position(self, line: int, character: int) -> types.Position:
        """A place as the editor counts."""
        if line >= len(self.lines):
            line, character = len(self.lines) - 1, len(self.lines[-1])
        return types.Position(line, self.units(self.lines[line][:character]))

    def changed(self, change: types.TextDocumentContentChangeEvent, version: int | None) -> "Text":
        """The text after one change of it, or the new text that the editor has sent."""
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return Text(change.text, version, self.units)
        first, last = self._offset(change.range.start), self._offset(change.range.end)
        return Text(self.source[:first] + change.text + self.source[last:], version, self.units)

    def _offset(self, position: types.Position) -> int:
        line, character = self.place(position)
        return self._begins[line] + character

    @cached_property
    def _begins(self) -> list[int]:
        return [0, *(end.end() for end in _END.finditer(self.source))]

    def _character(self, line: str, units: int) -> int:
        if line.isascii():
            return min(units, len(line))
        before = 0
        for number, character in enumerate(line):
            if before >= units:
                return number
            before += self.units(character)
        return len(line)


def beginning(source: str, version: int | None, encoding: str | None) -> Text:
    """A text that an editor has opened, or a file."""
    return Text(source, version, UNITS.get(encoding or "", UNITS[types.PositionEncodingKind.Utf16]))
