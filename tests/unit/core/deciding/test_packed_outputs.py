"""Iteration outputs too many to keep inline rest together as one payload per report."""

import json

import pytest

from noetl.core.deciding.packed_outputs import INLINE_BYTES, budget, packed
from noetl.core.event import Event
from tests.unit.core.build import ok_of


@pytest.mark.parametrize(
    "total, most, each",
    [
        (1, 65_536, 65_536),
        (0, 65_536, 65_536),
        (10_000, 65_536, INLINE_BYTES // 10_000),
        (10**7, 65_536, 128),
    ],
)
def test_the_more_iterations_the_less_each_keeps_inline(total, most, each):
    assert budget(total, most) == each


def done(at, data, name="loop.iteration.done"):
    return Event(name, 0, "w", "s.1", at, data={"output": ok_of(data), "writes": []})


def test_larger_outputs_of_a_report_rest_in_one_payload_by_their_place():
    events = [done("[0]", "x" * 30), done("[1]", 5), done("[2]", "y" * 30), Event("task.done", 0, "w", "s.1")]
    taken, payload = packed("e1", events, 10)
    assert payload is not None
    assert json.loads(payload.body) == ["x" * 30, "y" * 30]
    assert [(event.data or {}).get("output") for event in taken] == [
        {"status": "ok", "part": [payload.key, 0]},
        ok_of(5),
        {"status": "ok", "part": [payload.key, 1]},
        None,
    ]
    assert (taken[0].data or {})["writes"] == []


@pytest.mark.parametrize(
    "event",
    [
        done("[0]", "small"),
        done("[0]", None),
        done("[0]", True),
        done("[0][1]", "x" * 30),
        done("[0]/call[1]", "x" * 30),
        done("[0]", "x" * 30, "loop.iteration.failed"),
        Event("loop.iteration.done", 0, "w", "s.1", "[0]"),
    ],
)
def test_nothing_is_packed_that_is_small_or_not_an_outer_output(event):
    assert packed("e1", [event], 10) == ([event], None)
