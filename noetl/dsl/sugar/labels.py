"""The labels of tasks inside sugar: how they are made, and what a bare name means to the task that reads it.

A task `inc` inside an item `count` has the label `count.inc`; an item inside an item adds one part more. What
stands before the last dot is the label's scope. Expanding sugar adds tasks of its own to a scope, with the
names below; an author's task of such a name gets a `_` before it, with which no author's name can begin.
Labels without a dot are the author's own and mean what they say.
"""

import re
from collections.abc import Container, Iterator
from typing import Final

TEST: Final = "test"  # decides whether to go on, or where
NEXT: Final = "next"  # leads back
WAIT: Final = "wait"  # waits between two rounds
END: Final = "end"  # where every way out of an item meets
BEGIN: Final = "begin"  # sets up the state of an item
RECEIVED: Final = "received"  # looks at a page that came
COLLECT: Final = "collect"  # gives all items of all pages
_GENERATED: Final = re.compile(rf"{TEST}|{NEXT}|{WAIT}|{END}|{BEGIN}|{RECEIVED}|{COLLECT}|then_\d+")


def inner(scope: str, name: str) -> str:
    """The label of an author's task or item inside a scope."""
    if not scope:
        return name
    return f"{scope}._{name}" if _GENERATED.fullmatch(name) else f"{scope}.{name}"


def generated(scope: str, name: str) -> str:
    """The label of a task that expanding adds to a scope."""
    return f"{scope}.{name}"


def is_generated(label: str) -> bool:
    """Whether expanding sugar added the task, as opposed to an author's task inside sugar."""
    _, dot, name = label.rpartition(".")
    return bool(dot) and _GENERATED.fullmatch(name) is not None


def merged(label: str) -> str | None:
    """The item that has been passed when control passes a label: the scope of its end."""
    scope, dot, name = label.rpartition(".")
    return scope if dot and name == END else None


def name_of(label: str) -> str:
    """The name the author gave, without the scopes around it."""
    return label.rpartition(".")[2].removeprefix("_")


def scopes(label: str) -> Iterator[str]:
    """The scopes a label stands in, the innermost first."""
    while "." in label:
        label = label.rpartition(".")[0]
        yield label


def read_as(reader: str, name: str, finished: Container[str]) -> str | None:
    """The finished task or item that a bare name means to the task `reader`: that of the innermost scope."""
    for scope in scopes(reader):
        label = inner(scope, name)
        if label in finished:
            return label
    return name if name in finished else None


def entered(source: str, target: str) -> tuple[str, ...]:
    """The scopes that are entered when control goes from one task to another."""
    left = set(scopes(source))
    return tuple(scope for scope in scopes(target) if scope not in left)
