"""Lines out of the bytes that a program writes, and the level that a line says it has. Pure.

A level is known where Python's `logging` wrote the line, or the line is a JSON object that names one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

LINE_BYTES = 8 * 1024
LEVELS = ("debug", "info", "warning", "error", "critical")
# Before each line of `logging` inside a python task: the number of its level between these two.
LEVEL_MARK, LEVEL_END = "\x1e", "\x1f"
_NAMES = {
    **{level: level for level in LEVELS},
    "trace": "debug",
    "notice": "info",
    "information": "info",
    "warn": "warning",
    "err": "error",
    "crit": "critical",
    "alert": "critical",
    "emergency": "critical",
    "fatal": "critical",
    "panic": "critical",
}
_BASIC = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:")  # as `logging.basicConfig()` writes
_MARKED = re.compile(f"{LEVEL_MARK}([0-9]{{1,9}}){LEVEL_END}")


class Line(NamedTuple):
    """A line as it was written: when, its level where it says one, and its text."""

    ts: int
    level: str | None
    text: str


class LineSplitter:
    """Cuts one output of a program into lines; what is too long of a line is counted and left out."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._left_out = 0

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that are whole now."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._keep(part)
            yield self._line()
        self._keep(rest)

    def end(self) -> Iterator[str]:
        """The line that has no end."""
        if self._rest or self._left_out:
            yield self._line()

    def _keep(self, part: bytes) -> None:
        room = LINE_BYTES - len(self._rest)
        self._rest += part[:room]
        self._left_out += max(len(part) - room, 0)

    def _line(self) -> str:
        text = self._rest.decode("utf-8", "replace").replace("\0", "\ufffd").removesuffix("\r")
        text = text.rpartition("\r")[2]  # a progress bar: what a terminal would show in the end
        if self._left_out:
            text = f"{text} … {self._left_out} bytes left out"
        self._rest.clear()
        self._left_out = 0
        return text


def level_of(text: str) -> tuple[str | None, str]:
    """The level that a line says it has, and the line as it is shown."""
    if text.startswith(LEVEL_MARK) and (marked := _MARKED.match(text)):
        return level_of_number(int(marked[1])), text[marked.end() :]
    if text.startswith("{"):
        return _level_in_json(text), text
    basic = _BASIC.match(text)
    return (basic[1].lower() if basic else None), text


def level_of_number(number: int) -> str:
    """The level that a number of Python's `logging` means."""
    return LEVELS[min(max(number // 10 - 1, 0), len(LEVELS) - 1)]


def _level_in_json(text: str) -> str | None:
    try:
        fields = _FIELDS.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    named = (fields.level, fields.levelname, fields.severity)
    found = next((name for name in named if isinstance(name, str)), "")
    return _NAMES.get(found.strip().lower())


class _Fields(msgspec.Struct):
    level: object = None
    levelname: object = None
    severity: object = None


_FIELDS = msgspec.json.Decoder(_Fields)
