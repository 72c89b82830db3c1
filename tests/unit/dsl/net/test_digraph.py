"""Directed graphs: the facts the net and the rules stand on, each checked against a slow, obvious way."""

import itertools
import random

import pytest

from noetl.dsl.net.digraph import Digraph, bits


def chance_graph(seed: int) -> Digraph:
    dice = random.Random(seed)
    size = dice.randint(1, 9)
    return Digraph([[dice.randrange(size) for _ in range(dice.randint(0, 3))] for _ in range(size)])


def slow_reach(graph: Digraph, start: int) -> set[int]:
    found: set[int] = set()
    while True:
        more = {t for n in (found | {start}) for t in graph.out[n]} | found
        if more == found:
            return found
        found = more


GRAPHS = [chance_graph(seed) for seed in range(60)]


@pytest.mark.parametrize("graph", GRAPHS)
def test_closure_is_what_one_or_more_edges_reach(graph):
    for node in range(len(graph)):
        assert set(bits(graph.closure[node])) == slow_reach(graph, node)


@pytest.mark.parametrize("graph", GRAPHS)
def test_components_hold_the_nodes_that_reach_one_another_and_come_after_what_they_lead_to(graph):
    assert sorted(n for members in graph.components for n in members) == list(range(len(graph)))
    for left in range(len(graph)):
        for right in range(len(graph)):
            mutual = left == right or (right in slow_reach(graph, left) and left in slow_reach(graph, right))
            assert (graph.component_of[left] == graph.component_of[right]) == mutual
        for target in graph.out[left]:
            assert graph.component_of[target] <= graph.component_of[left]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_dominator_is_on_every_way_from_the_entry(graph):
    dominators = graph.dominators(0)
    above = dominators.above
    reached = graph.reachable([0])
    assert all(above[node] == -1 for node in range(len(graph)) if node not in reached - {0})
    for node in reached - {0}:
        strict = {0} | {
            n for n in reached - {0, node} if node not in graph.reachable([0], inside=reached - {n})
        }
        chain = set()
        walk = above[node]
        while walk >= 0:
            chain.add(walk)
            walk = above[walk]
        assert chain == strict
        assert {n for n in range(len(graph)) if dominators.covers(n, node)} == strict | {node}


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_path_follows_edges_and_exists_where_the_closure_says_so(graph):
    for start in range(len(graph)):
        for goal in range(len(graph)):
            path = graph.path(start, goal)
            assert bool(path) == bool(graph.closure[start] >> goal & 1)
            assert all(b in graph.out[a] for a, b in itertools.pairwise(path))
            assert not path or (path[0] == start and path[-1] == goal)


def test_a_search_never_leaves_the_set_it_is_given():
    chain = Digraph([[1], [2], []])
    assert chain.reachable([0], inside={0, 2}) == {0}
    assert chain.reaching([2], inside={0, 2}) == {2}
    assert chain.path(0, 2, inside={0, 2}) == []


def test_a_single_node_is_a_cycle_only_with_an_edge_to_itself():
    graph = Digraph([[0], []])
    assert graph.is_cycle((0,))
    assert not graph.is_cycle((1,))


def test_long_chains_cost_no_stack():
    size = 20_000
    graph = Digraph([*([n + 1] for n in range(size - 1)), [0]])
    assert len(graph.components) == 1
    assert graph.dominators(0).above[size - 1] == size - 2
