"""Where a step or a label is defined and used, so that one can go there and give it another name."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.lsp import names
from noetl.lsp.hover import word_at

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
NAME = re.compile(r"[A-Za-z]\w*\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name stands: line and column from 0."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A step or a task with the lines it takes, and what is in it."""

    name: str
    detail: str
    first: int
    last: int
    inner: tuple["Symbol", ...] = ()


def definition(lines: Sequence[str], line: int, column: int) -> Place | None:
    """Where the name under the cursor is defined."""
    word, root = word_at(lines[line], column), parse("\n".join(lines)).tree
    step = _step_around(root, line)
    marks = [*_label_marks(step, word), *_step_marks(root, word)]
    return _place(lines, marks[0], word) if marks else None


def occurrences(lines: Sequence[str], line: int, column: int) -> list[Place]:
    """Every place where the step or label under the cursor is named."""
    word, root = word_at(lines[line], column), parse("\n".join(lines)).tree
    step = _step_around(root, line)
    if step is not None and word in names.labels(step):
        span = next(symbol for symbol in symbols(lines) if symbol.name == step.get("step"))
        marks = [*_label_marks(step, word), *_marks_of(step, word, ("to",))]
        within: range = range(span.first, span.last + 1)
    elif word in names.step_names(root):
        marks = [*_step_marks(root, word), *_marks_of(root, word, ("entry_step", "final_step"))]
        marks += [mark for arc in _arcs(root) if arc.get("step") == word for mark in [arc.at("step")]]
        within = range(len(lines))
    else:
        return []
    written = [place for mark in marks if (place := _place(lines, mark, word)) is not None]
    return sorted(
        {*written, *_in_templates(lines, word, within)}, key=lambda place: (place.line, place.column)
    )


def symbols(lines: Sequence[str]) -> list[Symbol]:
    """The steps of a document with their tasks, for outlines and folding."""
    found = names.steps(parse("\n".join(lines)).tree)
    begins = [step.mark.line - 1 for step in found]
    end = _end_of_workflow(lines, begins)
    result = []
    for step, first, after in zip(found, begins, [*begins[1:], end], strict=True):
        last = _last_line(lines, first, after)
        inner = tuple(
            Symbol(str(task.get("name") or task.get("kind") or "task"), str(task.get("kind") or ""), at, at)
            for task in names.tasks(step)
            for at in [min(task.mark.line - 1, last)]
        )
        result.append(Symbol(str(step.get("step") or "?"), str(step.get("desc") or ""), first, last, inner))
    return result


def _end_of_workflow(lines: Sequence[str], begins: list[int]) -> int:
    """The line of the next key of the document, or the end of it."""
    start = begins[-1] + 1 if begins else len(lines)
    return next((n for n in range(start, len(lines)) if re.match(r"[A-Za-z]", lines[n])), len(lines))


def _last_line(lines: Sequence[str], first: int, after: int) -> int:
    return next((n for n in range(after - 1, first, -1) if lines[n].strip()), first)


def _step_around(root: Value, line: int) -> Map | None:
    around = [step for step in names.steps(root) if step.mark.line - 1 <= line]
    return around[-1] if around else None


def _step_marks(root: Value, name: str) -> list[Mark]:
    return [step.at("step") for step in names.steps(root) if step.get("step") == name]


def _label_marks(step: Map | None, name: str) -> list[Mark]:
    listed = names.tasks(step) if step is not None else []
    return [task.at("name") for task in listed if task.get("name") == name]


def _arcs(root: Value) -> Iterator[Map]:
    for step in names.steps(root):
        router = step.get("next")
        arcs = router.get("arcs") if isinstance(router, Map) else None
        yield from (arc for arc in arcs if isinstance(arc, Map)) if isinstance(arcs, Seq) else ()


def _marks_of(value: Value, name: str, keys: tuple[str, ...]) -> Iterator[Mark]:
    """Where one of some keys has a name as its value."""
    if isinstance(value, Map):
        for key, item in value.items():
            if key in keys and item == name:
                yield value.at(key)
            yield from _marks_of(item, name, keys)
    elif isinstance(value, Seq):
        for item in value:
            yield from _marks_of(item, name, keys)


def _place(lines: Sequence[str], mark: Mark, name: str) -> Place | None:
    """A value as it is written may have quotes before it."""
    column = lines[mark.line - 1].find(name, mark.column - 1)
    return Place(mark.line - 1, column, len(name)) if column >= 0 else None


def _in_templates(lines: Sequence[str], name: str, within: range) -> Iterator[Place]:
    reads = re.compile(rf"(?<![\w.'\"]){re.escape(name)}(?=\s*[.\[])")
    for number in within:
        for template in _TEMPLATE.finditer(lines[number]):
            for match in reads.finditer(template.group()):
                yield Place(number, template.start() + match.start(), len(name))
