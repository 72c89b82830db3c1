"""The names that a document itself brings: steps, labels, blocks, secrets, what is in workload and in ctx."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.yaml.tree import Map, Seq, Value

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
    """The tasks of a step, sugar not looked into."""
    tool = step.get("tool")
    listed = tool if isinstance(tool, Seq) else [tool]
    return [item for item in listed if isinstance(item, Map)]


def finished_labels(owner: Owner, line: int) -> list[str]:
    """The labels of the tasks before the one that a line belongs to."""
    before = [task for task in tasks(owner.body) if task.mark.line - 1 <= line][:-1]
    return [task["name"] for task in before if isinstance(task.get("name"), str)]


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
    value = root.get("workload") if isinstance(root, Map) else None
    for part in way:
        value = value.get(part) if isinstance(value, Map) else None
    return value


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


def iterator_names(value: Value) -> Iterator[str]:
    """Every name that a loop gives its item."""
    if isinstance(value, Map):
        for key, item in value.items():
            if key == "iterator" and isinstance(item, str):
                yield item
            yield from iterator_names(item)
    elif isinstance(value, Seq):
        for item in value:
            yield from iterator_names(item)
