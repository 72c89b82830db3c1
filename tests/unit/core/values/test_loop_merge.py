"""What the writes of a loop's iterations come to, whatever order they were reported in."""

import pytest

from noetl.core.values.loop_merge import compact, merged, spread
from noetl.core.values.patch import OPERANDS, PatchProblem
from noetl.json_value import Json


def merge(*writes, reduce=None, parallel=True, existing=None, outer=None):
    return merged(writes, reduce=reduce or {}, parallel=parallel, existing=lambda key: existing, outer=outer)


def test_different_paths_are_all_written():
    assert merge((0, ["ctx", "a"], 1), (1, ["ctx", "b"], 2)) == [[["ctx", "a"], 1], [["ctx", "b"], 2]]


def test_two_iterations_that_write_different_values_to_one_path_are_a_conflict_that_names_it():
    with pytest.raises(PatchProblem, match=r"iterations 0 and 2 write different values to ctx\.a"):
        merge((0, ["ctx", "a"], 1), (2, ["ctx", "a"], 2))


@pytest.mark.parametrize(
    "writes, parallel, result",
    [
        ([(0, ["ctx", "a"], 1), (1, ["ctx", "a"], 1)], True, 1),
        ([(0, ["ctx", "a"], 1), (0, ["ctx", "a"], 2)], True, 2),
        ([(0, ["ctx", "a"], 1), (1, ["ctx", "a"], 2), (1, ["ctx", "a"], 1)], True, 1),
        ([(0, ["step", "a"], 1), (1, ["step", "a"], 2)], True, 2),
        ([(0, ["ctx", "a"], 1), (1, ["ctx", "a"], 2)], False, 2),
    ],
)
def test_equal_values_own_rewrites_step_writes_and_sequential_loops_are_no_conflict(writes, parallel, result):
    assert merge(*writes, parallel=parallel)[0][1] == result


def test_reduced_paths_become_one_write_of_every_operand():
    writes = [(index, ["ctx", "n"], index) for index in range(4)]
    assert merge(*writes, reduce={("ctx", "n"): "sum"}, existing=10) == [[["ctx", "n"], 16]]


def test_paths_that_an_enclosing_loop_reduces_are_passed_on_write_by_write():
    writes = [(0, ["ctx", "n"], 1), (1, ["ctx", "n"], 2)]
    assert merge(*writes, outer={("ctx", "n"): "sum"}) == [[["ctx", "n"], 1], [["ctx", "n"], 2]]


SUM: dict[tuple[str, ...], str] = {("ctx", "n"): "sum"}
MAX: dict[tuple[str, ...], str] = {("ctx", "n"): "max"}


@pytest.mark.parametrize(
    "inner, outer, result",
    [
        (SUM, SUM, [1, 2, 5]),  # passed on, write by write
        (SUM, MAX, [8]),  # one operand, without what was there before
        (SUM, {}, [108]),
        ({}, SUM, [1, 2, 5]),
    ],
)
def test_the_existing_value_is_an_operand_of_the_outermost_reducer_alone(inner, outer, result):
    writes = [(index, ["ctx", "n"], value) for index, value in enumerate((1, 2, 5))]
    patch = merge(*writes, reduce=inner, outer=outer, existing=100)
    assert [value for _, value in patch] == result


@pytest.mark.parametrize(
    "values", [(1, True), (1, 1.0), (0, False), ([1], [True]), ({"a": 1}, {"a": 1.0}), (None, 0)]
)
def test_values_of_different_types_are_different(values):
    with pytest.raises(PatchProblem, match="different values"):
        merge(*((index, ["ctx", "a"], value) for index, value in enumerate(values)))


def test_maps_are_the_same_whatever_the_order_of_their_keys():
    assert merge((0, ["ctx", "a"], {"x": 1, "y": 2}), (1, ["ctx", "a"], {"y": 2, "x": 1}))


@pytest.mark.parametrize(
    "one, other",
    [
        ("ctx.a", "ctx.a.b"),
        ("ctx.a.b", "ctx.a"),
        ("ctx.a.b.c", "ctx.a"),
        ("ctx.a", "ctx.a.b.c"),
        ("ctx.n", "ctx.n.b"),
    ],
)
def test_two_iterations_may_not_write_a_value_and_a_part_of_it(one, other):
    writes = [(0, one.split("."), 1), (1, other.split("."), 1)]
    with pytest.raises(PatchProblem, match="one of which is inside the other") as found:
        merge(*writes, reduce=SUM)
    assert f"reduce: {{{min(one, other, key=len)}: …}}" in str(found.value)
    assert merge(*writes, parallel=False, reduce={})
    assert merge(*((0, path, value) for _, path, value in writes), reduce={})


def test_parts_that_stand_beside_each_other_and_step_writes_are_no_conflict():
    beside = [(0, ["ctx", "a", "b"], 1), (1, ["ctx", "a", "c"], 2), (0, ["ctx", "a", "b"], 3)]
    assert len(merge(*beside)) == 2
    assert len(merge((0, ["step", "a"], 1), (1, ["step", "a", "b"], 2))) == 2


@pytest.mark.parametrize(
    "paths, kept",
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "b", "a"], ["b", "a"]),
        (["a.b", "a", "a.b"], ["a", "a.b"]),
        (["n", "a", "n", "a"], ["n", "n", "a"]),
    ],
)
def test_what_a_pipeline_has_overwritten_itself_is_left_out_but_for_operands(paths, kept):
    pairs = [[["ctx", *path.split(".")], number] for number, path in enumerate(paths)]
    found = compact(pairs, SUM)
    assert [".".join(path[1:]) for path, _ in found] == kept
    assert [value for _, value in found] == sorted(value for _, value in found)


def test_a_write_may_stand_for_many_operands():
    stored: dict[Json, Json] = {"aside": [1, 2]}
    assert list(spread({OPERANDS: "aside"}, stored.__getitem__)) == [1, 2]
    assert list(spread({OPERANDS: 1, "more": 2}, lambda value: value)) == [{OPERANDS: 1, "more": 2}]


def test_an_operand_that_looks_like_many_is_one():
    writes = [(0, ["ctx", "n"], {OPERANDS: [1, 2]}), (1, ["ctx", "n"], 3)]
    how = {("ctx", "n"): "append"}
    assert merge(*writes, reduce=how) == [[["ctx", "n"], [{OPERANDS: [1, 2]}, 3]]]
    assert [value for _, value in merge(*writes, outer=how)] == [{OPERANDS: [1, 2]}, 3]
