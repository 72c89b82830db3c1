"""The pipeline as a graph: which task can follow which."""

from typing import Any, cast

import pytest

from noetl.dsl.model import Rule, Task
from noetl.dsl.net.pipeline_graph import TaskFlow

MAYBE = "{{ ctx.x }}"


def rule(text: str) -> Rule:
    """`do`, `do?` under a guard, `jump>label`."""
    do, _, to = text.rstrip("?").partition(">")
    return Rule(MAYBE if text.endswith("?") else None, cast(Any, do), to=to or None)


def flow(**tasks: str) -> TaskFlow:
    """Tasks by label: rules before `|` are before-rules."""
    built = []
    for label, text in tasks.items():
        before, _, after = text.rpartition("|")
        rules = tuple(map(rule, after.split()))
        built.append(Task(label, "noop", before=tuple(map(rule, before.split())), rules=rules or None))
    return TaskFlow.of(tuple(built))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", {1}),
        ("continue", {1}),
        ("skip", {1}),
        ("break", {2}),
        ("fail", {2}),
        ("fail?", {1, 2}),
        ("jump>a", {0}),
        ("jump>a? break", {0, 2}),
        ("jump>zz", {2}),
        ("retry", set()),
        ("retry? continue", {1}),
        ("break continue", {2}),
        ("skip|break", {1}),
        ("skip?|break", {1, 2}),
        ("continue|break", {2}),
        ("jump>a|", {0}),
    ],
)
def test_directives_lead_to_their_tasks(text, expected):
    assert set(flow(a=text, b="").digraph.out[0]) == expected


def test_a_task_precedes_another_when_a_way_leads_there():
    graph = flow(a="", b="jump>a?", c="")
    assert graph.precedes(0, 2)
    assert graph.precedes(1, 0)
    assert not graph.precedes(2, 0)


def test_a_guard_that_never_holds_leads_nowhere():
    never = Task("a", "noop", rules=(Rule(False, "jump", to="a"), Rule(None, "break")))
    assert TaskFlow.of((never,)).digraph.out[0] == (1,)
