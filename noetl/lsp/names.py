"""The names that a document itself brings: steps, labels, blocks, secrets, what is in workload and in ctx."""

import re
from collections.abc import Iterator

from noetl.dsl.yaml.tree import Map, Seq, Value

_CTX = re.compile(r"^ctx\.([\w.]+)$")


def steps(root: Value) -> list[Map]:
    """The steps that can be read."""
    workflow = root.get("workflow") if isinstance(root, Map) else None
    return [step for step in workflow if isinstance(step, Map)] if isinstance(workflow, Seq) else []


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


def ctx_names(value: Value) -> Iterator[str]:
    """Every name under ctx that some `set` or `reduce` writes."""
    if isinstance(value, Map):
        for key, item in value.items():
            match = _CTX.match(key)
            if match:
                yield match[1]
            yield from ctx_names(item)
    elif isinstance(value, Seq):
        for item in value:
            yield from ctx_names(item)


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


def of_step(root: Value, way: tuple[str | int, ...]) -> Map | None:
    """The step that a way leads into."""
    if len(way) < 2 or way[0] != "workflow" or not isinstance(way[1], int):
        return None
    workflow = root.get("workflow") if isinstance(root, Map) else None
    step = workflow[way[1]] if isinstance(workflow, Seq) and way[1] < len(workflow) else None
    return step if isinstance(step, Map) else None
