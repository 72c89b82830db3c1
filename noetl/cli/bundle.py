"""Files that a playbook names, for a server that has none of them.

A playbook may call another by a file beside it. Before such a playbook is sent to a server, the files are
registered there, and the calls name the paths they have there. Nothing else of the text changes.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from noetl.cli.sources import SUFFIXES, Source, find, read
from noetl.dsl.source import parse
from noetl.dsl.tree import Map, Mark
from noetl.errors import NotFound
from noetl.ports.front import Front

PLAYBOOK = "playbook"


class _Call(NamedTuple):
    """A call of a file: where it stands, what is written, which file it is."""

    mark: Mark
    written: str
    file: Path


async def bundled(front: Front, source: Source, text: str, open_files: tuple[Path, ...] = ()) -> str:
    """The text as a server can run it; the files that it calls are registered there first."""
    paths: dict[Path, str] = {}
    calls = [call for call in _calls(parse(text).tree, _folder(source)) if call.file not in open_files]
    for call in calls:
        if call.file not in paths:
            child = read(str(call.file))
            sent = await bundled(front, child, child.data.decode("utf-8-sig"), (*open_files, call.file))
            paths[call.file] = (await front.register(sent)).path
    lines = text.split("\n")
    for call in sorted(calls, reverse=True):  # from the end, so that places before it stay where they are
        lines[call.mark.line - 1] = _replaced(lines[call.mark.line - 1], call, paths[call.file])
    return "\n".join(lines)


def _folder(source: Source) -> Path:
    """Where files beside a playbook are looked for; a text that has no file stands where the user does."""
    return Path(source.name).resolve().parent if os.path.exists(source.name) else Path.cwd()


def _calls(node: Any, folder: Path) -> Iterator[_Call]:
    if isinstance(node, Map):
        path = node.get("path")
        if node.get("kind") == PLAYBOOK and isinstance(path, str) and path.endswith(SUFFIXES):
            file = (folder / path).resolve()
            if file.is_file():
                yield _Call(node.at("path"), path, file)
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for item in below:
        yield from _calls(item, folder)


def _replaced(line: str, call: _Call, path: str) -> str:
    before, rest = line[: call.mark.column - 1], line[call.mark.column - 1 :]
    for quote in ('"', "'", ""):
        if rest.startswith(f"{quote}{call.written}{quote}"):
            return f"{before}{quote}{path}{quote}{rest[len(call.written) + 2 * len(quote) :]}"
    return line  # written in some other way, as over several lines: the server says that it has no such file


def in_project(project: Path, path: str) -> Source | None:
    """The file of a project that says it is the playbook with a path."""
    try:
        names = find([str(project)])
    except NotFound:
        return None
    for name in names:
        source = read(name)
        if path.encode() in source.data and _path_of(source) == path:
            return source
    return None


def _path_of(source: Source) -> Any:
    tree = parse(source.data).tree
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    return metadata.get("path") if isinstance(metadata, dict) else None
