"""`case` of a step, as far as it says something the language can say: guarded arcs, or a choice between tasks.

Whatever else a `case` does is left as it is, with a note: guessing would change what the playbook does.
"""

from dataclasses import dataclass

from noetl.dsl.migrate.policies import rewrite_guard
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.tasks import as_pipeline
from noetl.dsl.migrate.templates import mentions
from noetl.dsl.migrate.text import (
    Collection,
    Entry,
    Scalar,
    as_list,
    as_map,
    item,
    listing,
    mapping,
    pair,
    plain,
    scalars,
)

LEFT = "write guarded arcs under next, or a 'choose' item under tool"


@dataclass(slots=True)
class Branch:
    """One branch: its guard (None is else) and what it does, by action."""

    guard: Entry | None
    actions: dict[str, Entry]
    source: Entry


def rewrite_case(rw: Rewriting, step: Collection) -> None:
    """Turn a `case` into arcs when it only routes, into a `choose` when it only runs tasks."""
    entry = step.entry("case")
    if entry is None:
        return
    branches = _branches(rw, entry)
    if branches and all(set(branch.actions) == {"next"} for branch in branches):
        done = _as_arcs(rw, step, entry, branches)
    elif branches and all(set(branch.actions) in ({"tool"}, {"pipe"}) for branch in branches):
        done = _as_choice(step, entry, branches)
    else:
        done = False
    if not done:
        rw.review(entry.mark, "'case' was left as it is: it has no mechanical replacement", LEFT)


def _branches(rw: Rewriting, entry: Entry) -> list[Branch]:
    found = []
    for source in (as_list(entry.value) or listing()).entries:
        body = as_map(source.value)
        if body is None:
            return []
        rewrite_guard(rw, body)
        last = body.entry("else")
        then = last or body.entry("then")
        actions = _actions(then)
        if actions is None or (last is None and body.entry("when") is None):
            return []
        found.append(Branch(None if last else body.entry("when"), actions, source))
    return found


def _actions(then: Entry | None) -> dict[str, Entry] | None:
    """What a branch does: a mapping of actions, or a list of mappings with one action each."""
    node = then.value if then is not None else None
    inner = as_map(node)
    if inner is not None and inner.keys() == ["then"]:
        node = inner.get("then")
    parts = (
        [as_map(node)]
        if as_map(node) is not None
        else [as_map(part) for part in (as_list(node) or listing()).values()]
    )
    actions: dict[str, Entry] = {}
    for part in parts:
        for action in part.entries if part is not None else []:
            if str(action.key) in actions:
                return None
            actions[str(action.key)] = action
    return None if None in parts else actions


def _as_arcs(rw: Rewriting, step: Collection, entry: Entry, branches: list[Branch]) -> bool:
    targets = [_targets(branch.actions["next"]) for branch in branches]
    several = any(len(arcs) > 1 for arcs in targets)
    if not all(targets) or (several and len(branches) > 1):
        return False
    given = step.entry("next")
    if given is not None and (as_list(given.value) is None or several):
        return False
    arcs = listing(flow=step.flow)
    for branch, found in zip(branches, targets, strict=True):
        for arc in found:
            if arc.entry("when") is not None and branch.guard is not None:
                return False
            if branch.guard is not None:
                arc.add(pair("when", branch.guard.value, mark=branch.guard.mark))
            holder = arcs.add(item(arc, mark=branch.source.mark))
            holder.before, holder.column = branch.source.before, branch.source.column
    if given is not None:
        for arc_entry in as_list(given.value).entries:  # type: ignore[union-attr]
            arcs.add(arc_entry)
        step.drop(given)
    router = mapping([pair("arcs", arcs)], flow=step.flow)
    if several:
        router.insert(0, pair("spec", mapping([pair("mode", plain("inclusive"))], flow=True)))
    entry.key, entry.key_text, entry.value = "next", "next", router
    rw.review(entry.mark, "'case' is now 'next': its guards are asked once, when the step has ended")
    return True


def _targets(action: Entry) -> list[Collection]:
    """The arcs of an action `next`: a step's name, one arc, or a list of either."""
    nodes = list(as_list(action.value).values()) if as_list(action.value) is not None else [action.value]  # type: ignore[union-attr]
    arcs = []
    for node in nodes:
        arc = as_map(node)
        if isinstance(node, Scalar) and not node.empty:
            arc = mapping([pair("step", node)], flow=True)
        if arc is None or arc.entry("step") is None:
            return []
        arcs.append(arc)
    return arcs


def _as_choice(step: Collection, entry: Entry, branches: list[Branch]) -> bool:
    guards = [scalar for branch in branches if branch.guard for scalar in scalars(branch.guard.value)]
    if any(mentions(scalar.value, "event") for scalar in guards):
        return False
    choices = listing(flow=step.flow)
    for branch in branches:
        tasks = next(iter(branch.actions.values())).value
        tasks = tasks if as_list(tasks) is not None else listing([item(tasks)], flow=step.flow)
        body = [pair("then", tasks)] if branch.guard is not None else [pair("else", tasks)]
        guard = [pair("when", branch.guard.value, mark=branch.guard.mark)] if branch.guard is not None else []
        holder = choices.add(item(mapping([*guard, *body], flow=step.flow), mark=branch.source.mark))
        holder.before, holder.column = branch.source.before, branch.source.column
    choice = item(
        mapping([pair("name", plain("case")), pair("choose", choices)], flow=step.flow), mark=entry.mark
    )
    given = step.entry("tool")
    if given is None:
        entry.key, entry.key_text, entry.value = "tool", "tool", listing([choice], flow=step.flow)
        return True
    step.drop(entry)
    as_pipeline(step, step.word("step") or "step").add(choice)
    return True
