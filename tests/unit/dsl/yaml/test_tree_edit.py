"""Nodes keep their places when trees are cut and joined."""

import pytest

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, plain
from noetl.dsl.yaml.tree_edit import adopt, child_map, copy_map, copy_seq, too_deep


def tree(text: str) -> Map:
    found = parse(text).tree
    assert isinstance(found, Map)
    return found


def test_a_copy_has_the_same_places_and_its_own_entries():
    node = tree("a: 1\nb: [2, 3]\n")
    fresh = copy_map(node)
    fresh.put("c", 4)
    assert "c" not in node
    assert (fresh.at_key("b"), fresh.at("b"), fresh.mark) == (node.at_key("b"), node.at("b"), node.mark)
    items = copy_seq(node["b"])
    items.add(9)
    assert (plain(node["b"]), items.at(1)) == ([2, 3], node["b"].at(1))


def test_a_child_is_copied_made_or_refused():
    node = tree("a: {x: 1}\nb: 5\n")
    assert child_map(node, "b") is None
    assert child_map(node, "c") == {}
    before = node["a"]
    child = child_map(node, "a")
    assert child == before
    assert child is node["a"]
    assert child is not before


def test_plain_data_is_adopted_with_pointers():
    found = adopt({"a": [{"b/c": 1}], 2: "x"})
    assert found["a"][0].at("b/c") == Mark(1, 1, "/a/0/b~1c")
    assert found.at("2").path == "/2"
    assert isinstance(found["a"], Seq)


@pytest.mark.parametrize("depth, deep", [(1, False), (50, False), (5_000, True)])
def test_depth_is_measured_without_recursion(depth, deep):
    value: object = 1
    for _ in range(depth):
        value = {"a": [value]}
    assert too_deep(value) is deep
