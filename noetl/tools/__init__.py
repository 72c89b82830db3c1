"""The tool kinds: one file each, found by listing this folder; packages and projects add theirs.

A module here is a kind: a function under `@tool`, or a `TOOL`. What several kinds share is in `parts/`.
Drivers are imported by the functions that use them, so that knowing every kind costs next to nothing.
Packages announce theirs by entry points, and a project names modules of its own; neither is looked at before
a name is asked for that is not one of ours.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from noetl.dsl.tool_kind import Kind
from noetl.errors import NotFound, RequestError
from noetl.ports.tool import Tool

ENTRY_POINTS = "noetl.tools"
_named: dict[str, str] = {}  # the modules that a project names, with its folder


@cache
def own() -> tuple[str, ...]:
    """The names of the kinds in this folder."""
    files = (name for folder in __path__ for name in os.listdir(folder))
    return tuple(
        sorted(name.removesuffix(".py") for name in files if name.endswith(".py") and name[0] != "_")
    )


class _Kinds(Mapping[str, Kind]):
    """Every kind by name, as the language needs it."""

    def __getitem__(self, name: str) -> Kind:
        tool = _find(name)
        if tool is None:
            raise KeyError(name)
        return tool.kind

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*own(), *added()}))

    def __len__(self) -> int:
        return len({*own(), *added()})


_KINDS = _Kinds()


def kinds() -> Mapping[str, Kind]:
    """Every kind that is here; others than ours are looked for when they are asked for."""
    return _KINDS


def every() -> list[Tool]:
    """Every tool that is here, in order of their names."""
    return [get(name) for name in _KINDS]


@cache
def _own(name: str) -> Tool:
    module = import_module(f"{__name__}.{name}")
    if (tool := getattr(module, "TOOL", None)) is not None:
        defined: Tool = tool
        return defined
    from noetl.tools.parts.function import tool_of

    made = (tool_of(value) for value in vars(module).values())
    return next(tool for tool in made if tool is not None and tool.kind.name == name)


def _find(name: str) -> Tool | None:
    return _own(name) if name in own() else added().get(name)


def get(name: str) -> Tool:
    """The tool of one kind; raises NotFound with the nearest name when it is not installed."""
    tool = _find(name)
    if tool is None:
        from noetl.dsl.nearest import nearest

        guess = nearest(name, _KINDS)
        hint = f"did you mean {guess!r}?" if guess else f"installed kinds: {', '.join(_KINDS)}"
        raise NotFound(f"there is no tool kind {name!r}", hint=hint)
    return tool


def use_modules(names: tuple[str, ...], folder: str) -> None:
    """Let the kinds of a project's own modules be known: dotted names, or files, seen from its folder."""
    wanted = dict.fromkeys(names, folder)
    if wanted != _named:
        _named.clear()
        _named.update(wanted)
        added.cache_clear()


@cache
def added() -> dict[str, Tool]:
    """The kinds that packages and the project add."""
    from noetl.tools.parts.added_tools import of_module, of_packages

    tools: dict[str, tuple[str, Tool]] = {}
    sources = [*of_packages(ENTRY_POINTS), *(of_module(name, folder) for name, folder in _named.items())]
    for source, brought in sources:
        for tool in brought:
            name = tool.kind.name
            other = "NoETL itself" if name in own() else tools[name][0] if name in tools else None
            if other is not None:
                message = f"{source} brings the tool kind {name!r}, which {other} has already"
                raise RequestError(message, hint="give it another name: @noetl.tool(name=…)")
            tools[name] = source, tool
    return {name: tool for name, (_, tool) in tools.items()}
