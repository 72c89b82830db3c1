"""What a drawing shows of a playbook."""

import pytest
from msgspec.structs import replace

from noetl.dsl.model import AdmitRule, Arc, Loop, Playbook, Step
from noetl.dsl.net.diagram import GraphArc, guard_text, sketch
from noetl.dsl.yaml.one_line import shortened
from tests.unit.cli.drawn import SHOP, exclusive, tasks

NODES = {node.name: node for node in sketch(SHOP).nodes}
EDGES = {(edge.source, edge.target): edge for edge in sketch(SHOP).edges}


def test_the_entry_and_the_ends_are_marked() -> None:
    assert [node.name for node in NODES.values() if node.entry] == ["start"]
    assert [node.name for node in NODES.values() if node.end] == ["done", "cleanup"]


def test_a_step_without_tasks_routes_unless_it_is_an_end() -> None:
    assert NODES["start"].routing
    assert not NODES["done"].routing


def test_a_join_is_where_arcs_of_two_steps_meet() -> None:
    assert {node.name: node.join for node in NODES.values() if node.join} == {"merge": "all"}


def test_an_arc_to_itself_makes_no_join() -> None:
    again = Playbook(
        "p", "p", (Step("a", next=exclusive(Arc("b"))), Step("b", next=exclusive(Arc("b", when="{{ x }}"))))
    )
    assert [node.join for node in sketch(again).nodes] == [None, None]


def test_runs_of_one_kind_are_drawn_once() -> None:
    assert NODES["orders"].body == "http → noop ×2"


@pytest.mark.parametrize(
    "loop, text",
    [
        (Loop([], "x"), "for each x"),
        (Loop([], "x", mode="parallel", max_in_flight=4), "for each x · 4 at once"),
        (Loop([], "x", mode="parallel", max_in_flight="{{ workload.n }}"), "for each x · parallel"),
        (Loop([], "x", inner=Loop([], "y")), "for each x and y"),
    ],
)
def test_a_loop_is_told_in_words(loop: Loop, text: str) -> None:
    (node,) = sketch(Playbook("p", "p", (Step("a", tasks=tasks("noop"), loop=loop),))).nodes
    assert node.loop == text


def test_admission_rules_are_noted() -> None:
    gated = Step("a", tasks=tasks("noop"), admit=(AdmitRule(None, True),))
    (node,) = sketch(Playbook("p", "p", (gated,))).nodes
    assert node.notes == ("noop", "admission rules")


def test_an_arc_is_labelled_with_its_guard_or_else() -> None:
    assert EDGES["orders", "cleanup"].label == "event.name == 'step.failed'"
    assert EDGES["orders", "merge"].label == "else"
    assert EDGES["start", "orders"].label == ""
    assert EDGES["customers", "merge"].label == ""


@pytest.mark.parametrize(
    "when, failure",
    [
        ("{{ event.name == 'step.failed' }}", True),
        ('{{ output.status == "error" }}', True),
        ("{{ ctx.ok }}", False),
    ],
)
def test_a_guard_about_a_failure_is_known(when: str, failure: bool) -> None:
    assert GraphArc("a", "b", when, "exclusive", 0, 1).failure is failure


@pytest.mark.parametrize(
    "when, text",
    [
        ("{{ ctx.a > 1 }}", "ctx.a > 1"),
        ("{{ ctx.a\n   and ctx.b }}", "ctx.a and ctx.b"),
        ("{{ a }} and {{ b }}", "{{ a }} and {{ b }}"),
        ("{{ a == '\x01' }}", "a == '�'"),
    ],
)
def test_a_guard_reads_on_one_line_without_braces(when: str, text: str) -> None:
    assert guard_text(when) == text


def test_a_constant_guard_that_holds_is_no_guard() -> None:
    (edge,) = sketch(Playbook("p", "p", (Step("a", next=exclusive(Arc("b", when=True))), Step("b")))).edges
    assert edge.when is None


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"


def test_a_node_has_a_line_for_each_thing_worth_saying() -> None:
    node = replace(NODES["orders"], kinds=("http",), loop="for each x", admission=True)
    assert node.notes == ("http", "for each x", "admission rules")
