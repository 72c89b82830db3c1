"""Every accepted shape of a playbook -> the one canonical tree.

This and surface_*.py alone know the older spellings. Sugar items stay as they are. What cannot be read is
left in place for check.py to report, so nothing here fails.
"""

from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.older_spellings.findings import EXECUTOR_KIND, LEGACY_VARS, WORKBOOK_TASKS, Surface
from noetl.dsl.older_spellings.step import read_body, read_step
from noetl.dsl.older_spellings.template_names import respell
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import adopt, copy_map, rename


@dataclass(frozen=True, slots=True)
class Normalized:
    """A canonical tree and what was noticed about its spelling."""

    tree: Value
    diagnostics: tuple[Diagnostic, ...]


def normalize(tree: Value, kinds: Kinds) -> Normalized:
    """The canonical tree of any tree; a canonical one stays as it is."""
    if isinstance(tree, dict) and not isinstance(tree, Map):
        tree = adopt(tree)
    if not isinstance(tree, Map):
        return Normalized(tree, ())
    surface = Surface(kinds, tree)
    root = copy_map(tree)
    for key in ("workflow", "workbook"):
        if key in root:
            root[key] = respell(surface, root[key], root.at(key))
    _read_root(surface, root)
    return Normalized(root, tuple(surface.findings))


def _read_root(surface: Surface, root: Map) -> None:
    if "vars" in root:
        message = "'vars' is not a section of a playbook: inputs are 'workload', shared state is 'ctx'"
        surface.legacy(LEGACY_VARS, root.at_key("vars"), message, f"workload: {flow(root['vars'])}")
        del root["vars"]
    if isinstance(root.get("executor"), Map):
        root["executor"] = _read_executor(surface, root["executor"])
    if "workbook" in root:
        root["workbook"] = _read_workbook(surface, root)
    if isinstance(root.get("workflow"), Seq):
        steps = Seq(mark=root["workflow"].mark)
        for index, step in enumerate(root["workflow"]):
            steps.add(read_step(surface, step), root["workflow"].at(index))
        root["workflow"] = steps


def _read_executor(surface: Surface, executor: Map) -> Map:
    if "kind" not in executor or "profile" in executor:
        return executor
    message = "'executor.kind' is an older spelling of 'executor.profile'"
    surface.deprecated(EXECUTOR_KIND, executor.at_key("kind"), message, f"profile: {flow(executor['kind'])}")
    return rename(executor, "kind", "profile")


def _read_workbook(surface: Surface, root: Map) -> Value:
    book = root["workbook"]
    while isinstance(book, Map) and list(book) == ["tasks"] and not _is_block(book["tasks"]):
        message = "'workbook.tasks' is an older spelling: blocks stand directly under 'workbook'"
        surface.deprecated(WORKBOOK_TASKS, book.at_key("tasks"), message, f"workbook: {flow(book['tasks'])}")
        book = book["tasks"]
    if isinstance(book, Seq):
        book = _map_of_blocks(book)
    if not isinstance(book, Map):
        return book
    fresh = copy_map(book)
    for name, block in book.items():
        if isinstance(block, Map):
            fresh[name] = _read_block(surface, block, name)
    return fresh


def _is_block(value: Value) -> bool:
    return isinstance(value, Map) and "tool" in value and not isinstance(value["tool"], str)


def _map_of_blocks(blocks: Seq) -> Value:
    """A list of named blocks as a map; a list that cannot be one is left for check.py."""
    names = [block.get("name") if isinstance(block, Map) else None for block in blocks]
    if len(set(map(str, names))) != len(names) or not all(isinstance(name, str) for name in names):
        return blocks
    book = Map(mark=blocks.mark)
    for index, block in enumerate(blocks):
        body = copy_map(block)
        mark = body.at("name")
        del body["name"]
        book.put(block["name"], body, key_mark=mark, value_mark=blocks.at(index))
    return book


def _read_block(surface: Surface, node: Map, name: str) -> Map:
    block = copy_map(node)
    read_body(surface, block, name)
    return block
