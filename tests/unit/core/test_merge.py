"""What the writes of a loop's iterations come to, whatever order they were reported in."""

import pytest

from noetl.core.merge import merged
from noetl.core.patch import PatchProblem


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
