"""Whatever iterations write: they disagree and it is a conflict, or the patch is what they wrote, in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.core.shapes import Patch
from noetl.core.values.loop_merge import compact, merged
from noetl.core.values.patch import PatchProblem, apply, same

PATHS = (("ctx", "a"), ("ctx", "a", "b"), ("ctx", "a", "b", "c"), ("ctx", "d"), ("ctx", "d", "b"))
VALUES = st.sampled_from([0, 1, True, 1.0, None, "x", {"b": 1}, {"b": {"c": 2}}])
PAIRS = st.lists(st.tuples(st.sampled_from(PATHS), VALUES), max_size=6)
NUMBERS = st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=4)


def written(iterations: list[list[tuple[tuple[str, ...], Any]]]) -> list[tuple[int, list[str], Any]]:
    return [(index, list(path), value) for index, pairs in enumerate(iterations) for path, value in pairs]


def disagree(iterations: list[list[tuple[tuple[str, ...], Any]]]) -> bool:
    """Two iterations write one path with other values, or a path and another one inside it."""
    last: list[dict[tuple[str, ...], Any]] = [dict(pairs) for pairs in iterations]
    every = [(index, path) for index, pairs in enumerate(iterations) for path, _ in pairs]
    return any(
        index != other
        and (
            (one == two and not same(last[index][one], last[other][two]))
            or (one != two and one == two[: len(one)])
        )
        for index, one in every
        for other, two in every
    )


def plain(writes: list[tuple[int, list[str], Any]], *, parallel: bool) -> Patch:
    return merged(writes, reduce={}, parallel=parallel, existing=lambda key: None)


@given(st.lists(PAIRS, max_size=3))
def test_writes_of_parallel_iterations_are_a_conflict_or_what_was_written(iterations: Any) -> None:
    writes = written(iterations)
    in_order = apply({}, [[path, value] for _, path, value in writes])
    assert apply({}, plain(writes, parallel=False)) == in_order
    if disagree(iterations):
        with pytest.raises(PatchProblem):
            plain(writes, parallel=True)
    else:
        assert apply({}, plain(writes, parallel=True)) == in_order


@given(PAIRS)
def test_what_a_pipeline_has_overwritten_can_be_left_out(pairs: Any) -> None:
    everything = [[list(path), value] for path, value in pairs]
    assert apply({}, compact(everything, {})) == apply({}, everything)


@given(NUMBERS, st.integers(-5, 5), st.sampled_from(["sum", "max", "append", "union", "last", "first"]))
def test_one_reducer_at_two_levels_takes_every_write_once(
    levels: list[list[int]], existing: int, how: str
) -> None:
    key: tuple[str, ...] = ("ctx", "n")
    reduce = {key: how}
    passed: list[tuple[int, list[str], Any]] = []
    for index, values in enumerate(levels):
        inner: list[tuple[int, list[str], Any]] = [
            (place, list(key), value) for place, value in enumerate(values)
        ]
        patch = merged(inner, reduce=reduce, parallel=True, existing=lambda key: existing, outer=reduce)
        passed += [(index, path, value) for path, value in patch]
    flat = [(0, list(key), value) for values in levels for value in values]
    nested = merged(passed, reduce=reduce, parallel=True, existing=lambda key: existing)
    assert nested == merged(flat, reduce=reduce, parallel=True, existing=lambda key: existing)
