"""What stands under the cursor means: keys, kinds and names, in Markdown."""

import re
from collections.abc import Iterator, Sequence

from noetl.dsl.tool_kind import Kind, Kinds
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.lsp import names, template_hover
from noetl.lsp.completion import SCOPE_MEANINGS
from noetl.lsp.cursor import Way, template_before
from noetl.lsp.schema_reader import SchemaReader

_WORD = re.compile(r"[\w-]+")


def word_at(text: str, column: int) -> str:
    """The word that a column of a line is in."""
    return next((m.group() for m in _WORD.finditer(text) if m.start() <= column <= m.end()), "")


def hover(lines: Sequence[str], line: int, column: int, reader: SchemaReader, kinds: Kinds) -> str | None:
    """What to show; None when there is nothing to say."""
    word, root = word_at(lines[line], column), parse("\n".join(lines)).tree
    if not word or not isinstance(root, Map):
        return None
    start = _start(lines[line], column)
    if template_before(lines, line, column) is not None:
        said = template_hover.meaning(lines, line, start, word, root)
        return _name(word, root) if said is None else said or None
    for way, containers, key in _entries(root):
        here = containers[-1]
        mark = here.at_key(key)
        if key == word and (mark.line - 1, mark.column - 1) == (line, start):
            meaning = reader.keys(reader.at(way, containers), here).get(key)
            return f"**{key}**\n\n{meaning}" if meaning else None
        if key == "kind" and here.get(key) == word and here.at(key).line - 1 == line and word in kinds:
            return _kind(kinds[word])
    return _name(word, root)


def _start(text: str, column: int) -> int:
    return next((m.start() for m in _WORD.finditer(text) if m.start() <= column <= m.end()), column)


def _name(word: str, root: Value) -> str | None:
    if word in SCOPE_MEANINGS:
        return f"**{word}**: {SCOPE_MEANINGS[word]}"
    for step in names.steps(root):
        if step.get("step") == word:
            kinds = ", ".join(str(task["kind"]) for task in names.tasks(step) if "kind" in task)
            about = step.get("desc") or ""
            return f"step **{word}**{f': {kinds}' if kinds else ''}\n\n{about}".strip()
    return None


def _kind(kind: Kind) -> str:
    rows = [
        f"| `{name}` | {'yes' if field.required else ''} | {field.doc} |"
        for name, field in kind.inputs.items()
    ]
    table = "\n".join(["| input | required | |", "|---|---|---|", *rows]) if rows else ""
    return f"**{kind.name}**: {kind.summary}\n\n{table}".strip()


def _entries(
    value: Value, way: Way = (), above: tuple[Value, ...] = ()
) -> Iterator[tuple[Way, tuple[Map, ...], str]]:
    """Every key of a document, with the way to its mapping."""
    inside = (*above, value)
    if isinstance(value, Map):
        for key, item in value.items():
            yield way, inside, key
            yield from _entries(item, (*way, key), inside)
    elif isinstance(value, Seq):
        for number, item in enumerate(value):
            yield from _entries(item, (*way, number), inside)
