"""Tools that others wrote, loaded: the modules that a project names, the entry points of packages."""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from noetl.errors import RequestError
from noetl.ports.tool import Tool
from noetl.tools.parts.function import tool_of

Brought = tuple[str, list[Tool]]  # where tools come from, and they


def of_module(name: str, folder: str) -> Brought:
    """The tools of a module that a project names: a file below its folder, or a dotted name."""
    source = f"'{name}', named under 'tools' in noetl.toml,"
    try:
        module = _load_file(os.path.join(folder, name)) if name.endswith(".py") else _import(name, folder)
    except Exception as problem:
        message = f"cannot load the tools of {source} {_said(problem)}"
        raise RequestError(message, hint=f"correct it, or take it out of {folder}/noetl.toml") from problem
    return source, _tools_in(module, source)


def of_packages(group: str) -> Iterator[Brought]:
    """The tools that installed packages announce: an entry point is a tool, or a module of them."""
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        source = f"the entry point {point.name!r} of an installed package"
        try:
            loaded = point.load()
        except Exception as problem:
            message = f"cannot load {source}, {point.value}: {_said(problem)}"
            raise RequestError(message, hint="mend or uninstall the package") from problem
        yield source, _tools_in(loaded, source)


def _tools_in(loaded: object, source: str) -> list[Tool]:
    values = vars(loaded).values() if isinstance(loaded, ModuleType) else (loaded,)
    tools = list({id(tool): tool for value in values if (tool := tool_of(value)) is not None}.values())
    if not tools:
        raise RequestError(f"{source} has no tool", hint="put @noetl.tool above a function of it")
    return tools


def _load_file(path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.abspath(path)
    name = os.path.basename(path).removesuffix(".py")
    spec = spec_from_file_location(f"noetl_project_tools.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where annotations and pickles look for it
    spec.loader.exec_module(module)
    return module


def _import(name: str, folder: str) -> ModuleType:
    if folder not in sys.path:
        sys.path.append(folder)  # behind the others: no file of a project stands in for a library
    return import_module(name)


def _said(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
