"""Loops as the worker drives them: frames of iterations, and what one level amounts to."""

import pytest

from noetl.core.pipeline.effects import Ended
from noetl.core.pipeline.inner_loop import (
    InnerLoop,
    IterationOutcome,
    inner_loop_result,
    iteration_ended,
    iteration_started,
)
from noetl.core.shapes import ErrorObject
from tests.unit.core.build import Pipe, compiled, error_of, ok_of


def level(loop="", **parts):
    program = compiled(f"- {{step: start, loop: {{in: [1, 2], iterator: x{loop}}}, tool: {{kind: noop}}}}")
    pipe = Pipe(program, limits=parts.pop("limits", {}))
    given = {
        "address": "", "loop": program.steps["start"].loop, "pipeline": program.steps["start"].pipeline,
        "around": pipe.around, "total": 2, "share": 1, "best_effort": False,
        "input": {"i": 1}, "ctx": {"c": 1}, "step": {"s": 1}, "args": {},
    }  # fmt: skip
    return InnerLoop(**(given | parts))


PARALLEL = ", spec: {mode: parallel}"


def test_an_iteration_is_bound_by_name_index_and_count():
    frame = level(address="[3]", iterators={"y": 0}).frame(1, "item")
    assert (frame.at, frame.iter) == ("[3][1]", {"x": "item", "index": 1, "count": 2})
    assert frame.iterators == {"y": 0, "x": "item"}


def test_an_inner_iteration_sees_its_parent():
    assert level(parent={"y": 1}).frame(0, 5).iter["parent"] == {"y": 1}


@pytest.mark.parametrize(
    "loop, parts, buffered",
    [
        ("", {}, False),
        (PARALLEL, {}, True),
        (", spec: {policy: {reduce: {ctx.n: sum}}}", {}, True),
        ("", {"buffered": True}, True),
    ],
)
def test_writes_wait_for_the_end_of_the_iteration_when_the_order_could_matter(loop, parts, buffered):
    assert level(loop, **parts).frame(0, 1).buffered is buffered


def test_paths_that_enclosing_loops_reduce_are_reduced_here_too():
    frame = level(", spec: {policy: {reduce: {ctx.n: sum}}}", reduced={("ctx", "m"): "max"}).frame(0, 1)
    assert frame.reduced == {("ctx", "m"): "max", ("ctx", "n"): "sum"}


@pytest.mark.parametrize("loop, seen", [("", {"c": 2}), (PARALLEL, {"c": 1})])
def test_in_a_sequential_loop_the_next_iteration_sees_what_this_one_wrote(loop, seen):
    one = level(loop)
    frame = one.frame(0, 1)
    frame.write([[["ctx", "c"], 2]])
    one.carry(frame)
    assert one.frame(1, 2).ctx == seen


def test_outcomes_come_from_a_pipeline_or_from_an_earlier_report():
    assert IterationOutcome.of(Ended(True, ok_of(1), broke=True), [[["ctx", "a"], 1]]) == IterationOutcome(
        True, ok_of(1), None, [[["ctx", "a"], 1]], True
    )
    assert IterationOutcome.known({"output": ok_of(1), "writes": [[1]]}) == IterationOutcome(
        True, ok_of(1), None, [[1]]
    )
    assert IterationOutcome.known({"error": {"kind": "boom"}}) == IterationOutcome(
        False, ok_of(None), {"kind": "boom"}
    )
    assert IterationOutcome.known({}) == IterationOutcome(True, ok_of(None))


@pytest.mark.parametrize(
    "outcome, name, data",
    [
        (IterationOutcome(True, ok_of(1, meta={})), "done", {"output": {"status": "ok", "data": 1}}),
        (IterationOutcome(True, ok_of(None)), "done", None),
        (IterationOutcome(True, ok_of(None), broke=True), "done", {"break": True}),
        (
            IterationOutcome(True, error_of("boom")),
            "done",
            {"output": {"status": "error", "error": error_of("boom")["error"]}},
        ),
        (IterationOutcome(False, {}, {"kind": "boom"}), "failed", {"error": {"kind": "boom"}}),
        (
            IterationOutcome(True, ok_of(None), writes=[[["ctx", "a"], 1]]),
            "done",
            {"writes": [[["ctx", "a"], 1]]},
        ),
    ],
)
def test_the_end_of_an_iteration_is_told_in_as_few_words_as_possible(outcome, name, data):
    one = level()
    iteration_started(one.around, "[0]")
    iteration_ended(one.frame(0, 1), outcome)
    first, last = one.around.events
    assert (first.name, first.at, first.data) == ("loop.iteration.started", "[0]", None)
    assert (last.name, last.at, last.data) == (f"loop.iteration.{name}", "[0]", data)


