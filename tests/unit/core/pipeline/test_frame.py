"""A pipeline can be put down and taken up: the checkpoint is JSON and the round trip is exact."""

import json
from typing import Any

import msgspec
import pytest

from noetl.core.deciding.draft import loaded
from noetl.core.values.loop_merge import spread
from noetl.core.values.patch import STORED
from tests.unit.core.build import Pipe, compiled, ok_of

TWO = (
    "- {step: start, tool: [{name: one, kind: noop}, {name: two, kind: noop, input: {x: '{{ one.data }}'}}]}"
)
PARTS = (
    "pc",
    "visits",
    "passed",
    "runs",
    "attempt",
    "answered",
    "waiting",
    "prev",
    "output",
    "iter",
    "step",
    "results",
)


def taken_up(pipe, **parts):
    """Another pipe that goes on from the first one's checkpoint, after it has been through JSON."""
    kept = json.loads(json.dumps(pipe.frame.checkpoint()))
    other = Pipe(pipe.around.program, **parts)
    other.frame.resume(kept)
    return other


@pytest.mark.parametrize("prev", [None, 0, 0.0, False, "", [], {}, "text", 5, [1], {"a": None}])
def test_the_round_trip_is_exact_whatever_the_previous_value(prev):
    pipe = Pipe(compiled(TWO))
    pipe.frame.prev = prev
    pipe.frame.output = ok_of(prev)
    pipe.frame.iter = {"page": prev}
    pipe.frame.step = {"n": prev}
    other = taken_up(pipe)
    assert other.frame.prev == prev
    assert type(other.frame.prev) is type(prev)
    assert (other.frame.output, other.frame.iter, other.frame.step) == (
        ok_of(prev),
        {"page": prev},
        {"n": prev},
    )


def test_every_part_of_a_frame_comes_back():
    pipe = Pipe(compiled(TWO))
    frame = pipe.frame
    frame.pc, frame.runs, frame.attempt, frame.answered, frame.waiting = 1, 7, 2, 1, "retry"
    frame.visits, frame.passed = {"one": 3}, {"one": 2}
    frame.results = {"one": ok_of(5)}
    frame.write([[["step", "n"], 1], [["iter", "page"], 2]])
    other = taken_up(pipe).frame
    assert [getattr(other, part) for part in PARTS] == [getattr(frame, part) for part in PARTS]
    assert other.writes == [[["step", "n"], 1]]


def test_a_frame_at_its_end_stays_there():
    pipe = Pipe(compiled(TWO))
    pipe.frame.pc = 2
    assert taken_up(pipe).frame.pc == 2


def test_only_results_that_later_templates_name_are_kept():
    pipe = Pipe(compiled(TWO))
    pipe.frame.results = {"one": ok_of(1), "two": ok_of(2)}
    assert pipe.frame.checkpoint()["results"] == {"one": ok_of(1)}


def test_outside_parallel_loops_ctx_writes_are_sent_with_the_checkpoint_once():
    pipe = Pipe(compiled(TWO))
    pipe.frame.write([[["ctx", "a"], 1], [["step", "b"], 2]])
    assert pipe.frame.moved is False
    assert pipe.frame.checkpoint()["sent"] == [[["ctx", "a"], 1]]
    assert "sent" not in pipe.frame.checkpoint()
    assert pipe.frame.writes == [[["step", "b"], 2]]


def test_in_a_parallel_loop_writes_stay_in_the_frame_and_are_read_after_it_is_taken_up():
    pipe = Pipe(compiled(TWO), buffered=True)
    pipe.frame.write([[["ctx", "a"], 1], [["ctx", "b"], 2]])
    assert "sent" not in pipe.frame.checkpoint()
    other = taken_up(pipe, buffered=True)
    assert other.frame.ctx == {"a": 1, "b": 2}
    assert other.frame.writes == [[["ctx", "a"], 1], [["ctx", "b"], 2]]


def test_a_reduced_key_reads_as_at_loop_start_also_after_it_is_taken_up():
    how: dict[str, Any] = {
        "buffered": True,
        "reduced": {("ctx", "n"): "sum", ("step", "m"): "sum"},
        "ctx": {"n": 10},
    }
    pipe = Pipe(compiled(TWO), **how)
    pipe.frame.write([[["ctx", "n"], 1], [["step", "m"], 2], [["ctx", "k"], 3]])
    assert (pipe.frame.ctx, pipe.frame.step) == ({"n": 10, "k": 3}, {})
    other = taken_up(pipe, **how)
    assert (other.frame.ctx, other.frame.step) == ({"n": 10, "k": 3}, {})


def test_the_enclosing_iteration_is_not_part_of_the_checkpoint():
    pipe = Pipe(compiled(TWO), iter={"x": 1, "parent": {"y": 2}})
    assert pipe.frame.checkpoint()["iter"] == {"x": 1}
    assert taken_up(pipe, iter={"x": 0, "parent": {"y": 2}}).frame.iter == {"x": 1, "parent": {"y": 2}}


def test_large_parts_of_a_checkpoint_are_put_aside():
    pipe = Pipe(compiled(TWO), limits={"max_payload_bytes": 400})
    pipe.frame.iter = {"big": "x" * 200, "small": 1}
    kept: Any = pipe.frame.checkpoint()["iter"]
    assert kept["small"] == 1
    assert kept["big"][STORED]["locator"]["key"] == pipe.around.payloads[0].key


