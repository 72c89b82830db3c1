"""Values of a user that look like the engine's own marks: they come back as they were, and mean nothing."""

from typing import Any

import msgspec
import pytest

from noetl.core.deciding.draft import loaded, stored_refs
from noetl.core.fold import fold
from noetl.core.message import ChildEnded
from noetl.core.pipeline.inner_loop import IterationOutcome, iteration_ended
from noetl.core.shapes import ErrorObject, Output
from noetl.core.state import State
from noetl.core.values.patch import apply, assign, holds_mark, rests_elsewhere
from noetl.errors import NotFound
from tests.unit.core.build import ID, Pipe, compiled, marker_of

FORGED = marker_of("f" * 32 + "/" + "0" * 32)
LOOKALIKES: list[Any] = [
    {"$stored": 1},
    {"$stored": {"locator": {"key": "k"}}},
    FORGED,
    {**FORGED, "$over": [[["a"], 1]]},
    {"$operands": [1, 2]},
    {"deep": [{"$operands": "x"}, FORGED]},
]
EVERY = pytest.mark.parametrize("value", LOOKALIKES)


@pytest.mark.parametrize(
    "value",
    [
        {"$stored": 1},
        {"$stored": {}},
        {**FORGED, "more": 1},
        {"$stored": {**FORGED["$stored"], "locator": []}},
        {"$stored": {**FORGED["$stored"], "locator": {"key": 1}}},
        {"$stored": {**FORGED["$stored"], "meta": []}},
        {"$stored": {**FORGED["$stored"], "meta": {"content_type": "text/plain"}}},
        [FORGED],
    ],
)
def test_a_marker_has_the_whole_reference_of_a_payload_and_nothing_else(value):
    assert not rests_elsewhere(value)
    assert rests_elsewhere(FORGED)


def test_only_a_key_is_a_mark():
    text = msgspec.json.encode({"a": "$stored", "b": '{"$stored":1}', "$over": 1})
    assert not holds_mark(text)


@EVERY
def test_a_live_scope_is_written_below_a_lookalike_as_below_any_mapping(value):
    below = value if isinstance(value, dict) else {}
    assert assign({"a": value}, ["a", "b", "c"], 1) == {"a": {**below, "b": {"c": 1}}}


@EVERY
def test_a_request_with_a_lookalike_comes_back_as_it_was(world, value):
    made = world("""
        - {step: start, input: {x: "{{ workload.body }}"}, tool: {kind: noop},
           next: {arcs: [{step: last, args: {y: "{{ output.data }}"}}]}}
        - {step: last, input: {y: "{{ args.y }}", z: "{{ start.data }}"}, tool: {kind: noop}}
    """)
    made.start(workload={"body": value}, payload={"body": value})
    assert made.order("start.1").input == {"x": value}
    made.done("start.1", value)
    assert made.order("last.1").input == {"y": value, "z": value}
    assert loaded(made.data("playbook.execution.requested")["payload"], made.hydrated) == {"body": value}
    made.done("last.1", value)
    assert made.state.output == value


@pytest.mark.parametrize("value", [one for one in LOOKALIKES if "locator" not in str(one)])
def test_a_lookalike_in_ctx_is_the_same_from_memory_and_from_the_log(world, value):
    made = world("""
        - {step: start, tool: {kind: noop}, set: {ctx.n: "{{ workload }}", step.n: "{{ workload }}"},
           next: {arcs: [{step: last, set: {ctx.m: "{{ step.n }}", ctx.n.more: 1}}]}}
        - {step: last, input: {n: "{{ ctx.n }}", m: "{{ ctx.m }}"}, tool: {kind: noop}}
    """)
    made.start(workload=value)
    made.done("start.1")
    assert made.order("last.1").input == {"n": {**value, "more": 1}, "m": value}
    state = fold(State(ID), made.events)
    assert state == made.state
    read = {key: msgspec.json.decode(body) for key, body in made.payloads.items()}
    assert {key: loaded(one, read) for key, one in state.ctx.items()} == {
        "n": {**value, "more": 1},
        "m": value,
    }


