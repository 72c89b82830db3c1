"""Writing into scopes: paths, copies, reducers."""

import pytest

from noetl.core.values.patch import PatchProblem, apply, assign, deep_merge, look_up, reduce_writes


@pytest.mark.parametrize(
    "scope, path, result",
    [
        ({}, ["a"], {"a": 1}),
        ({"a": 0, "b": 2}, ["a"], {"a": 1, "b": 2}),
        ({}, ["a", "b", "c"], {"a": {"b": {"c": 1}}}),
        ({"a": {"x": 0}}, ["a", "b"], {"a": {"x": 0, "b": 1}}),
        ({"a": 5}, ["a", "b"], {"a": {"b": 1}}),
        ({"a": [1]}, ["a", "b"], {"a": {"b": 1}}),
    ],
)
def test_a_write_makes_the_maps_on_its_way_and_leaves_the_original_alone(scope, path, result):
    before = repr(scope)
    assert assign(scope, path, 1) == result
    assert repr(scope) == before


def test_a_patch_is_applied_pair_by_pair_in_order():
    assert apply({}, [[["a"], 1], [["a"], 2], [["b", "c"], 3]]) == {"a": 2, "b": {"c": 3}}


@pytest.mark.parametrize(
    "path, found",
    [(["a", "b"], 1), (["a"], {"b": 1}), (["x"], None), (["a", "b", "c"], None), ([], {"a": {"b": 1}})],
)
def test_a_path_that_leads_nowhere_finds_nothing(path, found):
    assert look_up({"a": {"b": 1}}, path) == found


@pytest.mark.parametrize(
    "how, existing, operands, result",
    [
        ("sum", None, [1, 2.5], 3.5),
        ("sum", 10, [1, 2], 13),
        ("min", 5, [7, 3], 3),
        ("max", None, [7, 3], 7),
        ("append", None, [1, [2]], [1, [2]]),
        ("append", [0], [1], [0, 1]),
        ("append", 0, [1], [0, 1]),
        ("union", [1], [[1, 2], 2, 3], [1, 2, 3]),
        ("union", None, [1, "1", 1], [1, "1"]),
        (
            "merge",
            {"a": {"x": 1}},
            [{"a": {"y": 2}}, {"b": [1]}, {"b": [2]}],
            {"a": {"x": 1, "y": 2}, "b": [2]},
        ),
        ("first", None, [3, 4], 3),
        ("first", 1, [3, 4], 1),
        ("last", 1, [3, 4], 4),
    ],
)
def test_every_write_is_an_operand_and_an_existing_value_the_first(how, existing, operands, result):
    assert reduce_writes(how, existing, operands) == result


@pytest.mark.parametrize(
    "how, existing, operands",
    [
        ("sum", None, [1, "x"]),
        ("sum", None, [True]),
        ("sum", "x", [1]),
        ("min", 1, ["x"]),
        ("merge", None, [[1]]),
    ],
)
def test_a_reducer_that_cannot_take_its_operands_names_their_types(how, existing, operands):
    with pytest.raises(PatchProblem, match=f"reducer '{how}' cannot take values of type"):
        reduce_writes(how, existing, operands)


def test_maps_merge_and_everything_else_is_replaced():
    assert deep_merge({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "d": {"e": 1}}) == {
        "a": {"b": 1, "c": [2]},
        "d": {"e": 1},
    }
