"""Files that a playbook names, for a server that has none of them.

A playbook may call another by a file beside it. Before such a playbook is sent to a server, the files are
registered there, and the calls name the paths they have there. Nothing else of the text changes.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from noetl.cli.connection.caller import caller
from noetl.cli.playbooks.sources import SUFFIXES, Source, find, read
from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map
from noetl.errors import NotFound, PlaybookError, RequestError
from noetl.json_value import Json
from noetl.ports.front import Front

PLAYBOOK = "playbook"


class _Call(NamedTuple):
    """A call of a file: where it stands, what is written, which file it is."""

    mark: Mark
    written: str
    file: Path


async def bundle_files(front: Front, source: Source, text: str) -> str:
    """The text as a server can run it; the files that it calls, and those that they call, are registered."""
    texts: dict[Path, str] = {}
    sent = _rewrite(text, _folder(source), texts)
    for file, text_of_file in texts.items():
        if file != _file(source):
            await _register(front, file, text_of_file)
    return sent


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
        if call.file not in texts:
            texts[call.file] = ""  # it is being read: files may call each other
            texts[call.file] = _rewrite(source.data.decode("utf-8-sig", "replace"), call.file.parent, texts)
        path = _path_of(source)
        if isinstance(path, str):
            lines[call.mark.line - 1] = _replace_path(lines[call.mark.line - 1], call, path)
    return "\n".join(lines)


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
