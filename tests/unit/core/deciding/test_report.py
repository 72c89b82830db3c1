"""What a worker's report leads to: accepted under the current epoch only, whole, and never stuck."""

import pytest

from noetl.core.message import Recall
from tests.unit.core.build import ok_of

ONE = "- {step: start, tool: {kind: noop}}"
SMALL = "executor: {spec: {limits: {max_payload_bytes: 1000}}}"
BIG = "x" * 70_000
DISTRIBUTED = """
- step: start
  loop: {in: "{{ range(4) }}", iterator: x, spec: {mode: %s, max_in_flight: 2, chunk: 2, policy: {exec: distributed}}}
  spec: {policy: {failure: {mode: %s}}}
  tool: {kind: noop}
"""


def test_a_report_of_a_stale_epoch_is_refused_whole(begin):
    world = begin(ONE)
    decision = world.report("start.1", world.event("step.done", "start.1", output=ok_of(1)), epoch=2)
    assert (decision.answer.accepted, decision.answer.why) == (False, "the lease is not current")
    assert decision.events == []


def test_a_report_under_an_unknown_or_returned_lease_is_refused(begin):
    world = begin(ONE)
    assert not world.report("none.1").answer.accepted
    world.report("start.1", world.event("task.parked", "start.1", None, "t", signal="go"), returned=True)
    assert not world.report("start.1").answer.accepted


@pytest.mark.parametrize(
    "name, run", [("token.enqueued", "start.1"), ("step.done", "other.1"), ("ctx.patched", "start.1")]
)
def test_events_that_are_not_for_a_worker_to_report_are_rejected_one_by_one(begin, name, run):
    world = begin(ONE)
    started = world.event("task.started", "start.1", None, "start_task")
    decision = world.report("start.1", world.event(name, run), started)
    assert decision.answer.accepted
    assert world.data("event.rejected") == {
        "event": name,
        "why": "not for a worker to report",
        "lease": "start.1",
    }
    assert len(world.named("task.started")) == 1


def test_a_step_starts_under_the_lease_and_epoch_the_server_knows(begin):
    world = begin(ONE)
    world.begun("start.1")
    assert world.data("step.started") == {"worker": "w1", "epoch": 1, "lease": "start.1"}


@pytest.mark.parametrize("name", ["task.done", "task.started"])
def test_a_detail_over_the_limit_is_refused_and_the_work_goes_on(begin, name):
    world = begin(ONE, executor=SMALL)
    world.report("start.1", world.event(name, "start.1", None, "t", output=ok_of(BIG)))
    assert world.data("event.rejected")["why"] == "larger than max_payload_bytes"
    assert world.live == ["start.1"]


def test_each_payload_of_an_event_may_be_as_large_as_the_limit(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: last, when: '{{ start.results.a.data | length > 5 }}'}]}}\n- {step: last}"
    )
    full = "x" * 65_000
    parts = {
        "writes": [[["ctx", "a"], full]],
        "step": {"b": full},
        "results": {label: ok_of(full) for label in "abcd"},
    }
    world.report("start.1", world.event("step.done", "start.1", output=ok_of(full), **parts), final=True)
    assert (world.named("event.rejected"), world.state.error) == ([], None)


@pytest.mark.parametrize("name", ["step.done", "step.failed"])
def test_a_terminal_over_the_limit_fails_the_step_with_kind_limit(begin, name):
    world = begin(ONE, executor=SMALL)
    event = world.event(name, "start.1", output=ok_of(None, meta=BIG), error={"kind": "boom"})
    late = world.event("task.started", "start.1", None, "t")
    world.report("start.1", event, late, frames={"": {}}, final=True)
    assert world.state.error["kind"] == "limit"
    assert world.named("task.started") == []


@pytest.mark.parametrize("name", ["loop.iteration.done", "loop.iteration.failed"])
def test_an_iteration_over_the_limit_fails_with_kind_limit(begin, name):
    world = begin(DISTRIBUTED % ("parallel", "best_effort"), executor=SMALL)
    big = world.event(name, "start.1", "[0]", output=ok_of(None), writes=[[["ctx", "x"], BIG]], error={})
    world.report("start.1:0", big, world.item("start.1", 1), final=True)
    world.report("start.1:2", world.item("start.1", 2), world.item("start.1", 3), final=True)
    loop = world.data("loop.done")["output"]["loop"]
    assert (loop["done"], loop["errors"][0]["error"]["kind"]) == (3, "limit")


def test_an_iteration_over_the_limit_ends_a_loop_that_fails_fast_once(begin):
    world = begin(DISTRIBUTED % ("parallel", "fail_fast"), executor=SMALL)
    big = world.event(
        "loop.iteration.done", "start.1", "[0]", output=ok_of(None), writes=[[["ctx", "x"], BIG]]
    )
    world.report("start.1:0", big, final=True)
    assert world.state.error["kind"] == "limit"


def test_a_wait_over_the_limit_is_answered_with_kind_limit(begin):
    world = begin(ONE, executor=SMALL)
    call = {"path": "a/b", "input": {"big": BIG}}
    world.report(
        "start.1", world.event("task.parked", "start.1", None, "child", call=call, key="k"), returned=True
    )
    assert world.dispatched == ["start.1"]
    assert world.state.runs["start.1"].parked[""].output["error"]["kind"] == "limit"
    assert world.state.children == {}


