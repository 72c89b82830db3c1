"""What may be typed where the cursor is: keys and words of the language, and names of the document itself."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from noetl.dsl.template_scope import SCOPES, TRIGGER, TRIGGER_FIELDS
from noetl.dsl.templates.filters import FILTERS
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Value
from noetl.lsp import names
from noetl.lsp.cursor import Cursor, cursor_at, template_before
from noetl.lsp.schema_reader import SchemaReader

What = Literal["key", "word", "name", "filter"]
_PATH = re.compile(r"([\w.]*)$")
_FILTER = re.compile(r"\|\s*(\w*)$")
FIELDS: Mapping[str, Mapping[str, str]] = {
    "output": {
        "status": "ok or error",
        "data": "what the task answered",
        "error": "kind, message, retryable, details",
        "ref": "where a large payload is",
        "meta": "attempts, times, sizes",
    },
    "event": {
        "name": "step.done, step.failed, loop.done",
        "ok": "it went well",
        "failed": "it did not",
        "step": "whose end it is",
        "data": "output, error, loop",
    },
    TRIGGER: dict.fromkeys(sorted(TRIGGER_FIELDS), ""),
}
OF_STEP = {
    "data": "what the step answered",
    "status": "ok or error",
    "error": "why it failed",
    "ref": "where a large payload is",
    "loop": "how its loop ended: total, done, failed",
}
SCOPE_MEANINGS = {
    "workload": "what the execution was asked with",
    "ctx": "what steps have written; lives as long as the execution",
    "iter": "of one iteration: its item and what it wrote",
    "step": "of one run of a step",
    "input": "what the step or task was given",
    "output": "what the task or step answered",
    "event": "how the step before ended",
    "keychain": "secrets by name",
    TRIGGER: "what started the execution",
}


@dataclass(frozen=True, slots=True)
class Completion:
    """One proposal: what is shown, what is typed, and what it means."""

    label: str
    what: What
    meaning: str = ""

    @property
    def text(self) -> str:
        """What is inserted."""
        return f"{self.label}: " if self.what == "key" else self.label


def completions(lines: Sequence[str], line: int, column: int, reader: SchemaReader) -> list[Completion]:
    """Everything that may be typed at a place."""
    template = template_before(lines, line, column)
    if template is not None:
        return _in_template(template, _readable(lines, line))
    cursor = cursor_at(lines, line, column)
    if cursor is None:
        return []
    if cursor.key is None and isinstance(cursor.containers[-1], Map):
        return _keys(cursor, reader)
    return _values(cursor, reader)


def _readable(lines: Sequence[str], line: int) -> Value:
    """The document; without the line that is being typed when that keeps it from being read."""
    tree = parse("\n".join(lines)).tree
    return tree if tree is not None else parse("\n".join([*lines[:line], "", *lines[line + 1 :]])).tree


def _keys(cursor: Cursor, reader: SchemaReader) -> list[Completion]:
    here = cursor.containers[-1]
    found = reader.keys(reader.at(cursor.way, cursor.containers), here)
    return [Completion(key, "key", meaning) for key, meaning in found.items() if key not in here]


def _values(cursor: Cursor, reader: SchemaReader) -> list[Completion]:
    named = _named(cursor)
    if named is not None:
        return [Completion(name, "name", meaning) for name, meaning in named.items()]
    way = cursor.way if cursor.key is None else (*cursor.way, cursor.key)
    words = reader.words(reader.at(way, cursor.containers), None)
    return [Completion(word, "word", meaning) for word, meaning in words.items()]


def _named(cursor: Cursor) -> Mapping[str, str] | None:
    """Names of the document, where one of them is wanted."""
    root, key = cursor.root, cursor.key
    if key in ("entry_step", "final_step") or (key == "step" and "arcs" in cursor.way):
        return names.step_names(root)
    if key == "to":
        step = names.of_step(root, cursor.way)
        return dict.fromkeys(names.labels(step) if step is not None else [], "")
    if key == "auth":
        return names.secret_names(root)
    here = cursor.containers[-1]
    if key == "name" and isinstance(here, Map) and here.get("kind") == "workbook":
        return names.block_names(root)
    return None


# Inside {{ }}


def _in_template(typed: str, root: Value) -> list[Completion]:
    of_filter = _FILTER.search(typed)
    if of_filter is not None:
        return [Completion(name, "filter") for name in sorted(FILTERS)]
    match = _PATH.search(typed)
    way = (match[1] if match else "").split(".")[:-1]
    fields = _first(root) if not way else _fields(way, root)
    return [Completion(name, "name", meaning) for name, meaning in fields.items()]


def _first(root: Value) -> Mapping[str, str]:
    scopes = {name: SCOPE_MEANINGS.get(name, "") for name in sorted({*SCOPES, TRIGGER})}
    return {**names.step_names(root), **scopes}


def _fields(way: list[str], root: Value) -> Mapping[str, str]:
    first, rest = way[0], way[1:]
    if first == "workload":
        value = names.workload_at(root, rest)
        return {key: _shown(item) for key, item in value.items()} if isinstance(value, Map) else {}
    if first == "ctx":
        return _below(names.ctx_names(root), rest)
    if first == "keychain":
        return names.secret_names(root) if not rest else {}
    if first == "iter":
        bound = {"index": "which one, from 0", "count": "of how many", "parent": "the iteration around it"}
        return {**dict.fromkeys(names.iterator_names(root), "the item"), **bound} if not rest else {}
    if rest:
        return {}
    return FIELDS.get(first) or (OF_STEP if first in names.step_names(root) else {})


def _below(paths: Iterable[str], way: list[str]) -> Mapping[str, str]:
    """The next part of each dotted path that begins with a way."""
    parts = (path.split(".") for path in paths)
    return {part[len(way)]: "" for part in parts if part[: len(way)] == way and len(part) > len(way)}


def _shown(value: Value) -> str:
    return repr(value)[:60]
