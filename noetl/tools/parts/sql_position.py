"""Where in the author's SQL a database found an error: line, column, and the line itself.

Each database says it in its own way; here the ways are read. What an error means is its kind's to say.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from noetl.tools.parts.statements import sent_places, split

LINE_CHARS = 200
_CARET = re.compile(r"^LINE (\d+): (.*)\n( *)\^", re.MULTILINE)


class Position(TypedDict):
    """A place in a text, counted from 1."""

    line: int
    column: int
    text: str
    text_from: NotRequired[int]  # where the part begins that is shown of a long line


class Place(TypedDict, total=False):
    """What is added to the details of an error, where the database says it."""

    position: Position


def position(text: str, offset: int) -> Position:
    """A place in a text, counted from 1, with its line; of a long line the part around the place."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    column = offset - start + 1
    place: Position = {"line": text.count("\n", 0, offset) + 1, "column": column, "text": line}
    if len(line) > LINE_CHARS:
        first = min(max(0, column - LINE_CHARS // 2), len(line) - LINE_CHARS)
        place["text"], place["text_from"] = line[first : first + LINE_CHARS], first + 1
    return place


def in_sqlite(text: str, number: int, byte_offset: int) -> Place:
    """SQLite counts bytes from the beginning of the statement, of which so many were begun before."""
    statements = split(text)
    if byte_offset < 0 or number >= len(statements):
        return {}
    inside = statements[number].encode()[:byte_offset].decode(errors="ignore")
    return {"position": position(text, _starts(text, statements)[number] + len(inside))}


def in_duckdb(text: str, message: str, statement: str, start: int) -> Place:
    """DuckDB draws a caret below the line of the statement, which begins somewhere in the text."""
    caret = _CARET.search(message)
    if caret is None:
        return {}
    number, excerpt, blank = int(caret[1]), caret[2], len(caret[3]) - len(f"LINE {caret[1]}: ")
    lines = statement.split("\n")
    if number > len(lines):
        return {}
    column = blank
    if excerpt.startswith("..."):
        part = excerpt.removeprefix("...").removesuffix("...")
        column = lines[number - 1].find(part) + blank - 3
    offset = start + sum(len(line) + 1 for line in lines[: number - 1]) + column
    return {"position": position(text, offset)} if 0 <= offset <= len(text) else {}


def in_postgres(text: str, params: object, sent: str, character: int) -> Place:
    """PostgreSQL counts characters of the statement as it was sent, with numbers for names."""
    statements = split(text)
    starts = _starts(text, statements)
    for start, statement in zip(starts, statements, strict=True):
        places = list(sent_places(statement, params)) if isinstance(params, Mapping) else []
        offset = character - 1
        shift = 0
        for first, last, mark in places:
            if first + shift >= offset:
                break
            shift += len(mark) - (last - first)
        if _sent_text(statement, places) == sent:
            return {"position": position(text, start + offset - shift)}
    return {"position": position(sent, character - 1)}


def _sent_text(statement: str, places: Sequence[tuple[int, int, str]]) -> str:
    for first, last, mark in reversed(places):
        statement = statement[:first] + mark + statement[last:]
    return statement


def _starts(text: str, statements: Sequence[str]) -> list[int]:
    """Where each statement begins in the text."""
    starts: list[int] = []
    at = 0
    for statement in statements:
        at = text.index(statement, at)
        starts.append(at)
        at += len(statement)
    return starts
