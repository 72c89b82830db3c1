"""Random task lists, and one step of them played by the real engine on a virtual clock."""

from collections import Counter
from random import Random
from typing import Any

from hypothesis import strategies as st

from noetl.core.event import Event
from tests.property.reference import GUARDS, VALUES, Tree
from tests.simulation.faults import Faults
from tests.simulation.history import run
from tests.simulation.playbooks import PATH, Sample, compiled

LIMIT = 30
EXECUTION = "0" * 32
LABELS = ("one", "two", "three", "four")

values = st.sampled_from([*VALUES, 7, "text", None, [1, {"deep": True}]])
guards = st.sampled_from(list(GUARDS))


def assigns(*targets: str) -> st.SearchStrategy[Tree]:
    """A set over some targets; counters only ever count."""
    counted = {"ctx.n": "{{ (ctx.n | default(0)) + 1 }}", "iter.n": "{{ (iter.n | default(0)) + 1 }}"}
    chosen = {target: st.just(counted[target]) if target in counted else values for target in targets}
    return st.fixed_dictionaries({}, optional=chosen)


@st.composite
def thens(draw: st.DrawFn, directives: tuple[str, ...], targets: tuple[str, ...], sets: Any) -> Tree:
    """The body of a rule."""
    then: Tree = {"do": draw(st.sampled_from(directives if targets else directives[:-1]))}
    if then["do"] == "jump":
        then["to"] = draw(st.sampled_from(targets))
    if then["do"] == "retry":
        then |= {"attempts": draw(st.integers(1, 4)), "delay": 0}
    written = draw(sets)
    return then | ({"set": written} if written else {})


@st.composite
def rules(draw: st.DrawFn, bodies: st.SearchStrategy[Tree]) -> list[Tree]:
    """Guarded rules, with or without an else."""
    found: list[Tree] = [
        {"when": when, "then": draw(bodies)} for when in draw(st.lists(guards, min_size=1, max_size=2))
    ]
    return found + ([{"else": {"then": draw(bodies)}}] if draw(st.booleans()) else [])


@st.composite
def tasks(draw: st.DrawFn, *targets: str) -> list[Tree]:
    """A task list whose jumps back are counted by the limit; before-rules only jump ahead."""
    sets = assigns(*targets)
    names = LABELS[: draw(st.integers(1, len(LABELS)))]
    found = []
    for index, name in enumerate(names):
        kind = draw(st.sampled_from(("act", "act", "noop")))
        task: Tree = {"name": name, "kind": kind}
        if kind == "act":
            task["input"] = {"say": draw(values), "fails": draw(st.sampled_from((0, 0, 1, 2, 9)))}
        policy: Tree = {}
        if draw(st.booleans()):
            bodies = thens(("continue", "skip", "retry", "break", "fail", "jump"), names, sets)
            policy["rules"] = draw(rules(bodies))
            if draw(st.booleans()):
                policy["on_unmatched"] = "by_status"
        if draw(st.integers(0, 3)) == 0:
            ahead = names[index + 1 :]
            policy["before"] = draw(rules(thens(("continue", "skip", "break", "fail", "jump"), ahead, sets)))
        written = draw(sets)
        task |= {"set": written} if written else {}
        task |= {"spec": {"policy": policy}} if policy else {}
        found.append(task)
    return found


def play(step: Tree) -> tuple[dict[str, Any], list[Event]]:
    """How an execution of one step ended, and its log; every invariant holds of it."""
    head = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "metadata": {"name": "one", "path": PATH}}
    tree = {**head, "executor": {"spec": {"limits": {"max_task_runs": LIMIT}}}, "workflow": [step]}
    sample = Sample({PATH: compiled(PATH, tree)}, {PATH: tree}, Counter(), racy=False)
    history = run(sample, Faults(Random(0)), EXECUTION)
    assert history.violations == []
    return history.results[EXECUTION], history.logs[EXECUTION]


def visits_of(log: list[Event]) -> list[tuple[Any, ...]]:
    """What tasks did: label, visit, attempt, directive."""
    done = [event for event in log if event.name == "task.done"]
    return [(event.label, event.visit, event.attempt, (event.data or {})["do"]) for event in done]
