"""The names that a document itself brings: steps, labels, blocks, secrets, what is in workload and in ctx."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.grammar.task import SUGAR
from noetl.dsl.yaml.tree import Map, Seq, Value

_OF_WORKLOAD = re.compile(r"\{\{\s*workload\.([\w.]+)\s*\}\}")
_WRITTEN = re.compile(r"^(ctx|step|iter)\.([\w.]+)$")


def steps(root: Value) -> list[Map]:
    """The steps that can be read."""
    workflow = root.get("workflow") if isinstance(root, Map) else None
    return [step for step in workflow if isinstance(step, Map)] if isinstance(workflow, Seq) else []


@dataclass(frozen=True, slots=True)
class Owner:
    """What has tasks of its own, a step or a block of the workbook, and the line where it begins, from 0."""

    body: Map
    line: int


def owners(root: Value) -> list[Owner]:
    """Everything that has tasks, in the order of the document."""
    workbook = root.get("workbook") if isinstance(root, Map) else None
    blocks: list[Owner] = []
    if isinstance(workbook, Map):
        blocks = [
            Owner(body, workbook.at_key(name).line - 1)
            for name, body in workbook.items()
            if isinstance(body, Map)
        ]
    elif isinstance(workbook, Seq):
        blocks = [Owner(body, body.mark.line - 1) for body in workbook if isinstance(body, Map)]
    found = [*blocks, *(Owner(step, step.mark.line - 1) for step in steps(root))]
    return sorted(found, key=lambda owner: owner.line)


def owner_around(root: Value, line: int) -> Owner | None:
    """What a line belongs to."""
    before = [owner for owner in owners(root) if owner.line <= line]
    return before[-1] if before else None


def step_names(root: Value) -> dict[str, str]:
    """Steps with what they are for."""
    return {
        step["step"]: str(step.get("desc") or "") for step in steps(root) if isinstance(step.get("step"), str)
    }


def labels(step: Map) -> list[str]:
    """The labels of a step's tasks."""
    return [item["name"] for item in tasks(step) if isinstance(item.get("name"), str)]


def tasks(step: Map) -> list[Map]:
    """The tasks of a step with those inside of them, in the order of the document."""
    tool = step.get("tool")
    return _with_inner(tool if isinstance(tool, Seq) else [tool])


def _with_inner(listed: Value) -> list[Map]:
    found: list[Map] = []
    for task in listed if isinstance(listed, list) else [listed]:
        if isinstance(task, Map):
            found += [task, *_inner(task)]
    return found


def _inner(task: Map) -> list[Map]:
    """The tasks that a `while`, `until`, `choose` or `paginate` repeats or chooses from."""
    bodies = [task[key] for key in SUGAR if key in task]
    branches = [branch for body in bodies for branch in (body if isinstance(body, Seq) else [body])]
    return [
        inner
        for branch in branches
        if isinstance(branch, Map)
        for key in ("do", "then", "else", "each")
        for inner in _with_inner(branch.get(key))
    ]


def finished_labels(owner: Owner, line: int) -> list[str]:
    """The labels of the tasks before the one that a line belongs to, those around it left out."""
    before = [task for task in tasks(owner.body) if task.mark.line - 1 <= line]
    done = [task for task in before[:-1] if not any(inner is before[-1] for inner in _inner(task))]
    return [task["name"] for task in done if isinstance(task.get("name"), str)]


def block_names(root: Value) -> dict[str, str]:
    """The blocks of the workbook."""
    workbook = root.get("workbook") if isinstance(root, Map) else None
    if isinstance(workbook, Map):
        return dict.fromkeys(workbook, "")
    named = workbook if isinstance(workbook, Seq) else []
    return {
        block["name"]: "" for block in named if isinstance(block, Map) and isinstance(block.get("name"), str)
    }


def secret_names(root: Value) -> dict[str, str]:
    """The entries of the keychain, with their kinds."""
    keychain = root.get("keychain") if isinstance(root, Map) else None
    entries = keychain if isinstance(keychain, Seq) else []
    return {
        entry["name"]: str(entry.get("kind") or "")
        for entry in entries
        if isinstance(entry, Map) and isinstance(entry.get("name"), str)
    }


def workload_at(root: Value, way: list[str]) -> Value:
    """What the workload has at the end of a way."""
    return _at(root, ["workload", *way])


def written_names(value: Value, scope: str) -> Iterator[str]:
    """Every name under a scope that some `set` or `reduce` writes."""
    if isinstance(value, Map):
        for key, item in value.items():
            match = _WRITTEN.match(key)
            if match and match[1] == scope:
                yield match[2]
            yield from written_names(item, scope)
    elif isinstance(value, Seq):
        for item in value:
            yield from written_names(item, scope)


def loops(value: Value) -> Iterator[Map]:
    """Every loop, those inside loops too."""
    if isinstance(value, Map):
        if isinstance(value.get("iterator"), str):
            yield value
        for item in value.values():
            yield from loops(item)
    elif isinstance(value, Seq):
        for item in value:
            yield from loops(item)


def iterator_names(root: Value) -> list[str]:
    """Every name that a loop gives its item."""
    return [loop["iterator"] for loop in loops(root)]


def claims(owner: Owner) -> bool:
    """Whether a loop of it claims its rows."""
    return any(isinstance(loop.get("in"), Map) and "claim" in loop["in"] for loop in loops(owner.body))


def item_fields(root: Value, way: list[str]) -> dict[str, str]:
    """What the items of a loop have, where they are written out in the loop or in the workload."""
    fields: dict[str, str] = {}
    for loop in loops(root):
        if loop["iterator"] == way[0]:
            items = _written_out(loop.get("in"), root)
            for item in items if isinstance(items, Seq) else []:
                below = _at(item, way[1:])
                fields |= dict.fromkeys(below, "of an item") if isinstance(below, Map) else {}
    return fields


def _written_out(value: Value, root: Value) -> Value:
    named = _OF_WORKLOAD.fullmatch(value) if isinstance(value, str) else None
    return value if named is None else workload_at(root, named[1].split("."))


def _at(value: Value, way: list[str]) -> Value:
    for part in way:
        value = value.get(part) if isinstance(value, Map) else None
    return value