def test_a_checkpoint_makes_the_writes_it_sends_effective(begin):
    world = begin(
        "- {step: start, tool: {kind: noop, input: {a: '{{ ctx.a }}'}}}".replace(
            "noop, input: {a: '{{ ctx.a }}'}", "noop"
        )
    )
    sent = [[["ctx", "a"], 1], [["ctx", "b", "c"], 2]]
    world.report("start.1", frames={"": {"pc": "start_task", "sent": sent}})
    assert world.state.ctx == {"a": 1, "b": {"c": 2}}
    assert world.state.runs["start.1"].frame == {"": {"pc": "start_task"}}
    assert {event.data["origin"] for event in world.named("ctx.patched")} == {"checkpoint"}


def test_a_lease_that_is_handed_back_goes_out_again_under_a_new_epoch(begin):
    world = begin(ONE)
    world.report("start.1", frames={"": {"pc": "start_task"}}, returned=True)
    assert world.dispatched == ["start.1"]
    assert (world.state.leases["start.1"].epoch, world.state.leases["start.1"].takeovers) == (2, 0)


def test_in_a_sequential_loop_ctx_writes_take_effect_iteration_by_iteration(begin):
    world = begin(DISTRIBUTED % ("sequential", "best_effort"))
    world.report("start.1:0", world.item("start.1", 0, writes=[[["ctx", "n"], 1], [["step", "m"], 5]]))
    assert world.state.ctx == {"n": 1}
    assert world.order("start.1:0").step_scope == {"m": 5}
    world.report("start.1:0", world.item_failed("start.1", 1, writes=[[["ctx", "n"], 2]]), final=True)
    assert world.state.ctx == {"n": 2}
    assert world.dispatched == ["start.1:2"]


def test_in_a_parallel_loop_ctx_writes_wait_for_the_end_of_the_loop(begin):
    world = begin(
        "- {step: start, loop: {in: [1, 2], iterator: x, spec: {mode: parallel}}, tool: {kind: noop}}"
    )
    world.report("start.1", world.item("start.1", 1, writes=[[["ctx", "b"], 1]]))
    assert world.state.ctx == {}
    world.report(
        "start.1",
        world.item("start.1", 0, writes=[[["ctx", "a"], 1]]),
        world.event("loop.done", "start.1"),
        final=True,
    )
    assert world.state.ctx == {"b": 1, "a": 1}


def test_inner_iterations_are_kept_until_their_iteration_is_over(begin):
    world = begin(
        "- {step: start, loop: {in: [[1, 2]], iterator: x, loop: {in: '{{ iter.x }}', iterator: y}}, tool: {kind: noop}}"
    )
    inner = world.event("loop.iteration.done", "start.1", "[0][0]", output=ok_of(5))
    lost = world.event("loop.iteration.failed", "start.1", "[0][1]", error={"kind": "boom"})
    world.report("start.1", world.event("loop.iteration.started", "start.1", "[0][0]"), inner, lost)
    assert world.order("start.1").outcomes == {
        "[0][0]": {"output": ok_of(5)},
        "[0][1]": {"error": {"kind": "boom"}},
    }
    world.report("start.1", world.item("start.1", 0, [5]))
    assert world.order("start.1").outcomes == {}


def test_a_failed_iteration_of_a_distributed_loop_calls_the_others_back(begin):
    world = begin(DISTRIBUTED % ("parallel", "fail_fast"))
    world.report("start.1:0", world.item_failed("start.1", 0))
    assert world.state.status == "failed"
    assert [command.lease for command in world.commands if isinstance(command, Recall)] == [
        "start.1:0",
        "start.1:2",
    ]


def test_a_chunk_that_is_through_gives_its_share_to_the_next_one_and_the_last_ends_the_loop(begin):
    world = begin(DISTRIBUTED % ("sequential", "fail_fast"))
    assert world.dispatched == ["start.1:0"]
    world.report("start.1:0", world.item("start.1", 0, "a"), world.item("start.1", 1, "b"), final=True)
    assert world.dispatched == ["start.1:2"]
    world.report("start.1:2", world.item("start.1", 2, "c"), world.item("start.1", 3, "d"), final=True)
    assert world.state.output == ["a", "b", "c", "d"]


def test_a_worker_that_gives_up_on_a_loop_fails_the_step_with_its_own_error(begin):
    world = begin("- {step: start, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}")
    error = {"kind": "internal", "message": "oops"}
    world.report(
        "start.1", world.item("start.1", 0), world.event("step.failed", "start.1", error=error), final=True
    )
    assert world.state.error["kind"] == "internal"
    assert world.data("step.failed")["output"]["loop"]["skipped"] == 1


def test_a_failure_without_an_output_still_has_an_envelope(begin):
    world = begin(ONE)
    world.report(
        "start.1", world.event("step.failed", "start.1", error={"kind": "boom", "message": "m"}), final=True
    )
    assert world.data("step.failed")["output"] == {
        "status": "error",
        "data": None,
        "error": {"kind": "boom", "message": "m"},
    }
