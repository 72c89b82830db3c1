"""The tool kinds: one file each, found by listing this folder; other packages add theirs by entry points.

A module here is a kind and ends with its `TOOL`; what several kinds share is in `parts/`. Drivers are
imported by the functions that use them, so that knowing every kind costs next to nothing.
"""

import os
from functools import cache
from importlib import import_module

from noetl.dsl.tool_kind import Kind
from noetl.errors import NotFound
from noetl.ports.tool import Tool

ENTRY_POINTS = "noetl.tools"


@cache
def own() -> tuple[str, ...]:
    """The names of the kinds in this folder."""
    files = (name for folder in __path__ for name in os.listdir(folder))
    return tuple(
        sorted(name.removesuffix(".py") for name in files if name.endswith(".py") and name[0] != "_")
    )


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of this folder by name, as the language needs it."""
    return {name: get(name).kind for name in own()}


@cache
def get(name: str) -> Tool:
    """The tool of one kind; raises NotFound with the nearest name when it is not installed."""
    if name in own():
        tool: Tool = import_module(f"{__name__}.{name}").TOOL
        return tool
    other = installed().get(name)
    if other is None:
        from noetl.dsl.nearest import nearest

        guess = nearest(name, own())
        hint = f"did you mean {guess!r}?" if guess else f"installed kinds: {', '.join(own())}"
        raise NotFound(f"there is no tool kind {name!r}", hint=hint)
    return other


@cache
def installed() -> dict[str, Tool]:
    """The kinds that other packages bring; scanned once, when a name is not one of ours."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}
