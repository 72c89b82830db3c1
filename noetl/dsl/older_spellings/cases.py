"""`case` of a step, as far as the language can say what it says: guarded arcs, or a choice between tasks.

Whatever else a `case` does is left as it is, with a note: guessing would change what the playbook does.
"""

from dataclasses import dataclass

from noetl.dsl.older_spellings.findings import LEGACY_CASE
from noetl.dsl.older_spellings.policies import rewrite_guard
from noetl.dsl.older_spellings.positioned import positioned
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import NO_CASE, as_pipeline
from noetl.dsl.older_spellings.templates import mentions
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar
from noetl.dsl.yaml.one_line import flow

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
    if rw.loading:
        _refuse_case(rw, step, entry)
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


def _refuse_case(rw: Rewriting, step: Collection, entry: Entry) -> None:
    """What a `case` means depends on when it was asked, so `load` only says what it could become."""
    mark = entry.mark
    step.drop(entry)
    router = tree.mapping([entry])
    silent = rw.silent()
    silent.loading = False
    rewrite_case(silent, router)
    arcs = router.get("next")
    write = flow(positioned(arcs)) if arcs is not None else '{arcs: [{step: …, when: "{{ … }}"}]}'
    rw.legacy(LEGACY_CASE, mark, NO_CASE, f"next: {write}")


def _branches(rw: Rewriting, entry: Entry) -> list[Branch]:
    """Every branch, or none when one of them is of another shape."""
    branches = []
    for source in tree.entries(entry.as_list):
        body = source.as_map
        if body is None:
            return []
        rewrite_guard(rw, body)
        guard, last = body.entry("when"), body.entry("else")
        actions = _actions((last or body.entry("then") or source).value)
        if not actions or (guard is None) == (last is None):
            return []
        branches.append(Branch(guard, actions, source))
    return branches


def _actions(node: Node) -> dict[str, Entry]:
    """What a branch does: a mapping of actions, or a list of mappings with one action each."""
    inner = tree.as_map(node)
    if inner is not None and inner.names == ["then"]:
        return _actions(inner.entries[0].value)
    parts = (
        tree.entries(inner)
        if inner is not None
        else [action for part in tree.maps(node) for action in part.entries]
    )
    actions = {str(action.key): action for action in parts}
    return actions if len(actions) == len(parts) else {}


# ---- arcs -------------------------------------------------------------------------------------------------


def _as_arcs(rw: Rewriting, step: Collection, entry: Entry, branches: list[Branch]) -> bool:
    router, present = router_of(branches, flow=step.flow), step.entry("next")
    arcs = router.list_at("arcs") if router is not None else None
    if router is None or arcs is None:
        return False
    if present is not None:
        if present.as_list is None or "spec" in router:
            return False
        arcs.entries += present.entries
        step.drop(present)
    entry.rename("next")
    entry.value = router
    rw.review(entry.mark, "'case' is now 'next': its guards are asked once, when the step has ended")
    return True


def router_of(branches: list[Branch], *, flow: bool) -> Collection | None:
    """A router for branches that only name the steps after them, or None where no router says the same."""
    targets = [_targets(branch.actions["next"].value) for branch in branches]
    several = any(len(arcs) > 1 for arcs in targets)
    if not all(targets) or (several and len(branches) > 1):
        return None
    if any(
        "when" in arc for branch, arcs in zip(branches, targets, strict=True) if branch.guard for arc in arcs
    ):
        return None
    arcs = tree.listing(flow=flow)
    for branch, arcs_of_branch in zip(branches, targets, strict=True):
        _add_arcs(arcs, branch, arcs_of_branch)
    router = tree.mapping_of({"arcs": arcs}, flow=flow)
    if several:
        router.insert(0, tree.pair("spec", tree.mapping_of({"mode": "inclusive"}, flow=True)))
    return router


def _targets(node: Node) -> list[Collection]:
    """The arcs of an action `next`: a step's name, one arc, or a list of either."""
    arcs = []
    for each in [entry.value for entry in tree.entries(node)] if tree.as_list(node) is not None else [node]:
        arc = tree.as_map(each)
        if isinstance(each, Scalar) and not each.empty:
            arc = tree.mapping_of({"step": each}, flow=True)
        if arc is None or "step" not in arc:
            return []
        arcs.append(arc)
    return arcs


def _add_arcs(arcs: Collection, branch: Branch, branch_arcs: list[Collection]) -> None:
    for number, arc in enumerate(branch_arcs):
        if branch.guard is not None:
            arc.add(tree.pair("when", branch.guard.value, mark=branch.guard.mark))
        holder = arcs.add(tree.item(arc, mark=branch.source.mark))
        if number == 0:
            holder.before, holder.column = branch.source.before, branch.source.column


# ---- choices ----------------------------------------------------------------------------------------------


def _as_choice(step: Collection, entry: Entry, branches: list[Branch]) -> bool:
    guards = [scalar for branch in branches if branch.guard for scalar in tree.scalars(branch.guard.value)]
    if any(mentions(scalar.value, "event") for scalar in guards):
        return False  # a task knows nothing of events
    choices = tree.listing([_choice(branch, flow=step.flow) for branch in branches], flow=step.flow)
    choice = tree.mapping_of({"name": "case", "choose": choices}, flow=step.flow)
    if "tool" in step:
        step.drop(entry)
        as_pipeline(step, step.word("step") or "step").add(tree.item(choice, mark=entry.mark))
    else:
        entry.rename("tool")
        entry.value = tree.listing([tree.item(choice, mark=entry.mark)], flow=step.flow)
    return True


def _choice(branch: Branch, *, flow: bool) -> Entry:
    tasks = next(iter(branch.actions.values())).value
    if tree.as_list(tasks) is None:
        tasks = tree.listing([tree.item(tasks)], flow=flow)
    body = [tree.pair("else", tasks)]
    if branch.guard is not None:
        body = [tree.pair("when", branch.guard.value, mark=branch.guard.mark), tree.pair("then", tasks)]
    holder = tree.item(tree.mapping(body, flow=flow), mark=branch.source.mark)
    holder.before, holder.column = branch.source.before, branch.source.column
    return holder
