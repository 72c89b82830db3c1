"""The workflow as a graph."""

from noetl.dsl.model import Arc, Playbook, Router, Step
from noetl.dsl.net.workflow_graph import Graph


def book(**arcs: str) -> Playbook:
    steps = [Step(n, next=Router(arcs=tuple(map(Arc, targets.split())))) for n, targets in arcs.items()]
    return Playbook("p", "p", tuple(steps))


def test_predecessors_count_each_step_once():
    graph = Graph.of(book(a="b b c", b="c c", c=""))
    assert graph.predecessors("c") == ("a", "b")


def test_can_reach_needs_at_least_one_arc():
    graph = Graph.of(book(start="a", a="b", b="a", end=""))
    assert graph.can_reach("start", "b")
    assert graph.can_reach("a", "a")
    assert not graph.can_reach("start", "start")
    assert not graph.can_reach("a", "end")


def test_arcs_to_unknown_steps_and_repeated_names_are_left_out():
    twice = Playbook("p", "p", (Step("a", next=Router(arcs=(Arc("zz"),))), Step("a"), Step("b")))
    graph = Graph.of(twice)
    assert list(graph.number) == ["a", "b"]
    assert graph.digraph.out == ((), ())


def test_the_entry_is_the_number_of_the_entry_step():
    assert Graph.of(book(a="", start="a")).entry == 1
    assert Graph.of(Playbook("p", "p", ())).entry is None
