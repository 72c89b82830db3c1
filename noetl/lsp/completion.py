"""What may be typed where the cursor is: keys and words of the language, and names of the document itself."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from noetl.dsl.template_scope import ENGINE, SCOPES, TRIGGER, TRIGGER_FIELDS
from noetl.dsl.templates.meanings import FILTERS
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Value
from noetl.lsp import names
from noetl.lsp.cursor import Cursor, cursor_at, template_before
from noetl.lsp.names import Owner
from noetl.lsp.schema_reader import SchemaReader

CLAIM = "claim"  # readable in the task that claims the rows of a loop
What = Literal["key", "word", "name", "filter"]
_PATH = re.compile(r"((?:[\w.]|\[\d+\])*)$")
_FILTER = re.compile(r"\|\s*(\w*)$")
FIELDS: Mapping[str, Mapping[str, str]] = {
    "output": {
        "status": "ok or error",
        "data": "what the task answered",
        "error": "kind, message, retryable, details",
        "ref": "where a large payload is",
        "meta": "attempts, times, sizes",
        "loop": "how the loop ended: total, done, failed, skipped",
        "http": "what an HTTP request got beside its data: status, headers, url",
        "pg": "what PostgreSQL said beside its rows: code, sqlstate, message",
    },
    "event": {
        "name": "step.done, step.failed, loop.done",
        "ok": "it went well",
        "failed": "it did not",
        "step": "whose end it is",
        "data": "output, error, loop",
    },
    "output.error": {
        "kind": "what went wrong: http, timeout, connect and others",
        "message": "in words",
        "code": "as the tool has it: a status, an exception, an SQL state",
        "retryable": "whether it may go well the next time",
        "details": "what else the tool said",
    },
    "output.loop": {
        "total": "how many iterations there were",
        "done": "how many went well",
        "failed": "how many failed",
        "skipped": "how many were not begun",
        "errors": "the first errors",
    },
    "output.http": {"status": "", "headers": "by lower-case name", "url": "", "request_id": ""},
    "output.pg": {"code": "", "sqlstate": "", "message": ""},
    CLAIM: {
        "key": "names this claim, also when it is made again",
        "batch": "how many rows are asked for",
        "number": "which claim, from 1",
        "last": "the last row of the batch before",
    },
    TRIGGER: dict.fromkeys(sorted(TRIGGER_FIELDS), ""),
}
_OF_ITERATION = {"index": "which one, from 0", "count": "of how many", "parent": "the iteration around it"}
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
    CLAIM: "of a loop that claims its rows",
    TRIGGER: "what started the execution",
}
FUNCTIONS = {"range": "numbers, as in range(3)", "dict": "a mapping, as in dict(a=1)"}


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


def seen(name: str, value: object) -> Completion:
    """A field that the newest run had."""
    return Completion(name, "name", f"in the newest run: {_shown(value)}")


def completions(lines: Sequence[str], line: int, column: int, reader: SchemaReader) -> list[Completion]:
    """Everything that may be typed at a place."""
    template = template_before(lines, line, column)
    if template is not None:
        return _in_template(template, _readable(lines, line), line)
    cursor = cursor_at(lines, line, column)
    if cursor is None:
        return []
    if cursor.key is None and isinstance(cursor.containers[-1], Map):
        return _keys(cursor, reader)
    return _values(cursor, line, reader)


def _readable(lines: Sequence[str], line: int) -> Value:
    """The document; without the line that is being typed when that keeps it from being read."""
    tree = parse("\n".join(lines)).tree
    return tree if tree is not None else parse("\n".join([*lines[:line], "", *lines[line + 1 :]])).tree


def _keys(cursor: Cursor, reader: SchemaReader) -> list[Completion]:
    here = cursor.containers[-1]
    found = reader.keys(reader.at(cursor.way, cursor.containers), here)
    return [Completion(key, "key", meaning) for key, meaning in found.items() if key not in here]


def _values(cursor: Cursor, line: int, reader: SchemaReader) -> list[Completion]:
    named = _named(cursor, line)
    if named is not None:
        return [Completion(name, "name", meaning) for name, meaning in named.items()]
    way = cursor.way if cursor.key is None else (*cursor.way, cursor.key)
    words = reader.words(reader.at(way, cursor.containers), None)
    return [Completion(word, "word", meaning) for word, meaning in words.items()]


def _named(cursor: Cursor, line: int) -> Mapping[str, str] | None:
    """Names of the document, where one of them is wanted."""
    root, key = cursor.root, cursor.key
    if key in ("entry_step", "final_step") or (key == "step" and "arcs" in cursor.way):
        return names.step_names(root)
    if key == "to":
        owner = names.owner_around(root, line)
        return dict.fromkeys(names.labels(owner.body) if owner is not None else [], "")
    if key == "auth":
        return names.secret_names(root)
    here = cursor.containers[-1]
    if key == "name" and isinstance(here, Map) and here.get("kind") == "workbook":
        return names.block_names(root)
    return None


# Inside {{ }}


def path_before(typed: str) -> list[str]:
    """The parts of the path that is being typed, but for the last one."""
    match = _PATH.search(typed)
    return (match[1] if match else "").split(".")[:-1]


def _in_template(typed: str, root: Value, line: int) -> list[Completion]:
    of_filter = _FILTER.search(typed)
    if of_filter is not None:
        return [Completion(name, "filter", FILTERS[name].shown) for name in sorted(FILTERS)]
    way, owner = path_before(typed), names.owner_around(root, line)
    fields = _fields(way, root, owner, line) if way else _first(root, owner, line)
    return [Completion(name, "name", meaning) for name, meaning in fields.items()]


def field_meaning(way: list[str], name: str, root: Value, owner: Owner | None, line: int) -> str:
    """What is known of a field at the end of a path; empty where nothing is."""
    return _fields(way, root, owner, line).get(name, "")


def _first(root: Value, owner: Owner | None, line: int) -> Mapping[str, str]:
    labels = [] if owner is None else names.finished_labels(owner, line)
    scopes = {name: SCOPE_MEANINGS.get(name, "") for name in sorted({*SCOPES - ENGINE, TRIGGER})}
    claims = {CLAIM: SCOPE_MEANINGS[CLAIM]} if owner is not None and names.claims(owner) else {}
    before = dict.fromkeys(labels, "a task before this one")
    return {**before, **names.step_names(root), **scopes, **claims, **FUNCTIONS}


def _fields(way: list[str], root: Value, owner: Owner | None, line: int) -> Mapping[str, str]:
    first, rest = way[0], way[1:]
    if first == "workload":
        value = names.workload_at(root, rest)
        return {key: _shown(item) for key, item in value.items()} if isinstance(value, Map) else {}
    if first == "ctx":
        return _below(names.written_names(root, "ctx"), rest)
    if owner is not None and first == "step":
        return _below(names.written_names(owner.body, "step"), rest)
    if first == "iter":
        return _of_iteration(rest, root, owner)
    if rest:
        envelope = ".".join(("output", *rest)) if _of_result(first, root, owner, line) else ".".join(way)
        return FIELDS.get(envelope, {}) or _of_secret(way, root)
    return _of_scope(first, root, owner) or _of_result(first, root, owner, line)


def _of_scope(scope: str, root: Value, owner: Owner | None) -> Mapping[str, str]:
    if scope == "keychain":
        return names.secret_names(root)
    if scope == "input" and owner is not None:
        given = owner.body.get("input")
        return {key: _shown(item) for key, item in given.items()} if isinstance(given, Map) else {}
    return FIELDS.get(scope, {})


def _of_iteration(rest: list[str], root: Value, owner: Owner | None) -> Mapping[str, str]:
    """What an iteration has: its item, what it wrote, and the same of the one around it."""
    while rest[:1] == ["parent"]:
        rest = rest[1:]
    if rest:
        return names.item_fields(root, rest) or _below(names.written_names(root, "iter"), rest)
    written = _below(names.written_names(root if owner is None else owner.body, "iter"), [])
    return {**written, **dict.fromkeys(names.iterator_names(root), "the item"), **_OF_ITERATION}


def _of_result(name: str, root: Value, owner: Owner | None, line: int) -> Mapping[str, str]:
    """What a task of this step, or else a step, has left."""
    if owner is not None and name in names.finished_labels(owner, line):
        return FIELDS["output"]
    return OF_STEP if name in names.step_names(root) else {}


def _of_secret(way: list[str], root: Value) -> Mapping[str, str]:
    if way[0] != "keychain" or len(way) != 2 or way[1] not in names.secret_names(root):
        return {}
    return {"value": "the secret, where it is a single one"}


def _below(paths: Iterable[str], way: list[str]) -> Mapping[str, str]:
    """The next part of each dotted path that begins with a way."""
    parts = (path.split(".") for path in paths)
    return {part[len(way)]: "" for part in parts if part[: len(way)] == way and len(part) > len(way)}


def _shown(value: object) -> str:
    return repr(value)[:60]
