"""`while`, `until`, `choose` and `paginate` as plain tasks and jumps: canonical tree in, no sugar out.

Every generated task is a `noop` (or a `wait`) that decides in `spec.policy.before`, where `output` is still
the previous task's. Tasks inside keep all but their label, which gets the item's in front: `count.inc`.

    while     .test  (when: skip, else jump .end; at most `max` passes)   body   .next (jump .test)   .end
    until     body   .test (when: jump .end, else skip; `max` - 1 passes)   [.wait]   .next (jump body)   .end
    choose    .test  (each when: jump its branch, else the else branch or .end)
              branch i   .then_i (jump .end)   …   .end
    paginate  a loop over pages, of which every way of paging has its own tasks

A jump that the author wrote names a task as the author sees it; it is given the label of the innermost scope
that has the name, and an item's name stands for the task at which the item begins. Templates are not changed:
labels decide which finished task a bare name means to the task that reads it.
A malformed item is left as it is: the grammar reports it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from noetl.dsl.diagnostic import Mark
from noetl.dsl.sugar.generated_tasks import Item, Origin, Placed, at, jump, otherwise, skip, when
from noetl.dsl.sugar.inline_expression import inline
from noetl.dsl.sugar.labels import BEGIN, END, NEXT, TEST, WAIT, generated, inner
from noetl.dsl.sugar.paginate import is_paginate, paginate, requests
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import copy_map, copy_seq, each, with_value

WHILE_ROUNDS = 1000
UNTIL_ROUNDS = 500


@dataclass(frozen=True, slots=True)
class Expanded:
    """A tree without sugar, and where each label inside sugar comes from, by `<owner>/<label>`."""

    tree: Value
    debug_map: Mapping[str, Origin]


def expand(tree: Map) -> Expanded:
    """Expand the sugar of every step and block; a tree without any comes back equal."""
    origins: dict[str, Origin] = {}
    root = copy_map(tree)
    workflow, workbook = root.get("workflow"), root.get("workbook")
    if isinstance(workflow, Seq):
        steps = root["workflow"] = copy_seq(workflow)
        for index, step in enumerate(workflow):
            if isinstance(step, Map):
                steps[index] = _expand_owner(step, str(step.get("step")), origins)
    if isinstance(workbook, Map):
        blocks = root["workbook"] = copy_map(workbook)
        for name, block in workbook.items():
            if isinstance(block, Map):
                blocks[name] = _expand_owner(block, f"workbook/{name}", origins)
    return Expanded(root, origins)


def _expand_owner(node: Map, owner: str, origins: dict[str, Origin]) -> Map:
    tool = node.get("tool")
    if not isinstance(tool, Seq) or not any(_word(item) for item in tool):
        return node
    fresh = copy_map(node)
    pipeline = _Pipeline(owner)
    fresh["tool"] = tasks = Seq(mark=tool.mark)
    for task, mark in pipeline.tasks(tool, _Place("", _Names(_entries(tool, "")), "tool")):
        tasks.add(task, mark)
        name = task.get("name") if isinstance(task, Map) else None
        origin = pipeline.origins.get(name) if isinstance(name, str) else None
        if origin is not None:
            origins[f"{owner}/{origin.label}"] = origin
    return fresh


# ---- what an item is ------------------------------------------------------------------------------------


def _word(item: Value) -> str | None:
    """Which sugar an item is; None for a task and for what cannot be expanded."""
    if not isinstance(item, Map) or "kind" in item:
        return None
    words = [word for word in _READABLE if word in item]
    return words[0] if len(words) == 1 and _READABLE[words[0]](item[words[0]]) else None


def _is_round(body: Value) -> bool:
    return isinstance(body, Map) and _is_guard(body.get("when")) and _is_tasks(body.get("do"))


def _is_choice(body: Value) -> bool:
    if not isinstance(body, Seq) or not body:
        return False
    others = [branch for branch in body if not _is_case(branch)]
    return not others or (len(others) == 1 and _is_else(others[0]))


def _is_case(branch: Value) -> bool:
    return isinstance(branch, Map) and _is_guard(branch.get("when")) and isinstance(branch.get("then"), Seq)


def _is_else(branch: Value) -> bool:
    return isinstance(branch, Map) and "when" not in branch and isinstance(branch.get("else"), Seq)


def _is_guard(value: Value) -> bool:
    return isinstance(value, bool | str)


def _is_tasks(value: Value) -> bool:
    return isinstance(value, Seq) and len(value) > 0


_READABLE: Final[Mapping[str, Callable[[Value], bool]]] = {
    "while": _is_round,
    "until": _is_round,
    "choose": _is_choice,
    "paginate": is_paginate,
}


def _name(item: Value, index: int) -> str:
    name = item.get("name") if isinstance(item, Map) else None
    return name if isinstance(name, str) and name else f"task_{index}"


# ---- labels ---------------------------------------------------------------------------------------------


class _Names:
    """The names an author can jump to, scope by scope: each with the label control goes to."""

    def __init__(self, entries: Mapping[str, str], outer: "_Names | None" = None) -> None:
        self._entries = entries
        self._outer = outer

    def find(self, name: Value) -> str | None:
        """The label of the innermost scope that has the name."""
        if isinstance(name, str) and name in self._entries:
            return self._entries[name]
        return self._outer.find(name) if self._outer else None


def _entries(items: Seq, scope: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    for index, item in enumerate(items):
        labels.setdefault(_name(item, index), _entry(item, index, scope))
    return labels


def _entry(item: Value, index: int, scope: str) -> str:
    """The label at which an item begins."""
    label = inner(scope, _name(item, index))
    match _word(item):
        case "while" | "choose":
            return generated(label, TEST)
        case "paginate":
            return generated(label, BEGIN)
        case "until":
            return _entry(item["until"]["do"][0], 0, label)
        case _:
            return label


def _lists(item: Map, word: str) -> Iterator[Seq]:
    """The lists of tasks inside an item; all of them share its scope."""
    body = item[word]
    if word == "choose":
        yield from (branch["then" if "then" in branch else "else"] for branch in body)
    elif word == "paginate":
        yield requests(body)
        if isinstance(body.get("each"), Seq):
            yield body["each"]
    else:
        yield body["do"]


# ---- expanding ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a list of tasks stands: its scope, the names seen there, the clause, and the words around it."""

    scope: str
    names: _Names
    clause: str
    around: tuple[str, ...] = ()


