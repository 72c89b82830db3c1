"""Every spelling of `tool` -> a list of named tasks with their inputs under `input`; sugar stays sugar."""

from noetl.dsl.grammar.task import SUGAR, TASK
from noetl.dsl.older_spellings.findings import ARGS, INPUT_BESIDE_KIND, LABEL_MAP, Surface
from noetl.dsl.older_spellings.removed_keys import read_legacy_tool, refuse_case
from noetl.dsl.older_spellings.rules import read_eval, read_guard, read_policy
from noetl.dsl.older_spellings.set import FAMILY, read_set
from noetl.dsl.tool_kind import Kind
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map, Mark, Seq, Value
from noetl.dsl.yaml.tree_edit import child_map, copy_map, rename

_OWN_KEYS = frozenset({*TASK.keys, *SUGAR, *FAMILY, "args", "case", "eval"})


def read_tool(surface: Surface, tool: Value, single: str) -> Value:
    """The pipeline of a step or block; `single` names the one unnamed task of a mapping."""
    if isinstance(tool, Map):
        tool = read_legacy_tool(surface, tool)
    if isinstance(tool, Map):
        tasks = Seq(mark=tool.mark)
        tasks.add(_read_item(surface, tool, single), tool.mark)
        return tasks
    return read_tasks(surface, tool)


def read_tasks(surface: Surface, tool: Value, first: int = 0) -> Value:
    """A list of tasks; an unnamed one is called by its place, counted from `first`."""
    if not isinstance(tool, Seq):
        return tool
    tasks = Seq(mark=tool.mark)
    for index, item in enumerate(tool):
        tasks.add(_read_item(surface, item, f"task_{first + index}"), tool.at(index))
    return tasks


def _read_item(surface: Surface, item: Value, label: str) -> Value:
    if not isinstance(item, Map):
        return item
    if _is_label_map(item):
        return _read_label_map(surface, item)
    return read_task(surface, item, label)


def _is_label_map(item: Map) -> bool:
    if len(item) != 1:
        return False
    key, body = next(iter(item.items()))
    if not isinstance(body, Map) or (key in _OWN_KEYS and key not in SUGAR):
        return False
    # A label may be called like sugar, as pagination tasks often are; sugar has no kind.
    return key not in SUGAR or "kind" in body


def _read_label_map(surface: Surface, item: Map) -> Map:
    label, body = next(iter(item.items()))
    mark = item.at_key(label)
    message = f"task '{label}' is labelled by a key"
    surface.deprecated(LABEL_MAP, mark, message, f"name: {label}")
    task = copy_map(body)
    if task.get("name", label) != label:
        # Under a label, `name` can only be an input of the tool.
        values = child_map(task, "input")
        if values is not None and "name" not in values:
            values.put("name", task["name"], key_mark=task.at_key("name"), value_mark=task.at("name"))
    return read_task(surface, _named(task, label, mark), label)


def _named(task: Map, label: str, mark: Mark) -> Map:
    fresh = Map(mark=task.mark)
    fresh.put("name", label, key_mark=mark, value_mark=mark)
    for key, value in task.items():
        if key != "name":
            fresh.put(key, value, key_mark=task.at_key(key), value_mark=task.at(key))
    return fresh


def read_task(surface: Surface, node: Map, label: str | None) -> Map:
    """One task, or one sugar item, in today's spelling."""
    task = copy_map(node) if "name" in node or label is None else _named(node, label, node.mark)
    refuse_case(surface, task)
    read_eval(surface, task)
    read_set(surface, task)
    read_policy(surface, task)
    _read_sugar(surface, task)
    kind = surface.kinds.get(task["kind"]) if isinstance(task.get("kind"), str) else None
    if kind is not None:
        _fold_inputs(surface, task, kind)
    if "args" in task:
        _fold_args(surface, task)
    return task


def _fold_inputs(surface: Surface, task: Map, kind: Kind) -> None:
    beside = [key for key in task if key in kind.inputs and key not in _OWN_KEYS and key not in kind.beside]
    if not beside:
        return
    mark = task.at_key(beside[0])
    values = child_map(task, "input")
    if values is None:
        return
    keys = ", ".join(f"'{key}'" for key in beside)
    shown = {key: task[key] for key in beside}
    message = f"{keys} of kind '{kind.name}' {'stands' if len(beside) == 1 else 'stand'} beside 'kind'"
    surface.deprecated(INPUT_BESIDE_KIND, mark, message, f"input: {flow(shown)}")
    _fold(task, task, beside, values)


def _fold_args(surface: Surface, task: Map) -> None:
    args = task["args"]
    values = child_map(task, "input") if isinstance(args, Map) else None
    if values is None:
        return
    message = "'args' of a task is an older spelling of 'input'"
    surface.deprecated(ARGS, task.at_key("args"), message, f"input: {flow(args)}")
    _fold(task, args, list(args), values)
    del task["args"]


def _fold(task: Map, source: Map, keys: list[str], values: Map) -> None:
    """Move entries under `input`; what `input` already says wins."""
    first = source.at_key(keys[0]) if keys else source.mark
    for key in keys:
        if key not in values:
            values.put(key, source[key], key_mark=source.at_key(key), value_mark=source.at(key))
        if source is task:
            del task[key]
    if task.at_key("input") is task.mark and values is task["input"]:
        task.put("input", values, key_mark=first, value_mark=first)
        values.mark = first


def _read_sugar(surface: Surface, item: Map) -> None:
    for key in ("while", "until"):
        if isinstance(item.get(key), Map):
            body = read_guard(surface, item[key])
            item[key] = body
            if "do" in body:
                body["do"] = read_tasks(surface, body["do"])
    if isinstance(item.get("choose"), Seq):
        item["choose"] = _read_branches(surface, item["choose"])
    if isinstance(item.get("paginate"), Map):
        body = child_map(item, "paginate") or item["paginate"]
        if isinstance(body.get("request"), Map):
            body["request"] = read_task(surface, body["request"], None)
        if "each" in body:
            body["each"] = read_tasks(surface, body["each"])


def _read_branches(surface: Surface, branches: Seq) -> Seq:
    fresh = Seq(mark=branches.mark)
    count = 0  # the branches of one item share their labels' scope
    for index, branch in enumerate(branches):
        read = _read_branch(surface, branch, count)
        fresh.add(read, branches.at(index))
        lists = read.values() if isinstance(read, Map) else ()
        count += sum(len(tasks) for tasks in lists if isinstance(tasks, Seq))
    return fresh


def _read_branch(surface: Surface, branch: Value, first: int) -> Value:
    if not isinstance(branch, Map):
        return branch
    fresh = read_guard(surface, branch)
    if "else" in fresh and not fresh["else"] and "then" in fresh:
        del fresh["else"]
        fresh = rename(fresh, "then", "else")
    body = fresh.get("else")
    if isinstance(body, Map) and list(body) == ["then"]:
        fresh["else"] = body["then"]
    for key in ("then", "else"):
        if key in fresh:
            fresh[key] = read_tasks(surface, fresh[key], first)
    return fresh
