"""Playbooks and faults that once went wrong, each as small as it can be."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.simulation.faults import Faults
from tests.simulation.history import run
from tests.simulation.playbooks import CHILD, PATH, SIGNAL, Sample, Tree, compiled

HEAD = {"apiVersion": "noetl.io/v2", "kind": "Playbook"}
ACT = {"name": "act", "kind": "act", "input": {"say": 7, "slow": 0.5}}
LONG = {"name": "long", "kind": "wait", "input": {"seconds": 8}}
LOOP = {"in": [1, 2], "iterator": "item", "spec": {"mode": "parallel", "policy": {"exec": "local"}}}
CALL = {"name": "call", "kind": "workbook", "block": "block"}
TWICE = {"rules": [{"when": "{{ iter.calls < 2 }}", "then": {"do": "jump", "to": "call"}}]}
KEEP = {"ctx.kept": "{{ output.data }}"}


def playbook(*tools: Tree, **more: Any) -> Sample:
    """A playbook of one step that keeps its output, and a child that acts."""
    root: Tree = {key: more.pop(key) for key in ("workbook", "executor") if key in more}
    one: Tree = {"step": "one", "tool": more.pop("child", [ACT])}
    step: Tree = {"step": "only", "tool": list(tools), "set": KEEP, **more}
    main: Tree = {**HEAD, "metadata": {"name": "main", "path": PATH}, "workflow": [step], **root}
    child: Tree = {**HEAD, "metadata": {"name": "child", "path": CHILD}, "workflow": [one]}
    trees = {PATH: main, CHILD: child}
    programs = {path: compiled(path, tree) for path, tree in trees.items()}
    return Sample(programs, trees, Counter(), racy=False)


CRASHES = [(moment, "machine crash") for moment in (0.3, 9.0, 20.0)]
PAUSES = [(0.7, "pause"), (2.0, "resume")]
CASES: dict[str, tuple[Sample, list[tuple[float, str]], Any]] = {
    "a wait inside a block keeps the block's place": (
        playbook(CALL, workbook={"block": {"tool": [ACT, LONG]}}),
        CRASHES,
        None,
    ),
    "a wait inside the loop of a block keeps every iteration's place": (
        playbook(CALL, workbook={"block": {"tool": [LONG, ACT], "loop": LOOP}}),
        CRASHES,
        [7, 7],
    ),
    "a second call of a block begins anew": (
        playbook(
            {**CALL, "set": {"iter.calls": "{{ iter.calls | default(0) + 1 }}"}, "spec": {"policy": TWICE}},
            workbook={"block": {"tool": [LONG, ACT]}},
        ),
        CRASHES,
        7,
    ),
    "an answer is not taken for that of the next wait": (
        playbook(
            LONG,
            {"name": "child", "kind": "playbook", "path": CHILD},
            loop=LOOP,
        ),
        [(1.0, "server crash"), (3.0, "machine crash")],
        [7, 7],
    ),
    "a pause does not end an inner loop early": (
        playbook(
            ACT,
            loop={**LOOP, "loop": {"in": [1, 2, 3], "iterator": "part", "spec": {"mode": "sequential"}}},
        ),
        PAUSES,
        [[7, 7, 7], [7, 7, 7]],
    ),
    "a pause does not end a block early": (
        playbook(
            CALL, workbook={"block": {"tool": [{**ACT, "name": "first"}, ACT, {**ACT, "name": "last"}]}}
        ),
        PAUSES,
        7,
    ),
    "a pipeline that put a large value aside is sent out with it": (
        playbook(
            {"name": "rows", "kind": "act", "input": {"rows": 300}},
            {**LONG, "spec": {"policy": {"rules": [{"else": {"then": {"do": "skip"}}}]}}},
            {"name": "count", "kind": "act", "input": {"say": "{{ rows.data | length }}"}},
            executor={"spec": {"limits": {"max_payload_bytes": 2048}}},
        ),
        [],
        300,
    ),
    "a signal reaches a loop that was taken over": (
        playbook({"name": "go", "kind": "wait", "input": {"signal": SIGNAL}}, ACT, loop=LOOP),
        [(0.5, "server crash"), (2.5, "worker cut off")],
        [7, 7],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dice", range(3))
def test_what_went_wrong_once_goes_well(name: str, dice: int) -> None:
    sample, strikes, kept = CASES[name]
    on = frozenset(what for _, what in strikes)
    faults = Faults(Random(dice), on, until=30.0 if on else 0.0, strikes=list(strikes))
    history = run(sample, faults)
    assert history.violations == []
    result = history.results["0" * 32]
    assert (result["status"], result["ctx"]["kept"]) == ("completed", kept)


def test_a_child_that_is_not_waited_for_answers_with_its_id_whatever_dies() -> None:
    sample = playbook({"name": "child", "kind": "playbook", "path": CHILD, "wait": False}, LONG)
    for dice in range(20):
        on = frozenset({"crash around a commit", "commit of unknown outcome"})
        history = run(sample, Faults(Random(dice), on, until=20.0))
        assert history.violations == []
        assert len(history.results) == 2


def test_an_execution_that_is_being_started_is_not_loaded_beside_it() -> None:
    spread = {"name": "act", "kind": "act", "input": {"slow": "{{ iter.index * 0.15 }}"}}
    call = {"name": "child", "kind": "playbook", "path": CHILD}
    sample = playbook(spread, call, loop={**LOOP, "in": list(range(6))}, child=[{"kind": "noop"}])
    for dice in range(60, 80):
        strikes = [(0.3 + dice % 30 / 15, "cancel")]
        history = run(sample, Faults(Random(dice), frozenset({"slow store"}), until=20.0, strikes=strikes))
        assert history.violations == []
