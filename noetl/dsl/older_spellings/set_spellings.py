"""Every older spelling of `set`: set_iter, set_ctx, set_vars, set_shared and keys without a scope."""

import re

from noetl.dsl.grammar.check_set import TARGET_TWICE
from noetl.dsl.grammar.playbook import READ_ONLY
from noetl.dsl.grammar.task import SCOPES
from noetl.dsl.older_spellings.findings import BARE_TARGET, LEGACY_SET, SET_SCOPE
from noetl.dsl.older_spellings.positioned import positioned
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Scalar
from noetl.dsl.yaml.one_line import flow

DEPRECATED = {"set_ctx": "ctx", "set_iter": "iter"}
LEGACY = {"set_vars": "step", "set_shared": "ctx"}
OLDER = {**DEPRECATED, **LEGACY}
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# `{{ ctx.total | default(0) + n }}`: the value so far, and what is added to it
ADDITION = re.compile(
    r"\{\{-?\s*\(?\s*(?:ctx|vars|shared)\.(?P<name>\w+)\s*(?:\|\s*(?:default\([^()]*\)|int|float)\s*)*\)?\s*\+\s*"
    r"(?P<added>.+?)\s*-?\}\}",
    re.DOTALL,
)
LOOSER_THAN_ADDITION = re.compile(r"\b(?:if|else|and|or|not|in|is)\b|[<>=!]|\}\}")
RESULT = re.compile(r"\{\{-?\s*(?:outcome\.)?result\s*-?\}\}")
ONE_ITEM = re.compile(r"\[\s*(?P<item>[^\[\],]+?)\s*\]")


def rewrite_set(rw: Rewriting, holder: Collection, loop: Collection | None, *, bare: bool = True) -> None:
    """Bring the `set` family of a step, task, rule or arc to one `set` with full targets."""
    own = holder.map_at("set")
    if own is not None and bare:
        _name_scopes(rw, own)
    for entry in list(holder.entries):
        if entry.key in OLDER:
            _rewrite_older(rw, holder, entry, loop)
        elif entry.key == "set_prev" and rw.loading and can_merge(holder):
            write = f"a task after this one: {{kind: noop, output: {flow(positioned(entry.value))}}}"
            rw.legacy(LEGACY_SET, entry.mark, "'set_prev' is not part of the language", write)
            holder.drop(entry)


def _rewrite_older(rw: Rewriting, holder: Collection, entry: Entry, loop: Collection | None) -> None:
    key, values = str(entry.key), entry.as_map
    if values is None or not can_merge(holder):
        why = "it is not a mapping" if values is None else "the 'set' beside it is not a mapping"
        rw.review(entry.mark, f"'{key}' was left as it is: {why}", "write: set: {scope.name: value}")
        return
    scope = OLDER[key]
    note, code = (rw.deprecated, SET_SCOPE) if key in DEPRECATED else (rw.legacy, LEGACY_SET)
    targets = {f"{scope}.{write.key}": positioned(write.value) for write in values.entries}
    note(code, entry.mark, f"'{key}' is an older spelling of 'set'", f"set: {flow(targets)}")
    for write in values.entries:
        if key == "set_shared" and not rw.loading:
            _reduce(rw, write, loop)
        if not rw.loading:
            take_reference(rw, write)
        name = str(write.key)
        passed_on = key == "set_vars" and name in rw.passed_on
        retarget(write, f"{'ctx' if passed_on else scope}.{name}")
        if passed_on:
            rw.changed(write.mark, f"'{name}', which another step reads, is now 'ctx.{name}'")
    merge_set(rw, holder, entry, values)
    rw.changed(entry.mark, f"'{key}' is now 'set' with targets under '{scope}.'")