def test_passes_are_counted_anew_in_sugar_that_is_entered_again():
    pipe = Pipe(
        compiled("""
        - step: start
          tool:
            - {name: outer, while: {when: "{{ true }}", do: [{name: inner, while: {when: "{{ true }}", do: [{name: t, kind: noop}], max: 2}}], max: 3}}
    """)
    )
    labels, frame = pipe.frame.pipeline.labels, pipe.frame
    frame.passed = {"outer.test": 1, "outer.inner.test": 2}
    frame.pc = labels["outer.test"]
    frame.go(labels["outer.inner.test"])
    assert frame.passed == {"outer.test": 1}
    frame.passed = {"outer.test": 1, "outer.inner.test": 2}
    frame.go(labels["outer.inner.t"])
    assert frame.passed == {"outer.test": 1, "outer.inner.test": 2}


def test_templates_see_every_scope_and_the_tasks_own_input_over_the_steps():
    pipe = Pipe(compiled(TWO), input={"a": 1, "b": 1}, ctx={"c": 1}, args={"d": 1}, iterators={"x": 9})
    pipe.frame.output, pipe.frame.prev, pipe.frame.attempt = ok_of({"n": 1}), 5, 2
    scope = pipe.frame.scope("one", {"b": 2})
    bound = scope.bind(
        ["input", "a", "b", "c", "d", "x", "_prev", "_task", "_attempt", "execution_id", "output", "none"]
    )
    assert bound == {
        "input": {"a": 1, "b": 2}, "a": 1, "b": 2, "c": 1, "d": 1, "x": 9,
        "_prev": 5, "_task": "one", "_attempt": 2, "execution_id": "e1", "output": ok_of({"n": 1}),
    }  # fmt: skip
    assert "output" not in Pipe(compiled(TWO)).frame.scope("one").bind(["output"])


def test_many_operands_of_one_path_rest_together_and_come_back_one_by_one():
    how: dict[str, Any] = {
        "buffered": True,
        "reduced": {("ctx", "n"): "append"},
        "limits": {"max_payload_bytes": 2000},
    }
    pipe = Pipe(compiled(TWO), **how)
    pipe.frame.write([[["ctx", "n"], f"{number:0300}"] for number in range(9)])
    pipe.frame.write([[["ctx", "a"], "x" * 300], [["ctx", "b"], "y" * 1500]])
    kept = pipe.frame.checkpoint()["writes"]
    assert [path[1] for path, _ in kept] == ["a", "b", "n"]
    assert [list(value) if isinstance(value, dict) else value[0] for _, value in kept] == [
        "x",
        ["$stored"],
        ["$operands"],
    ]
    other = Pipe(compiled(TWO), **how)
    values = [["x" * 300], ["y" * 1500], [f"{number:0300}" for number in range(9)]]
    payloads = {one.key: msgspec.json.decode(one.body) for one in pipe.around.payloads}
    came = [list(spread(value, lambda aside: loaded(aside, payloads))) for _, value in kept]
    assert came == values
    writes = [[path, one] for (path, _), group in zip(kept, came, strict=True) for one in group]
    other.frame.resume({"writes": writes})
    assert other.frame.writes == writes


def test_a_large_value_that_stays_is_put_aside_once_and_let_go_when_it_is_gone():
    pipe = Pipe(compiled(TWO), limits={"max_payload_bytes": 400})
    pipe.frame.iter = {"big": "x" * 200}
    first = pipe.frame.checkpoint()["iter"]
    assert [pipe.frame.checkpoint()["iter"] for _ in range(3)] == [first] * 3
    assert len(pipe.around.payloads) == 1
    pipe.frame.iter = {"big": "y" * 200}
    assert pipe.frame.checkpoint()["iter"] != first
    pipe.frame.iter = {}
    pipe.frame.checkpoint()
    pipe.frame.checkpoint()
    assert (len(pipe.around.payloads), pipe.frame.aside, pipe.frame.aside_before) == (2, {}, {})


def test_a_step_scope_of_many_values_is_put_aside_as_far_as_it_has_to_be():
    pipe = Pipe(compiled(TWO), limits={"max_payload_bytes": 8000})
    pipe.frame.step = {"small": 1, **{key: key * 1500 for key in "abc"}}
    assert pipe.frame.fit_step() == pipe.frame.step
    pipe.frame.step |= {key: key * 1500 for key in "def"}
    fitting: dict[str, Any] = pipe.frame.fit_step()
    assert fitting.pop("small") == 1
    assert all(list(value) == ["$stored"] for value in fitting.values())


def test_writes_that_were_overwritten_do_not_pile_up():
    pipe = Pipe(compiled(TWO))
    for number in range(50):
        pipe.frame.write([[["step", "n"], number], [["ctx", "n"], number]])
    kept = pipe.frame.checkpoint()
    assert (kept["sent"], kept["writes"]) == ([[["ctx", "n"], 49]], [[["step", "n"], 49]])
    assert pipe.frame.writes == [[["step", "n"], 49]]