class _Pipeline:
    """Expands the tasks of one step or block."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.origins: dict[str, Origin] = {}

    def tasks(self, items: Seq, place: _Place) -> Iterator[Placed]:
        """The plain tasks of a list, their labels in the scope they stand in."""
        for index, item in enumerate(items):
            mark = items.at(index)
            label = inner(place.scope, _name(item, index))
            word = _word(item)
            if word is not None:
                yield from _WORDS[word](self._item(item, word, label, place, mark))
            elif isinstance(item, Map):
                yield self._task(item, label, place), mark
            else:
                yield item, mark

    def _item(self, item: Map, word: str, label: str, place: _Place, mark: Mark) -> Item:
        entries: dict[str, str] = {}
        for items in _lists(item, word):
            entries = _entries(items, label) | entries
        names = _Names(entries, place.names)
        around = (*place.around, word)

        def inside(items: Seq, clause: str) -> list[Placed]:
            return list(self.tasks(items, _Place(label, names, clause, around)))

        def first(items: Seq) -> str:
            return _entry(items[0], 0, label)

        def note(generated_label: str, clause: str, place: Mark) -> None:
            self._note(generated_label, label, clause, place)

        return Item(label, word, item, mark, inside, first, note, place.around)

    def _task(self, task: Map, label: str, place: _Place) -> Map:
        fresh = _retargeted(task, place.names)
        if not place.scope:
            return fresh
        self._note(label, place.scope, place.clause, task.mark)
        if fresh.get("kind") == "workbook" and "block" not in fresh:
            fresh = copy_map(fresh)
            fresh.put("block", task.get("name"), key_mark=task.at_key("name"), value_mark=task.at("name"))
        return with_value(fresh, "name", label)

    def _note(self, label: str, item: str, clause: str, mark: Mark) -> None:
        self.origins[label] = Origin(self.owner, label, item, clause, mark)


def _while(item: Item) -> list[Placed]:
    body = item.body
    rules = [when(at(body, "when"), skip()), otherwise(item.to(END))]
    return [
        item.counting(TEST, "while.when", rules, body.get("max", WHILE_ROUNDS), body.at("when")),
        *item.inside(body["do"], "while.do"),
        item.deciding(NEXT, "while", [otherwise(item.to(TEST))]),
        item.end(),
    ]


def _until(item: Item) -> list[Placed]:
    body = item.body
    rules = [when(at(body, "when"), item.to(END)), otherwise(skip())]
    most = _one_less(body.get("max", UNTIL_ROUNDS))
    return [
        *item.inside(body["do"], "until.do"),
        item.counting(TEST, "until.when", rules, most, body.at("when")),
        *([_pause(item, body)] if body.get("delay") is not None else []),
        item.deciding(NEXT, "until", [otherwise(jump(item.first(body["do"])))]),
        item.end(),
    ]


def _pause(item: Item, body: Map) -> Placed:
    """The wait between two rounds; it leaves `output` and `_prev` as they were."""
    rules = [when("{{ output.status == 'ok' }}", skip()), otherwise({"do": "fail"})]
    seconds = {"seconds": at(body, "delay")}
    spec = {"policy": {"rules": rules}}
    return item.task(WAIT, "until.delay", body.at("delay"), kind="wait", input=seconds, spec=spec)


def _one_less(most: Value) -> Value:
    """The passes that lead to another round: one less than the rounds."""
    if isinstance(most, str):
        return f"{{{{ ({inline(most)}) | int - 1 }}}}" if inline(most) else most
    return most - 1 if isinstance(most, int | float) else most


def _choose(item: Item) -> list[Placed]:
    rules: list[Value] = []
    bodies: list[Placed] = []
    for index, branch in enumerate(item.body):
        clause = "then" if "then" in branch else "else"
        tasks: Seq = branch[clause]
        target = jump(item.first(tasks)) if tasks else item.to(END)
        rules.append(otherwise(target) if clause == "else" else when(at(branch, "when"), target))
        bodies += item.inside(tasks, f"choose.{index}.{clause}")
        if tasks:
            bodies.append(
                item.deciding(f"then_{index}", f"choose.{index}", [otherwise(item.to(END))], branch.mark)
            )
    if not any("else" in rule for rule in rules):
        rules.append(otherwise(item.to(END)))
    rules.sort(key=lambda rule: "else" in rule)
    return [item.deciding(TEST, "choose", rules), *bodies, item.end()]


_WORDS: Final[Mapping[str, Callable[[Item], list[Placed]]]] = {
    "while": _while,
    "until": _until,
    "choose": _choose,
    "paginate": paginate,
}


# ---- jumps ----------------------------------------------------------------------------------------------


def _retargeted(task: Map, names: _Names) -> Map:
    """The task with every jump of its rules leading to the label of the name it was given."""
    spec = task.get("spec")
    policy = spec.get("policy") if isinstance(spec, Map) else None
    if not isinstance(policy, Map) or not isinstance(spec, Map):
        return task
    fresh = policy
    for key in ("before", "rules"):
        rules = policy.get(key)
        if isinstance(rules, Seq):
            fresh = with_value(fresh, key, each(rules, lambda rule: _retargeted_rule(rule, names)))
    return task if fresh == policy else with_value(task, "spec", with_value(spec, "policy", fresh))


def _retargeted_rule(rule: Value, names: _Names) -> Value:
    if not isinstance(rule, Map):
        return rule
    if isinstance(rule.get("else"), Map):
        return with_value(rule, "else", _retargeted_then(rule["else"], names))
    return _retargeted_then(rule, names)


def _retargeted_then(rule: Map, names: _Names) -> Map:
    then = rule.get("then")
    if not isinstance(then, Map) or then.get("do") != "jump":
        return rule
    target = names.find(then.get("to"))
    return rule if target is None else with_value(rule, "then", with_value(then, "to", target))
