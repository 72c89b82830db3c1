"""Where the cursor is in a text that is being typed: the way to it from the root, and what is on that way.

A mark is put where the cursor is and the text is read with it, so that the one reader of YAML decides what a
place means. Positions here count from 0, as editors do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, Value

MARK = "noetl_cursor_here"
TEMPLATES = (("{{", "}}"), ("{%", "%}"))
VALUE_LINES = 50  # of a value that is looked through for the opening of a template
_KEY = re.compile(r"\s*(?:- +)?[\w.\"'/-]+\s*:(?:\s|$)")
_TYPED = re.compile(r"[\w./@-]*$")
_REST = re.compile(r"[\w./@-]*")
Way = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place: the way to the container, the containers on it, and the key whose value is typed."""

    way: Way
    containers: tuple[Value, ...]  # the root first, the one that the cursor is in last
    typed: str
    key: str | None = None

    @property
    def root(self) -> Value:
        """The whole document, as far as it can be read."""
        return self.containers[0]


def template_before(lines: Sequence[str], line: int, column: int) -> str | None:
    """What stands between the opening of a template and the cursor; None outside of templates."""
    before = "\n".join([*_of_one_value(lines, line), lines[line][:column]])
    opened, closing = max((before.rfind(opening), closing) for opening, closing in TEMPLATES)
    if opened < 0 or closing in before[opened:]:
        return None
    return before[opened + len(closing) :]


def _of_one_value(lines: Sequence[str], line: int) -> Sequence[str]:
    """The lines above one that may belong to the same value: up to the next key."""
    first = line
    while first > 0 and line - first < VALUE_LINES and not _KEY.match(lines[first]):
        first -= 1
    return lines[first:line]


def cursor_at(lines: Sequence[str], line: int, column: int) -> Cursor | None:
    """The place of a cursor; None where nothing can be typed that has a meaning."""
    before, after = lines[line][:column], lines[line][column:]
    match = _TYPED.search(before)
    typed = match.group() if match else ""
    head = before[: len(before) - len(typed)]
    rest = after[len(_REST.match(after).group()) :]  # type: ignore[union-attr]
    for marked in _marked(head, rest):
        for text in (
            [*lines[:line], marked, *lines[line + 1 :]],
            [*lines[:line], marked],  # what follows may be half written, too
        ):
            place = _find(parse("\n".join(text)).tree, typed)
            if place is not None:
                return place
    return None


def _marked(head: str, rest: str) -> list[str]:
    """The line with the mark in it, as a value or as a key, with what must be closed to be read."""
    opened = head.count("{") - head.count("}") - 2 * (head.count("{{") - head.count("}}"))
    closing = "}" * max(0, opened - rest.count("}"))
    if head.rstrip().endswith(":") or head.rstrip().endswith("["):
        return [f"{head}{MARK}{rest}", f"{head}{MARK}{']' if head.rstrip().endswith('[') else ''}{closing}"]
    if rest.lstrip().startswith(":"):
        return [f"{head}{MARK}{rest}"]
    if opened > 0:
        return [f"{head}{MARK}: 0{rest}", f"{head}{MARK}: 0{closing}"]
    return [f"{head}{MARK}:{rest}", f"{head}{MARK}:"]


def _find(value: Value, typed: str, way: Way = (), containers: tuple[Value, ...] = ()) -> Cursor | None:
    if isinstance(value, Map):
        inside = (*containers, value)
        for key, item in value.items():
            if key == MARK:
                return Cursor(way, inside, typed)
            if item == MARK:
                return Cursor(way, inside, typed, key)
            place = _find(item, typed, (*way, key), inside)
            if place is not None:
                return place
    if isinstance(value, Seq):
        inside = (*containers, value)
        for number, item in enumerate(value):
            if item == MARK:
                return Cursor((*way, number), (*inside, item), typed)
            place = _find(item, typed, (*way, number), inside)
            if place is not None:
                return place
    return None
