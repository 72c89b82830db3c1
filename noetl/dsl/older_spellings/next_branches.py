"""Branches under `next`, `{when, then: […]}` and `{else: […]}`: arcs, with the guards of their branches."""

from noetl.dsl.older_spellings.cases import Branch, router_of
from noetl.dsl.older_spellings.policies import rewrite_guard
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry

BRANCH = {"when", "then", "else"}
LEFT = "write arcs: [{step: …, when: …}], with next: {spec: {mode: inclusive}} where several are to be taken"


def has_branches(arcs: Collection) -> bool:
    """Whether a list under `next` has branches in it."""
    return any({"then", "else"} & set(arc.names) for arc in tree.maps(arcs))


def router_of_branches(rw: Rewriting, entry: Entry, arcs: Collection) -> Collection | None:
    """A router for a list under `next` with branches; None, and it is said, where no router says the same."""
    branches = [_branch(rw, source) for source in arcs.entries]
    known = [branch for branch in branches if branch is not None]
    known.sort(key=lambda branch: "else" in (branch.source.as_map or ()))  # it holds only when no other does
    router = router_of(known, flow=arcs.flow) if len(known) == len(branches) else None
    if router is None:
        rw.review(entry.mark, "'next' was left as it is: its branches have no mechanical replacement", LEFT)
    else:
        rw.review(entry.mark, "the branches of 'next' are now arcs: the first whose guard holds is taken")
    return router


def _branch(rw: Rewriting, source: Entry) -> Branch | None:
    body = source.as_map
    if body is None or "step" in body:
        return Branch(None, {"next": source}, source)
    rewrite_guard(rw, body)
    guard, last = body.entry("when"), body.entry("else")
    then = _then(last) if last is not None else body.entry("then")
    if then is None or (guard is None) == (last is None) or set(body.names) - BRANCH:
        return None
    return Branch(guard, {"next": then}, source)


def _then(last: Entry) -> Entry:
    inner = last.as_map
    return inner.entries[0] if inner is not None and inner.names == ["then"] else last