def take_reference(rw: Rewriting, write: Entry) -> None:
    """A result under a name that ends in `_ref` was a reference, which is `output.ref` today."""
    node = write.value
    if str(write.key).endswith("_ref") and isinstance(node, Scalar) and RESULT.fullmatch(node.value):
        write.value = tree.quoted("{{ output.ref }}", node.mark)
        rw.review(write.mark, f"'{write.key}' was given the result and is now given its reference")


def can_merge(holder: Collection) -> bool:
    """Whether writes can be added to what a holder sets."""
    return tree.is_nothing(holder.get("set")) or holder.map_at("set") is not None


def merge_set(rw: Rewriting, holder: Collection, entry: Entry, values: Collection) -> None:
    """Make the entry the `set` of its holder, or add its writes to the one that is there."""
    present = holder.entry("set")
    own = present.as_map if present is not None else None
    if present is not None and own is None:
        holder.drop(present)
    if not values.entries:
        holder.drop(entry)
    elif own is None:
        entry.rename("set")
    else:
        holder.pull(entry)
        values.entries[0].lead_with(entry.comments)
        own.end_with(values.trailing)
        for write in values.entries:
            if not _is_twice(rw, own, write, str(write.key)):
                own.add(write)


def _is_twice(rw: Rewriting, own: Collection, write: Entry, target: str) -> bool:
    """Whether a `set` writes a target already; the first write stays."""
    first = own.entry(target)
    if first is None:
        return False
    message = f"'{target}' is set twice in one set; first at line {first.mark.line}"
    rw.findings.append(TARGET_TWICE.at(write.mark, message, "keep one of them"))
    rw.review(write.mark, f"'set' writes '{target}' too and wins; the value here is gone")
    return True


def _name_scopes(rw: Rewriting, values: Collection) -> None:
    for write in list(values.entries):
        key = str(write.key)
        if NAME.fullmatch(key) and key not in (*SCOPES, *READ_ONLY):
            target = f"step.{key}"
            message = f"set target '{key}' names no scope and is read as '{target}'"
            rw.deprecated(BARE_TARGET, write.mark, message, target)
            if _is_twice(rw, values, write, target):
                values.drop(write)
                continue
            retarget(write, target)
            rw.changed(write.mark, f"set target '{key}' is now 'step.{key}'")


def retarget(write: Entry, target: str) -> None:
    quote = write.key_text[:1]
    write.key, write.key_text = (
        target,
        f"{quote}{target}{quote}" if quote in ("'", '"') else tree.word(target).text,
    )


def _reduce(rw: Rewriting, write: Entry, loop: Collection | None) -> None:
    """Declare how writes of several iterations to one shared name are combined."""
    rw.shared.add(str(write.key))
    if loop is None:
        return
    reducer = _reducer(write)
    target = f"ctx.{write.key}"
    reduce = loop.child("spec").child("policy").child("reduce")
    if reduce.entry(target) is None:
        reduce.add(tree.pair(target, tree.plain(reducer)))
    message = f"'{target}' is shared by the iterations of a loop; its writes are combined with '{reducer}'"
    hint = "choose another reducer under loop.spec.policy.reduce if that is not what was meant"
    rw.review(write.mark, message, hint)


def _reducer(write: Entry) -> str:
    """The reducer that does what the write says; an addition to the value so far keeps what it adds."""
    if write.as_map is not None:
        return "merge"
    node = write.value
    addition = ADDITION.fullmatch(node.value) if isinstance(node, Scalar) else None
    if addition is None or addition["name"] != write.key or LOOSER_THAN_ADDITION.search(addition["added"]):
        return "last"
    item = ONE_ITEM.fullmatch(addition["added"])
    write.value = tree.quoted("{{ " + (item["item"] if item else addition["added"]) + " }}", write.value.mark)
    return "append" if item else "sum"


def written(node: Collection, scope: str) -> set[str]:
    """The names that a `set` writes in one scope."""
    names = {key.split(".")[1] for key in node.names if key.startswith(f"{scope}.")}
    return names | set(node.keys_at(scope))