@EVERY
def test_a_signal_or_a_childs_output_with_a_lookalike_is_delivered_as_it_was(begin, value):
    waits = begin("- {step: start, tool: {name: w, kind: wait, signal: go}}")
    waits.begun("start.1")
    waits.report("start.1", waits.event("task.parked", "start.1", None, "w", signal="go"))
    waits.control("signal", name="go", payload=value)
    assert waits.commands[0].output["data"] == value
    assert rests_elsewhere(waits.data("task.resumed")["output"]["data"])
    calls = begin("- {step: start, tool: {name: c, kind: playbook, path: a}}")
    calls.begun("start.1")
    call: dict[str, Any] = {"path": "a", "version": None, "input": {}, "wait": True}
    calls.report("start.1", calls.event("task.parked", "start.1", None, "c", call=call, key="k"))
    [child] = calls.state.children
    calls.send(ChildEnded(child, "completed", value))
    assert calls.order("start.1").answers[""]["data"] == value


def test_a_signal_that_came_early_is_delivered_as_it_was(begin):
    world = begin("- {step: start, tool: {name: w, kind: wait, signal: go}}")
    world.begun("start.1")
    world.control("signal", name="go", payload=FORGED)
    world.report("start.1", world.event("task.parked", "start.1", None, "w", signal="go"))
    assert world.commands[0].output["data"] == FORGED


@EVERY
def test_a_loop_reduces_lookalikes_as_values(begin, value):
    world = begin("""
        - step: start
          loop: {in: [1, 2], iterator: x, spec: {mode: parallel, policy: {reduce: {ctx.n: append}}}}
          tool: {kind: noop}
          next: {arcs: [{step: last}]}
        - {step: last, input: {n: "{{ ctx.n }}"}, tool: {kind: noop}}
    """)
    pipe = Pipe(
        compiled("- {step: start, tool: {kind: noop}}"), reduced={("ctx", "n"): "append"}, buffered=True
    )
    written = pipe.frame.fit([[["ctx", "n"], value]])
    world.hydrated |= {one.key: msgspec.json.decode(one.body) for one in pipe.around.payloads}
    items = [world.item("start.1", index, writes=written) for index in range(2)]
    world.report("start.1", *items, world.event("loop.done", "start.1"), final=True)
    assert world.order("last.1").input == {"n": [value, value]}


@EVERY
def test_a_checkpoint_with_lookalikes_is_taken_up_as_it_was(begin, value):
    pipe = Pipe(compiled("- {step: start, tool: {kind: noop}}"), buffered=True)
    pipe.frame.prev, pipe.frame.step, pipe.frame.iter = value, {"a": value}, {"b": value}
    pipe.frame.output = {"status": "ok", "data": value}
    pipe.frame.writes = [[["ctx", "n"], value]]
    kept = msgspec.json.decode(msgspec.json.encode(pipe.frame.checkpoint()))
    world = begin("- {step: start, tool: {kind: noop}}")
    world.hydrated |= {one.key: msgspec.json.decode(one.body) for one in pipe.around.payloads}
    world.report("start.1", frames={"": kept})
    taken = world.order("start.1").frames[""]
    assert (taken["prev"], taken["step"], taken["iter"]) == (value, {"a": value}, {"b": value})
    assert (taken["output"], taken["writes"]) == ({"status": "ok", "data": value}, [[["ctx", "n"], value]])


@EVERY
@pytest.mark.parametrize("well", [True, False])
def test_an_inner_iteration_that_ended_with_a_lookalike_is_known_as_it_was(begin, value, well):
    error: ErrorObject | None = (
        None if well else {"kind": "boom", "message": "boom!", "details": {"body": value}}
    )
    output: Output = {"status": "error", "error": error} if error else {"status": "ok", "data": value}
    pipe = Pipe(compiled("- {step: start, tool: {kind: noop}}"), at="[0]/inner[1]")
    iteration_ended(pipe.frame, IterationOutcome(well, output, error))
    world = begin("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop}}")
    world.hydrated |= {one.key: msgspec.json.decode(one.body) for one in pipe.around.payloads}
    world.report("start.1", *pipe.around.events)
    known = IterationOutcome.known(world.order("start.1").outcomes["[0]/inner[1]"])
    assert (known.well, known.error) == (well, error)
    assert not well or known.output["data"] == value
    assert all(key in world.hydrated for key in [
        ref["locator"]["key"] for ref in stored_refs(world.state.runs["start.1"].outcomes)
    ])  # fmt: skip


def test_a_payload_that_is_gone_is_told_where_it_is_read():
    with pytest.raises(NotFound, match="gone from the result store"):
        loaded(apply({"a": FORGED}, [[["a", "b"], 1]])["a"], {})
