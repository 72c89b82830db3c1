"""Where a step or a label is defined and used, so that one can go there and give it another name."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from noetl.dsl.diagnostic import Mark
from noetl.dsl.grammar.playbook import RESERVED_NAMES
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import tokens
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.lsp import names
from noetl.lsp.declarations import declaration
from noetl.lsp.hover import word_at

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
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
    target = _target(lines, line, column)
    if target is not None:
        return next((_place(lines, mark, target.name) for mark in _defined(target)), None)
    mark = declaration(lines, parse("\n".join(lines)).tree, line, column)
    return None if mark is None else Place(mark.line - 1, mark.column - 1, 0)


def occurrences(lines: Sequence[str], line: int, column: int, *, defined: bool = True) -> list[Place]:
    """Every place where the step or label under the cursor is named, with where it is defined."""
    target = _target(lines, line, column)
    if target is None:
        return []
    return _places(lines, target, defined=defined)


def _places(lines: Sequence[str], target: "_Target", *, defined: bool) -> list[Place]:
    marks = [*(_defined(target) if defined else ()), *_uses(target)]
    written = [place for mark in marks if (place := _place(lines, mark, target.name)) is not None]
    return sorted({*written, *_in_templates(lines, target)}, key=lambda place: (place.line, place.column))


def refusal(lines: Sequence[str], line: int, column: int, name: str) -> str | None:
    """Why the name under the cursor cannot become another one."""
    target = _target(lines, line, column)
    if not NAME.match(name):
        return f"{name!r} is no name: letters, digits and _, a letter first"
    if name in RESERVED_NAMES:
        return f"'{name}' means something else in templates"
    if target is not None and name != target.name and name in target.beside:
        return f"there is another {target.what} '{name}'"
    return None


@dataclass(frozen=True, slots=True)
class _Target:
    """A step, or a label of one owner of tasks: where it can be named, and the names beside it."""

    what: Literal["step", "label"]
    name: str
    root: Value
    owner: Map | None  # of a label
    beside: frozenset[str]
    lines: frozenset[int]


def _target(lines: Sequence[str], line: int, column: int) -> _Target | None:
    """The step or label that is named under the cursor; the same word elsewhere is none."""
    word, root = word_at(lines[line], column), parse("\n".join(lines)).tree
    for target in _called(word, lines, root, line):
        places = _places(lines, target, defined=True)
        if any(one.line == line and one.column <= column <= one.column + one.length for one in places):
            return target
    return None


def _called(word: str, lines: Sequence[str], root: Value, line: int) -> Iterator[_Target]:
    """The step of a name, and the label that those of its owner's lines may mean."""
    steps, owner = names.step_names(root), names.owner_around(root, line)
    if word in steps:
        own = [_lines_of(lines, root, one) for one in names.owners(root) if word in names.labels(one.body)]
        readers = frozenset(range(len(lines))).difference(*own)  # there the label hides the step
        yield _Target("step", word, root, None, frozenset(steps), readers)
    if owner is not None and word in names.labels(owner.body):
        beside = frozenset(names.labels(owner.body))
        yield _Target("label", word, root, owner.body, beside, frozenset(_lines_of(lines, root, owner)))


def _lines_of(lines: Sequence[str], root: Value, owner: names.Owner) -> range:
    """The lines of a step or block: up to the next one, or the next key of the document."""
    later = [other.line for other in names.owners(root) if other.line > owner.line]
    end = _end_of_section(lines, owner.line)
    return range(owner.line, min([end, *later]))


def _defined(target: _Target) -> list[Mark]:
    if target.owner is not None:
        return _label_marks(target.owner, target.name)
    return _step_marks(target.root, target.name)


def _uses(target: _Target) -> list[Mark]:
    """Where a step or label is named as a value."""
    if target.owner is not None:
        return list(_marks_of(target.owner, target.name, ("to",)))
    arcs = [arc.at("step") for arc in _arcs(target.root) if arc.get("step") == target.name]
    return [*_marks_of(target.root, target.name, ("entry_step", "final_step")), *arcs]


def symbols(lines: Sequence[str]) -> list[Symbol]:
    """The steps of a document with their tasks, for outlines and folding."""
    found = names.steps(parse("\n".join(lines)).tree)
    begins = [step.mark.line - 1 for step in found]
    ends = [*begins[1:], *(_end_of_section(lines, last) for last in begins[-1:])]
    result = []
    for step, first, after in zip(found, begins, ends, strict=True):
        last = _last_line(lines, first, after)
        inner = tuple(
            Symbol(str(task.get("name") or task.get("kind") or "task"), str(task.get("kind") or ""), at, at)
            for task in names.tasks(step)
            for at in [min(task.mark.line - 1, last)]
        )
        result.append(Symbol(str(step.get("step") or "?"), str(step.get("desc") or ""), first, last, inner))
    return result


def _end_of_section(lines: Sequence[str], line: int) -> int:
    """The line of the next key of the document, or the end of it."""
    return next((n for n in range(line + 1, len(lines)) if re.match(r"[A-Za-z]", lines[n])), len(lines))


def _last_line(lines: Sequence[str], first: int, after: int) -> int:
    return next((n for n in range(after - 1, first, -1) if lines[n].strip()), first)


def _step_marks(root: Value, name: str) -> list[Mark]:
    return [step.at("step") for step in names.steps(root) if step.get("step") == name]


def _label_marks(owner: Map, name: str) -> list[Mark]:
    return [task.at("name") for task in names.tasks(owner) if task.get("name") == name]


def _arcs(root: Value) -> Iterator[Map]:
    for step in names.steps(root):
        router = step.get("next")  # older playbooks have the arcs themselves there
        arcs = router.get("arcs") if isinstance(router, Map) else router
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


def _in_templates(lines: Sequence[str], target: _Target) -> Iterator[Place]:
    text = "\n".join(lines)
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    for template in _TEMPLATE.finditer(text):
        for offset in _reads(template.group(), target.name):
            line = bisect_right(begins, template.start() + offset) - 1
            if line in target.lines:
                yield Place(line, template.start() + offset - begins[line], len(target.name))


def _reads(template: str, name: str) -> list[int]:
    """Where a template reads a name: no attribute, no keyword, no part of a text."""
    try:
        spoken = [token for token in tokens(template) if token.kind != "whitespace"]
    except TemplateError:
        return []
    around = zip(
        ["", *(one.text for one in spoken)], spoken, [*(one.text for one in spoken[1:]), ""], strict=False
    )
    return [
        token.start
        for before, token, after in around
        if (token.kind, token.text) == ("name", name) and before != "." and after != "="
    ]
