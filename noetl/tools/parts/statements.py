"""SQL text cut into statements and named parameters; of SQL only its quotes and comments are understood."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from noetl.json_value import Json
from noetl.ports.envelope import Failed

T = TypeVar("T")
TEXTS_KEPT = 128  # tasks of a loop bring the same text again and again
TEXT_CHARS = 10_000  # a longer one carries values, and would fill the memory
# What hides a semicolon or a colon: comments, strings, quoted names, dollar quotes, casts.
_QUOTED = r"'(?:[^']|'')*(?:'|\Z) | \"(?:[^\"]|\"\")*(?:\"|\Z)"
# MySQL and some others: a backslash keeps a quote from ending a string, and # begins a comment.
_ESCAPED = r"'(?:[^'\\]|\\.|'')*(?:'|\Z) | \"(?:[^\"\\]|\\.|\"\")*(?:\"|\Z)"


def _pattern(quoted: str, comment: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
          (?P<comment>  {comment} | /\* )
        | (?P<quoted>   [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)
                      | {quoted}
                      | `[^`]*(?:`|\Z)
                      | \$(?P<tag>[A-Za-z_]\w*)\$ .*? (?:\$(?P=tag)\$|\Z) | \$\$ .*? (?:\$\$|\Z) )
        | (?P<cast>     :: | := )
        | (?P<name>     :[A-Za-z_]\w* )
        | (?P<mark>     \? )
        | (?P<end>      ; )
        | (?P<bracket>  [\[\]] )
        """,
        re.VERBOSE | re.DOTALL,
    )


_TOKENS = {False: _pattern(_QUOTED, r"--[^\n]*"), True: _pattern(_ESCAPED, r"--[^\n]* | \#[^\n]*")}
# Statements that control a transaction or cannot run inside one.
_SELF_WILLED = frozenset(
    {"ABORT", "ATTACH", "BEGIN", "CALL", "CLUSTER", "COMMIT", "DETACH", "END", "PRAGMA"}
    | {"REINDEX", "RELEASE", "ROLLBACK", "SAVEPOINT", "START", "VACUUM"}
)
_READING = frozenset({"EXPLAIN", "SELECT", "SHOW", "TABLE", "VALUES", "WITH"})


def remembered(look: Callable[..., T]) -> Callable[..., T]:
    """What was found out about a text, remembered for those that come again."""
    known = lru_cache(maxsize=TEXTS_KEPT)(look)

    def find(text: str, *more: bool) -> T:
        return known(text, *more) if len(text) <= TEXT_CHARS else look(text, *more)

    return find


def split(text: str, escapes: bool = False) -> list[str]:
    """The statements of a text, each without its semicolon; comments alone are none."""
    return list(_parts(text, escapes))


@remembered
def _parts(text: str, escapes: bool) -> tuple[str, ...]:
    parts: list[str] = []
    start = 0
    for kind, first, last in tokens(text, escapes):
        if kind == "end":
            parts.append(text[start:first])
            start = last
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if first_word(part))


@remembered
def first_word(statement: str) -> str:
    """The first word of a statement in capitals, comments left out; empty when there is none."""
    rest = statement
    while match := re.match(r"\s*(?:(?:--|#)[^\n]*(?:\n|\Z)|/\*)|[\s;(]+", rest):
        rest = (
            rest[_comment_end(rest, match.end()) :] if match.group().endswith("/*") else rest[match.end() :]
        )
    word = re.match(r"\w+|\S", rest)
    return word.group().upper() if word else ""


def one_transaction(statements: list[str]) -> bool:
    """Whether statements should run in one transaction: several, and none that controls or forbids one."""
    words = {first_word(statement) for statement in statements}
    return len(statements) > 1 and not words & _SELF_WILLED


def only_reads(statements: list[str]) -> bool:
    """Whether every statement begins like one that reads."""
    return all(first_word(statement) in _READING for statement in statements)


def number_parameters(statement: str, params: Mapping[str, Json]) -> tuple[str, list[Json]]:
    """`:name` as `$1`, with the values in that order; a name that is not given is an input error."""
    order: dict[str, None] = {}
    pieces: list[str] = []
    start = 0
    for first, last, mark in sent_places(statement, params):
        order[statement[first + 1 : last]] = None
        pieces.append(f"{statement[start:first]}{mark}")
        start = last
    pieces.append(statement[start:])
    return "".join(pieces), [params[name] for name in order]


def sent_places(statement: str, params: Mapping[str, Json]) -> Iterator[tuple[int, int, str]]:
    """Where the names of a statement stand, and the number that is sent for each."""
    order: dict[str, int] = {}
    depth = 0
    for kind, first, last in tokens(statement):
        if kind == "bracket":
            depth += 1 if statement[first] == "[" else -1
        name = statement[first + 1 : last]
        if kind != "name" or (depth > 0 and name not in params):  # an array slice such as a[1:n]
            continue
        if name not in params:
            raise Failed(
                "input", f"the SQL names :{name}, but params has only: {', '.join(params) or 'nothing'}"
            )
        yield first, last, f"${order.setdefault(name, len(order) + 1)}"


def tokens(text: str, escapes: bool = False) -> Iterator[tuple[str, int, int]]:
    """What hides something or means something in a text, and where; `escapes`: as MySQL reads it."""
    at = 0
    while match := _TOKENS[escapes].search(text, at):
        at = _comment_end(text, match.end()) if match.group() == "/*" else match.end()
        yield match.lastgroup if match.group("tag") is None else "quoted", match.start(), at  # type: ignore[misc]


def _comment_end(text: str, at: int) -> int:
    """Where a block comment ends; PostgreSQL lets them nest."""
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)
