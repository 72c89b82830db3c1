"""What a live run goes on reading although others have overwritten it."""

import pytest

from noetl.core.message import Expire
from noetl.core.state import restore, snapshot_of
from noetl.core.values.scheduling_scopes import remember, seen, written


@pytest.mark.parametrize(
    "then, keys, kept",
    [
        ({}, ["a"], {"a": [1]}),
        ({}, ["new"], {"new": []}),
        ({"a": [0]}, ["a", "b"], {"a": [0], "b": [2]}),
    ],
)
def test_only_the_first_overwriting_is_remembered(then, keys, kept):
    remember(then, {"a": 1, "b": 2}, keys)
    assert then == kept


@pytest.mark.parametrize(
    "then, path, kept",
    [
        ({}, ["a"], {}),
        ({"a": [1]}, ["a"], {}),
        ({"a": [{"x": 1}]}, ["a", "b"], {"a": [{"x": 1, "b": 9}]}),
        ({"a": []}, ["a", "b"], {"a": [{"b": 9}]}),
        ({"b": [1]}, ["a", "b"], {"b": [1]}),
    ],
)
def test_a_runs_own_write_is_there_for_it(then, path, kept):
    written(then, [[path, 9]])
    assert then == kept


def test_a_scope_is_read_as_it_was():
    current = {"a": 1, "b": 2}
    assert seen(current, {}) is current
    assert seen(current, {"a": [0], "b": [], "c": [3]}) == {"a": 0, "c": 3}


SPLIT = """
- {step: start, tool: {kind: noop}, set: {ctx.a: {x: 1}}, next: {spec: {mode: inclusive}, arcs: [{step: reader}, {step: other}]}}
- {step: other, tool: {kind: noop}, set: {ctx.a.x: 2, ctx.b: 2}, next: {arcs: [{step: start}]}}
- {step: reader, tool: {kind: python, input: {code: "result = 1", a: "{{ ctx.a }}", b: "{{ ctx.b | default(0) }}", s: "{{ start.data }}", o: "{{ other.data | default(0) }}"}}}
"""


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_is_taken_over_reads_the_scopes_of_its_scheduling(begin, again):
    world = begin(SPLIT)
    world.done("start.1", "first")
    world.begun("reader.1")
    world.done("other.1")
    world.done("start.2", "second")
    if again:
        world.state = restore(snapshot_of(world.state))
    world.send(Expire({"reader.1": 1}))
    order = world.order("reader.1")
    assert order.ctx == {"a": {"x": 1}}
    assert order.results == {"start": {"status": "ok", "data": "first"}}
    assert world.order("reader.2").ctx == {"a": {"x": 1}, "b": 2}
    assert world.order("reader.2").results["start"]["data"] == "second"


def test_a_run_that_is_taken_over_reads_what_it_wrote_itself(begin):
    world = begin(SPLIT)
    world.done("start.1")
    world.done("other.1")
    sent = [[["ctx", "a", "y"], 5], [["ctx", "b"], 6]]
    world.report("reader.1", frames={"": {"pc": "reader_task", "sent": sent}})
    world.send(Expire({"reader.1": 1}))
    assert world.order("reader.1").ctx == {"a": {"x": 1, "y": 5}, "b": 6}
    assert world.state.ctx == {"a": {"x": 2, "y": 5}, "b": 6}
