"""Playbooks that a playbook calls, for a server that has none of them.

A playbook may call another by a file beside it. Before such a playbook is sent to a server, the files are
registered there, and the calls name the paths they have there. Nothing else of the text changes. What is to
run at once also brings along what it calls by a path that only a file of the project has.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from noetl.cli.connection.caller import caller
from noetl.cli.playbooks.sources import SUFFIXES, Source, find, read
from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.errors import Denied, NotFound, PlaybookError, RequestError
from noetl.json_value import Json
from noetl.ports.front import Front

PLAYBOOK = "playbook"


class _Call(NamedTuple):
    """A call of a file: where it stands, what is written, which file it is."""

    mark: Mark
    written: str
    file: Path


async def bundle_files(front: Front, source: Source, text: str, project: Path | None = None) -> str:
    """The text as a server can run it; what it calls, and what that calls, is registered.

    `project`: where playbooks are looked for that are called by a path.
    """
    texts: dict[Path, str] = {}
    sent = _rewrite(text, _folder(source), texts)
    if project is not None:
        await _add_called_by_path(front, project, sent, texts)
    for file, text_of_file in texts.items():
        if file != _file(source):
            await _register(front, file, text_of_file)
    return sent


async def _add_called_by_path(front: Front, project: Path, sent: str, texts: dict[Path, str]) -> None:
    """Add the files of a project that are called by paths which the server does not know."""
    asked: set[str] = set()
    while paths := _paths_called([sent, *texts.values()]) - asked:
        for path in sorted(paths):
            asked.add(path)
            source = (
                None if await _knows(front, path) else await asyncio.to_thread(find_in_project, project, path)
            )
            if source is not None:
                _add(source, texts)


async def _knows(front: Front, path: str) -> bool:
    try:
        await front.playbook(path)
    except NotFound:
        return False
    except Denied:
        return True  # whether it may be called is for the server to say
    return True


def _paths_called(texts: Iterable[str]) -> set[str]:
    return {path for text in texts for path in _paths_below(parse(text).tree)}


def _paths_below(node: object) -> Iterator[str]:
    if isinstance(node, Map) and node.get("kind") == PLAYBOOK and "version" not in node:
        path = node.get("path")
        if isinstance(path, str) and "{{" not in path and not path.endswith(SUFFIXES):
            yield path
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for item in below:
        yield from _paths_below(item)


async def _register(front: Front, file: Path, text: str) -> None:
    try:
        await front.register(text, by=caller())
    except PlaybookError as error:
        problem = next(
            (item.message for item in error.diagnostics if item.severity == "error"), error.message
        )
        message = f"the playbook calls '{file.name}', which has errors: {problem}"
        raise RequestError(message, hint=f"noetl validate {file}") from error


def _rewrite(text: str, folder: Path, texts: dict[Path, str]) -> str:
    """A text whose calls name paths; the texts of the files it calls are gathered."""
    lines = text.split("\n")
    for call in sorted(_calls(parse(text).tree, folder), reverse=True):  # so that places before it stay
        source = read(str(call.file))
        _add(source, texts)
        path = _path_of(source)
        if isinstance(path, str):
            lines[call.mark.line - 1] = _replace_path(lines[call.mark.line - 1], call, path)
    return "\n".join(lines)


def _add(source: Source, texts: dict[Path, str]) -> None:
    file = Path(source.name).resolve()
    if file not in texts:
        texts[file] = ""  # it is being read: files may call each other
        texts[file] = _rewrite(source.data.decode("utf-8-sig", "replace"), file.parent, texts)


def _file(source: Source) -> Path | None:
    return Path(source.name).resolve() if os.path.exists(source.name) else None


def _folder(source: Source) -> Path:
    """Where files beside a playbook are looked for; a text that has no file stands where the user does."""
    file = _file(source)
    return file.parent if file is not None else Path.cwd()


def _calls(node: object, folder: Path) -> Iterator[_Call]:
    if isinstance(node, Map):
        path = node.get("path")
        if node.get("kind") == PLAYBOOK and isinstance(path, str) and path.endswith(SUFFIXES):
            file = (folder / path).resolve()
            if file.is_file():
                yield _Call(node.at("path"), path, file)
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for item in below:
        yield from _calls(item, folder)


def _replace_path(line: str, call: _Call, path: str) -> str:
    before, rest = line[: call.mark.column - 1], line[call.mark.column - 1 :]
    for quote in ('"', "'", ""):
        if rest.startswith(f"{quote}{call.written}{quote}"):
            return f"{before}{quote}{path}{quote}{rest[len(call.written) + 2 * len(quote) :]}"
    return line  # written in some other way, as over several lines: the server says that it has no such file


def find_in_project(project: Path, path: str) -> Source | None:
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


def _path_of(source: Source) -> Json:
    tree = parse(source.data).tree
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    return metadata.get("path") if isinstance(metadata, dict) else None
