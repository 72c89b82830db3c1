"""Where secrets and blocks are declared, and where what a template reads of a scope is written.

Steps and labels, which can be renamed, are in noetl.lsp.navigation.
"""

import re
from collections.abc import Iterator, Sequence

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.lsp import names
from noetl.lsp.cursor import template_before
from noetl.lsp.hover import word_at

_PATH = re.compile(r"[A-Za-z_][\w.]*")
_REST = re.compile(r"\w*")
_REFERENCE = re.compile(r"\b(auth|block)[\"']?\s*:\s*[\"']?[\w-]*$")
SECTIONS = {"auth": "keychain", "block": "workbook"}


def declaration(lines: Sequence[str], root: Value, line: int, column: int) -> Mark | None:
    """Where the name under a cursor is declared."""
    text = lines[line]
    if template_before(lines, line, column) is not None:
        path = next((m for m in _PATH.finditer(text) if m.start() <= column <= m.end()), None)
        if path is None:
            return None
        end = _REST.match(text, column).end()  # type: ignore[union-attr]
        return _written(root, text[path.start() : end].split("."), line)
    reference = _REFERENCE.search(text[:column])
    return None if reference is None else _declared(root, SECTIONS[reference[1]], word_at(text, column))


def _written(root: Value, way: list[str], line: int) -> Mark | None:
    """Of the way to a value that a template reads."""
    scope, *rest = way
    if not rest or not isinstance(root, Map):
        return None
    if scope == "workload":
        return _at_end(root.get(scope), rest)
    if scope == "keychain":
        return _declared(root, scope, rest[0])
    owner = names.owner_around(root, line)
    where = (
        root if scope == "ctx" else owner.body if scope in ("step", "iter") and owner is not None else None
    )
    return next(_targets(where, ".".join((scope, rest[0]))), None)


def _at_end(value: Value, way: list[str]) -> Mark | None:
    for part in way[:-1]:
        value = value.get(part) if isinstance(value, Map) else None
    return value.at_key(way[-1]) if isinstance(value, Map) and way[-1] in value else None


def _declared(root: Value, section: str, name: str) -> Mark | None:
    entries = root.get(section) if isinstance(root, Map) else None
    if isinstance(entries, Map):
        return entries.at_key(name) if name in entries else None
    listed = entries if isinstance(entries, Seq) else []
    return next(
        (item.at("name") for item in listed if isinstance(item, Map) and item.get("name") == name), None
    )


def _targets(value: Value, target: str) -> Iterator[Mark]:
    """Where a name is the target of some `set` or `reduce`, in the order of the document."""
    if isinstance(value, Map):
        for key, item in value.items():
            if key == target or key.startswith(f"{target}."):
                yield value.at_key(key)
            yield from _targets(item, target)
    elif isinstance(value, Seq):
        for item in value:
            yield from _targets(item, target)