def test_a_level_that_went_well_is_the_list_of_its_outputs():
    output, writes = inner_loop_result(
        level(), [IterationOutcome(True, ok_of("a")), IterationOutcome(True, ok_of("b"))]
    )
    assert output == {
        "status": "ok",
        "data": ["a", "b"],
        "loop": {"total": 2, "done": 2, "failed": 0, "skipped": 0},
    }
    assert writes == []


def test_a_failed_iteration_fails_the_level_with_the_lowest_error_and_no_writes():
    bad = [IterationOutcome(False, {}, {"kind": str(index)}, [[["ctx", "a"], index]]) for index in range(2)]
    output, writes = inner_loop_result(level(), bad)
    assert (output["status"], output["error"], writes) == ("error", {"kind": "0"}, [])
    assert output["loop"] == {"total": 2, "done": 0, "failed": 2, "skipped": 0}


def test_best_effort_holds_null_for_what_failed_and_lists_the_errors():
    outcomes = [
        IterationOutcome(False, {}, {"kind": "boom"}, [[["ctx", "a"], 1]]),
        IterationOutcome(True, ok_of(2)),
        None,
    ]
    output, writes = inner_loop_result(level(best_effort=True, total=3), outcomes)
    assert (output["status"], output["data"], writes) == ("ok", [None, 2, None], [])
    assert output["loop"] == {
        "total": 3, "done": 1, "failed": 1, "skipped": 1, "errors": [{"index": 0, "error": {"kind": "boom"}}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "reduce, existing, merged",
    [("ctx.n: sum", {"n": 10}, [[["ctx", "n"], 13]]), ("step.n: sum", {"n": 5}, [[["step", "n"], 8]])],
)
def test_writes_of_a_level_are_reduced_with_what_was_there(reduce, existing, merged):
    scope = reduce.partition(".")[0]
    one = level(f", spec: {{mode: parallel, policy: {{reduce: {{{reduce}}}}}}}", **{scope: existing})
    outcomes = [IterationOutcome(True, ok_of(1), writes=[[[scope, "n"], n]]) for n in (1, 2)]
    assert inner_loop_result(one, outcomes)[1] == merged


def test_a_conflict_inside_a_level_fails_it_with_kind_conflict():
    outcomes = [IterationOutcome(True, ok_of(1), writes=[[["ctx", "n"], n]]) for n in (1, 2)]
    output, writes = inner_loop_result(level(PARALLEL), outcomes)
    assert (output["error"]["kind"], writes) == ("conflict", [])


def test_a_large_output_of_an_inner_iteration_is_marked_so_that_it_is_put_back():
    limits = {"max_payload_bytes": 400}
    outer, inner = level(limits=limits), level(address="[0]", limits=limits)
    for one in (outer, inner):
        iteration_ended(one.frame(0, 1), IterationOutcome(True, ok_of("x" * 500)))
    assert "ref" in outer.around.events[0].data["output"]
    assert list(inner.around.events[0].data["output"]["data"]) == ["$stored"]


@pytest.mark.parametrize("loop, ctx, step", [("", {"a": 2}, {"b": 1}), (PARALLEL, {}, {})])
def test_what_is_left_of_a_sequential_level_sees_what_was_written_before_it_was_taken_over(loop, ctx, step):
    one = level(loop, reduced={("ctx", "n"): "sum"}, ctx={}, step={})
    writes = [[["ctx", "a"], 1], [["step", "b"], 1], [["ctx", "n"], 1]]
    one.take_up(
        {
            1: IterationOutcome(True, {}, writes=[[["ctx", "a"], 2]]),
            0: IterationOutcome(True, {}, writes=writes),
        }
    )
    assert (one.ctx, one.step) == (ctx, step)


def test_the_error_of_an_inner_iteration_may_come_without_details():
    inner = level(address="[0]")
    error: ErrorObject = {"kind": "boom", "message": "boom!"}
    iteration_ended(inner.frame(0, 1), IterationOutcome(False, {"status": "error"}, error))
    assert inner.around.events[0].data == {"error": error}
