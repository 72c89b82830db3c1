"""The shapes of the language that may be written shorter -> the one canonical tree.

One task instead of a list, tasks without a name, nested `set`, a workbook as a list of named blocks. Older
spellings are older_spellings' and sugar items stay as they are. What cannot be read is left in place for
grammar/check.py to report, so nothing here fails.
"""

import itertools
import re

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.check_set import TARGET_TWICE
from noetl.dsl.grammar.claim import is_claim
from noetl.dsl.grammar.task import SCOPES
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import child_map, copy_map, each

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)

Findings = list[Diagnostic]


def expand_shorthand(tree: Map, findings: Findings) -> Map:
    """The tree with every shape written out; targets that a `set` writes twice are found on the way."""
    root = copy_map(tree)
    if "workbook" in root:
        root["workbook"] = _workbook(root["workbook"], findings)
    if isinstance(root.get("workflow"), Seq):
        root["workflow"] = each(root["workflow"], lambda step: _step(step, findings))
    return root


def _workbook(book: Value, findings: Findings) -> Value:
    if isinstance(book, Seq):
        book = _map_of_blocks(book)
    if not isinstance(book, Map):
        return book
    fresh = copy_map(book)
    for name, block in book.items():
        if isinstance(block, Map):
            fresh[name] = _body(copy_map(block), name, findings)
    return fresh


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


def _step(node: Value, findings: Findings) -> Value:
    if not isinstance(node, Map):
        return node
    step = copy_map(node)
    name = step.get("step")
    router = step.get("next")
    if isinstance(router, Map) and isinstance(router.get("arcs"), Seq):
        step["next"] = router = copy_map(router)
        router["arcs"] = each(router["arcs"], lambda arc: _flat(arc, findings))
    return _body(step, name if isinstance(name, str) else "", findings)


def _body(owner: Map, name: str, findings: Findings) -> Map:
    """Write out the tasks and the `set` of a step or block; its one unnamed task is called after it."""
    _write_out_claim(owner, findings)
    tool = owner.get("tool")
    if isinstance(tool, Map):
        # A name that cannot be a name is reported once, for the step itself.
        label = f"{name}_task" if _NAME.fullmatch(name) else "task_0"
        tasks = Seq(mark=tool.mark)
        tasks.add(_task(tool, label, findings), tool.mark)
        owner["tool"] = tasks
    elif isinstance(tool, Seq):
        owner["tool"] = _tasks(tool, findings)
    _flatten_set(owner, findings)
    return owner


def _write_out_claim(owner: Map, findings: Findings) -> None:
    """A claim is a task, and its rules are written as those of any other."""
    node = owner.get("loop")
    source = node.get("in") if isinstance(node, Map) else None
    if isinstance(node, Map) and is_claim(source):
        owner["loop"] = loop = copy_map(node)
        loop["in"] = source = copy_map(source)
        source["claim"] = claim = copy_map(source["claim"])
        _write_out_rules(claim, findings)


# ---- tasks ------------------------------------------------------------------------------------------------


def _tasks(tasks: Value, findings: Findings, first: int = 0) -> Value:
    """A list of tasks; an unnamed one is called by its place, counted from `first`."""
    if not isinstance(tasks, Seq):
        return tasks
    labels = map("task_{}".format, itertools.count(first))
    return each(tasks, lambda task: _task(task, next(labels), findings))


def _task(node: Value, label: str | None, findings: Findings) -> Value:
    if not isinstance(node, Map):
        return node
    task = copy_map(node) if "name" in node or label is None else _named(node, label)
    _flatten_set(task, findings)
    _write_out_rules(task, findings)
    _write_out_sugar(task, findings)
    return task


def _named(task: Map, label: str) -> Map:
    fresh = Map([("name", label), *task.items()], task.mark)
    fresh.key_marks = {"name": task.mark, **task.key_marks}
    fresh.value_marks = {"name": task.mark, **task.value_marks}
    return fresh


def _write_out_rules(task: Map, findings: Findings) -> None:
    spec = task.get("spec")
    if not isinstance(spec, Map) or not isinstance(spec.get("policy"), Map):
        return
    policy = child_map(child_map(task, "spec") or spec, "policy")
    for key in ("rules", "before"):
        if policy is not None and isinstance(policy.get(key), Seq):
            policy[key] = each(policy[key], lambda rule: _rule(rule, findings))


def _rule(rule: Value, findings: Findings) -> Value:
    if not isinstance(rule, Map):
        return rule
    fresh = copy_map(rule)
    if isinstance(fresh.get("then"), Map):
        fresh["then"] = _flat(fresh["then"], findings)
    body = fresh.get("else")
    if isinstance(body, Map) and isinstance(body.get("then"), Map):
        fresh["else"] = body = copy_map(body)
        body["then"] = _flat(body["then"], findings)
    return fresh


def _write_out_sugar(item: Map, findings: Findings) -> None:
    for key in ("while", "until"):
        if isinstance(item.get(key), Map):
            item[key] = body = copy_map(item[key])
            if "do" in body:
                body["do"] = _tasks(body["do"], findings)
    if isinstance(item.get("choose"), Seq):
        item["choose"] = _branches(item["choose"], findings)
    if isinstance(item.get("paginate"), Map):
        item["paginate"] = body = copy_map(item["paginate"])
        if isinstance(body.get("request"), Map):
            body["request"] = _task(body["request"], None, findings)
        if "each" in body:
            body["each"] = _tasks(body["each"], findings)


def _branches(branches: Seq, findings: Findings) -> Seq:
    fresh = Seq(mark=branches.mark)
    count = 0  # the branches of one item share their labels' scope
    for index, branch in enumerate(branches):
        body = copy_map(branch) if isinstance(branch, Map) else branch
        for key in ("then", "else"):
            if isinstance(body, Map) and isinstance(body.get(key), Seq):
                body[key] = _tasks(body[key], findings, count)
        fresh.add(body, branches.at(index))
        lists = body.values() if isinstance(body, Map) else ()
        count += sum(len(tasks) for tasks in lists if isinstance(tasks, Seq))
    return fresh


# ---- set --------------------------------------------------------------------------------------------------


def _flat(holder: Value, findings: Findings) -> Value:
    """A copy of a rule's body or an arc with one flat `set`."""
    if not isinstance(holder, Map):
        return holder
    fresh = copy_map(holder)
    _flatten_set(fresh, findings)
    return fresh


def _flatten_set(holder: Map, findings: Findings) -> None:
    """Write `set: {ctx: {a: 1}}` as `set: {ctx.a: 1}`, in place."""
    node = holder.get("set")
    if not isinstance(node, Map) or not any(isinstance(node.get(scope), Map) for scope in SCOPES):
        return
    flat = Map(mark=node.mark)
    for key, value in node.items():
        if key in SCOPES and isinstance(value, Map):
            for name in value:
                _add(flat, f"{key}.{name}", value, name, findings)
        else:
            _add(flat, key, node, key, findings)
    holder["set"] = flat


def _add(flat: Map, target: str, source: Map, key: str, findings: Findings) -> None:
    if target in flat:
        message = f"'{target}' is set twice in one set; first at line {flat.at_key(target).line}"
        findings.append(TARGET_TWICE.at(source.at_key(key), message, "keep one of them"))
        return
    flat.put(target, source[key], key_mark=source.at_key(key), value_mark=source.at(key))
