"""What operators and time do to an execution: pause, resume, cancel, signal, takeovers, timeouts."""

import pytest

from noetl.core.deciding.operator_commands import next_due
from noetl.core.message import ControlChild, Deliver, Dispatch, Expire, Recall, Tick

ONE = "- {step: start, tool: {kind: noop}}"
BOTH = """
- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
- {step: a, %s tool: {kind: noop}}
- {step: b, %s tool: {kind: noop}}
"""
CHUNKS = """
- step: start
  loop: {in: "{{ range(12) }}", iterator: x, spec: {mode: parallel, max_in_flight: %s, chunk: 2, policy: {exec: distributed}}}
  spec: {policy: {failure: {mode: %s}}}
  tool: {kind: noop}
  next: {arcs: [{step: last}]}
- {step: last, tool: {kind: noop}}
"""


def parked(world, run="start.1", at=None, **data):
    return world.event("task.parked", run, at, "wait", **data)


def test_pause_asks_for_the_leases_back_and_starts_nothing_new(begin):
    world = begin("- {step: start, tool: {kind: noop}, next: {arcs: [{step: last}]}}\n- {step: last}")
    world.begun("start.1")
    world.control("pause", by="me")
    assert world.commands == [Recall("start.1", 1, "w1", give_back=True, why="paused")]
    world.done("start.1")
    assert (world.state.status, world.live, len(world.state.tokens)) == ("paused", [], 1)


def test_only_children_that_are_waited_for_are_paused_with_their_parent(begin):
    world = begin(
        "- {step: start, loop: {in: [1, 2], iterator: x, spec: {mode: parallel}}, tool: {kind: noop}}"
    )
    for index, wait in enumerate((True, False)):
        call = {"call": {"path": "a/b"}, "key": f"k{index}", "wait": wait}
        world.report("start.1", world.event("task.parked", "start.1", f"[{index}]", "t", **call))
    waited_for = next(iter(world.state.children))
    for what in ("pause", "resume"):
        world.control(what)
        told = [command for command in world.commands if isinstance(command, ControlChild)]
        assert told == [ControlChild(waited_for, what, f"the parent was told to {what}")]


def test_pause_and_resume_of_the_wrong_state_are_refused_with_the_reason(begin):
    world = begin(ONE)
    assert world.control("resume").answer.why == "the execution is running, not paused"
    world.control("pause")
    assert world.control("pause").answer.why == "the execution is already paused"


@pytest.mark.parametrize("what", ["pause", "resume", "cancel", "signal", "recover"])
def test_nothing_can_be_done_to_an_execution_that_is_over(begin, what):
    world = begin("- {step: start}")
    answer = world.control(what, name="x").answer
    assert (answer.accepted, answer.why) == (False, "the execution is already completed")


def test_resume_sends_out_again_what_was_handed_back(begin):
    world = begin(ONE)
    world.control("pause")
    world.report("start.1", frames={"": {"pc": "start_task"}}, returned=True)
    assert world.dispatched == []
    world.control("resume")
    assert world.dispatched == ["start.1"]
    assert world.order("start.1").frames == {"": {"pc": "start_task"}}


def test_pause_stops_the_clock_of_timeouts(begin):
    world = begin("- {step: start, spec: {timeout: 10}, tool: {kind: noop}}")
    world.begun("start.1")
    assert next_due(world.state) == world.now + 10_000
    world.control("pause")
    assert next_due(world.state) is None
    world.now += 60_000
    world.send(Tick())
    world.control("resume")
    assert next_due(world.state) == world.now + 10_000
    world.now += 10_000
    world.send(Tick())
    assert world.state.error["kind"] == "timeout"


def test_a_loop_whose_chunks_ended_while_paused_goes_on_with_its_own_chunk_size(begin):
    world = begin(CHUNKS % ("'{{ workload.n }}'", "fail_fast"), workload="workload: {n: 3}")
    assert world.dispatched == ["start.1:0", "start.1:2", "start.1:4"]
    world.control("pause")
    for lease in (0, 2):
        items = [world.item("start.1", index) for index in (lease, lease + 1)]
        world.report(f"start.1:{lease}", *items, final=True)
        assert world.dispatched == []
    world.control("resume")
    assert world.dispatched == ["start.1:6", "start.1:8"]
    assert world.state.leases["start.1:6"].hi == 8
    assert sum(lease.share for lease in world.state.leases.values()) == 3


def test_a_local_loop_is_not_handed_out_in_chunks_on_resume(begin):
    world = begin("- {step: start, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}")
    world.control("pause")
    world.control("resume")
    assert world.dispatched == []


def test_cancel_ends_everything_without_arcs(begin):
    world = begin(BOTH % ("", ""))
    world.begun("a.1")
    world.control("cancel", by="me", why="enough")
    assert (world.state.status, world.state.error["message"]) == ("cancelled", "enough")
    assert {command.lease for command in world.commands} == {"a.1", "b.1"}
    assert world.named("next.evaluated", "a.1") == []
    assert world.state.output is None


def test_cancel_without_a_reason_says_who(begin):
    world = begin(ONE)
    world.control("cancel", by="ops")
    assert world.state.error["message"] == "cancelled by ops"


def test_cancelled_loops_count_what_never_ended_as_skipped(begin):
    world = begin("- {step: start, loop: {in: [1, 2, 3], iterator: x}, tool: {kind: noop}}")
    world.report("start.1", world.item("start.1", 0))
    world.control("cancel")
    assert world.data("step.failed")["output"]["loop"] == {"total": 3, "done": 1, "failed": 0, "skipped": 2}


def test_a_signal_wakes_the_pipeline_that_waits_for_it(begin):
    world = begin(ONE)
    world.report("start.1", parked(world, signal="go"), frames={"": {"waiting": "wait"}}, returned=True)
    assert world.dispatched == []
    world.control("signal", name="other", payload=1)
    assert world.dispatched == []
    world.control("signal", name="go", payload={"x": 1})
    assert world.dispatched == ["start.1"]
    assert list(world.order("start.1").answers.values()) == [{"status": "ok", "data": {"x": 1}}]
    assert [signal["name"] for signal in world.state.signals] == ["other"]


def test_who_a_signal_says_it_is_from_is_kept_as_a_claim(begin):
    world = begin("- {step: start, tool: {kind: wait, input: {signal: go}}}")
    world.control("signal", name="go", payload={"by": "the chief", "x": 1})
    world.control("signal", name="go", payload={"by": 7})
    told = [event.data for event in world.events if event.name == "execution.signalled"]
    assert [data.get("claimed_by") for data in told] == ["the chief", None]
    assert "the chief" not in [data["by"] for data in told]


def test_a_signal_that_came_first_is_kept_for_whoever_waits(begin):
    world = begin(ONE)
    world.control("signal", name="other")
    world.control("signal", name="go", payload=7)
    world.report("start.1", parked(world, signal="go"), returned=True)
    assert world.dispatched == ["start.1"]
    assert world.state.runs["start.1"].parked[""].output == {"status": "ok", "data": 7}
    assert [signal["name"] for signal in world.state.signals] == ["other"]


@pytest.mark.parametrize("early", [True, False])
def test_a_large_signal_reaches_its_pipeline_whole_and_the_log_by_reference(begin, early):
    world = begin(ONE, executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}")
    big = {"text": "x" * 2000}
    if early:
        world.control("signal", name="go", payload=big)
    world.report("start.1", parked(world, signal="go"), returned=True)
    if not early:
        world.control("signal", name="go", payload=big)
    assert "$stored" in world.data("task.resumed")["output"]["data"]
    assert list(world.order("start.1").answers.values()) == [{"status": "ok", "data": big}]


def test_a_pipeline_that_waits_under_its_lease_is_told_there(begin):
    world = begin(
        "- {step: start, loop: {in: [1, 2], iterator: x}, tool: {name: wait, kind: wait, input: {signal: go}}}"
    )
    world.report("start.1", parked(world, at="[1]", signal="go"), frames={"[1]": {"waiting": "wait"}})
    world.control("signal", name="go", payload=5)
    delivered = world.commands[0]
    assert isinstance(delivered, Deliver)
    assert (delivered.lease, delivered.address, delivered.output["data"]) == ("start.1", "[1]", 5)


def test_a_signal_that_comes_while_paused_is_kept_for_the_resume(begin):
    world = begin(ONE)
    world.report("start.1", parked(world, signal="go"), returned=True)
    world.control("pause")
    world.control("signal", name="go")
    assert world.commands == []
    world.control("resume")
    assert world.dispatched == ["start.1"]


def test_a_wait_for_a_signal_that_does_not_come_times_out(begin):
    world = begin(ONE)
    world.report("start.1", parked(world, signal="go", until=world.now + 1000), returned=True)
    world.send(Tick())
    assert world.dispatched == []
    world.now += 1000
    world.send(Tick())
    error = world.state.runs["start.1"].parked[""].output["error"]
    assert (error["kind"], error["retryable"]) == ("timeout", True)
    assert "no signal 'go' came in time" in error["message"]


def test_a_wait_for_a_time_ends_with_ok(begin):
    world = begin(ONE)
    world.report("start.1", parked(world, until=world.now + 1000), returned=True)
    assert next_due(world.state) == world.now + 1000
    world.now += 1000
    world.send(Tick())
    assert world.state.runs["start.1"].parked[""].output == {"status": "ok", "data": None}
    assert next_due(world.state) is None


@pytest.mark.parametrize("until, kind", [(None, "timeout"), (5000, "timeout"), (500, None)])
def test_a_tasks_own_timeout_ends_what_it_waits_for_when_it_comes_first(begin, until, kind):
    world = begin(ONE)
    times = {"expires": world.now + 1000} | ({} if until is None else {"until": world.now + until})
    world.report("start.1", parked(world, **times), returned=True)
    world.now += 1000
    world.send(Tick())
    output = world.state.runs["start.1"].parked[""].output
    assert output.get("error", {}).get("kind") == kind


def test_a_step_that_times_out_is_stopped_and_its_arcs_decide(begin):
    world = begin("""
        - {step: start, spec: {timeout: 2}, tool: {kind: noop}, next: {arcs: [{step: late, when: "{{ output.error.kind == 'timeout' }}"}]}}
        - {step: late, tool: {kind: noop}}
    """)
    world.begun("start.1")
    world.now += 2000
    world.send(Tick())
    assert world.live == ["late.1"]
    assert world.data("step.failed")["error"]["message"] == "step run start.1 exceeded 2 s"
    assert isinstance(world.commands[0], Recall)


def test_a_deadline_holds_also_for_what_never_started(begin):
    world = begin(
        "- {step: start, spec: {policy: {lifecycle: {deadline_s: 3}}}, loop: {in: [1], iterator: x}, tool: {kind: noop}}"
    )
    world.now += 3000
    world.send(Tick())
    assert world.state.error["message"] == "step run start.1 exceeded its deadline"
    assert world.data("step.failed")["output"]["loop"]["skipped"] == 1


def test_of_timeout_and_deadline_the_one_that_is_over_is_named(begin):
    world = begin(
        "- {step: start, spec: {timeout: 9, policy: {lifecycle: {deadline_s: 3}}}, tool: {kind: noop}}"
    )
    world.begun("start.1")
    assert next_due(world.state) == world.now + 3000
    world.control("pause")
    world.now += 3000
    world.control("resume")
    world.send(Tick())
    assert world.state.error["message"] == "step run start.1 exceeded its deadline"


def within(world, **more):
    return parked(world, at="/call", within=world.now + 1000, **more)


@pytest.mark.parametrize(
    "times, told",
    [
        ({"signal": "go"}, "task 'wait' took longer than the timeout of the call that it is inside of"),
        ({"until": 5000}, "task 'wait' took longer than the timeout of the call that it is inside of"),
        ({"until": 500}, None),
        ({"until": 1000}, None),
        ({"expires": 500}, "task 'wait' took longer than its timeout"),
    ],
)
def test_the_timeout_of_a_call_ends_what_waits_inside_it(begin, times, told):
    world = begin(ONE)
    moments = {key: world.now + value if isinstance(value, int) else value for key, value in times.items()}
    world.report("start.1", within(world, **moments), returned=True)
    world.now += 1000
    world.send(Tick())
    output = world.state.runs["start.1"].parked["/call"].output
    assert (output.get("error", {}).get("message"), world.dispatched) == (told, ["start.1"])


def test_a_worker_that_has_the_lease_sees_to_the_timeouts_of_calls_itself(begin):
    world = begin(ONE)
    world.report("start.1", within(world, signal="go"))
    assert next_due(world.state) is None
    world.now += 1000
    assert world.send(Tick()).events == []
    world.send(Expire({"start.1": 1}))
    assert next_due(world.state) == world.now
    world.send(Tick())
    assert world.dispatched == ["start.1"]


def test_two_steps_that_time_out_together_fail_the_execution_once(begin):
    late = "spec: {timeout: 1},"
    world = begin(BOTH % (late, late))
    world.begun("a.1")
    world.begun("b.1")
    world.now += 1000
    world.send(Tick())
    assert world.state.status == "failed"
    assert world.data("step.failed", "b.1")["error"]["kind"] == "cancelled"


@pytest.mark.parametrize("name", [None, ""])
def test_a_signal_without_a_name_is_refused_and_told_what_is_waited_for(begin, name):
    world = begin(BOTH % ("", ""))
    told = "a signal needs a name; the execution waits for "
    assert world.control("signal", name=name).answer.why == f"{told}no signal"
    world.report("a.1", parked(world, "a.1", until=world.now + 9), returned=True)
    world.report("b.1", parked(world, "b.1", signal="go"), returned=True)
    answer = world.control("signal", name=name).answer
    assert (answer.accepted, answer.why) == (False, f"{told}go")
    assert all(run.parked[""].output is None for run in world.state.runs.values())


@pytest.mark.parametrize("name", ["start.ship", "Ship it?"])
@pytest.mark.parametrize("early", [False, True])
def test_an_approval_is_known_by_its_name_and_by_its_text(begin, name, early):
    world = begin(ONE)
    if early:
        world.control("signal", name=name, payload=5)
    world.report("start.1", parked(world, signal="start.ship", approval="Ship it?"))
    if not early:
        world.control("signal", name=name, payload=5)
    assert world.state.runs["start.1"].parked[""].output == {"status": "ok", "data": 5}
    assert world.state.signals == []


def test_nothing_is_due_once_the_execution_is_over(begin):
    world = begin("- {step: start}")
    assert next_due(world.state) is None
    assert world.send(Tick()).events == []


def test_a_silent_lease_goes_out_again_under_a_new_epoch(begin):
    world = begin(ONE)
    world.begun("start.1")
    world.send(Expire(["start.1", "unknown"]))
    assert world.dispatched == ["start.1"]
    lease = world.state.leases["start.1"]
    assert (lease.epoch, lease.worker, lease.out, lease.takeovers) == (2, None, True, 1)
    assert world.report("start.1", epoch=1).answer.accepted is False


def test_an_expiry_of_an_epoch_that_is_over_is_ignored(begin):
    world = begin(ONE)
    world.send(Expire({"start.1": 1, "unknown": 1}))
    assert world.state.leases["start.1"].epoch == 2
    assert world.send(Expire({"start.1": 1})).events == []
    world.send(Expire({"start.1": 2}))
    assert (world.state.leases["start.1"].epoch, world.dispatched) == (3, ["start.1"])


def test_an_order_that_never_came_to_a_worker_is_not_a_takeover(begin):
    world = begin("- {step: start, spec: {limits: {max_takeovers: 1}}, tool: {kind: noop}}")
    world.send(Expire({"start.1": 1}))
    for epoch in range(2, 6):
        world.send(Expire({"start.1": epoch}, "lost"))
        assert (world.state.leases["start.1"].takeovers, world.dispatched) == (1, ["start.1"])
    world.send(Expire({"start.1": 6}))
    assert world.state.error["kind"] == "worker_lost"


def _hand_back(world):
    world.report("start.1", returned=True)


def _recover(world):
    world.control("recover")


@pytest.mark.parametrize(
    "again", [_hand_back, _recover, lambda world: world.send(Expire(["start.1"], "lost"))]
)
def test_progress_counts_whatever_the_lease_goes_out_again_for(begin, again):
    world = begin("- {step: start, spec: {limits: {max_takeovers: 1}}, tool: {kind: noop}}")
    world.send(Expire(["start.1"]))
    world.begun("start.1")
    again(world)
    assert world.state.leases["start.1"].takeovers == 0


def test_to_begin_again_is_no_progress(begin):
    world = begin("- {step: start, spec: {limits: {max_takeovers: 1}}, tool: {kind: noop}}")
    world.begun("start.1")
    for _ in range(2):
        world.send(Expire(["start.1"]))
        if world.live:
            world.begun("start.1")
    assert world.state.error["kind"] == "worker_lost"


def test_a_step_that_keeps_losing_its_worker_fails_with_worker_lost(begin):
    world = begin("- {step: start, spec: {limits: {max_takeovers: 1}}, tool: {kind: noop}}")
    world.send(Expire(["start.1"]))
    assert world.live == ["start.1"]
    world.send(Expire(["start.1"]))
    assert world.state.error["kind"] == "worker_lost"


@pytest.mark.parametrize("progress", ["checkpoint", "iteration"])
def test_accepted_progress_starts_the_count_of_takeovers_anew(begin, progress):
    world = begin(
        "- {step: start, spec: {limits: {max_takeovers: 1}}, loop: {in: [1, 2, 3, 4], iterator: x}, tool: {kind: noop}}"
    )
    for index in range(3):
        if progress == "checkpoint":
            world.report("start.1", frames={f"[{index}]": {"pc": "start_task"}})
        else:
            world.report("start.1", world.item("start.1", index))
        world.send(Expire(["start.1"]))
        assert world.live == ["start.1"]
    world.send(Expire(["start.1"]))
    assert world.state.error["kind"] == "worker_lost"
    assert world.data("step.failed")["output"]["loop"]["total"] == 4


def test_a_finished_iteration_is_progress_of_its_own_chunk_only(begin):
    world = begin(CHUNKS % (2, "fail_fast"))
    world.report("start.1:0", world.item("start.1", 0))
    assert [lease.progressed for lease in world.state.leases.values()] == [True, False]


def lose(world, lease):
    for _ in range(4):
        world.send(Expire([lease]))


def test_a_lost_chunk_fails_its_unfinished_iterations_and_with_fail_fast_the_step(begin):
    world = begin(CHUNKS % (2, "fail_fast"))
    world.report("start.1:0", world.item("start.1", 0))
    lose(world, "start.1:0")
    failed = world.data("step.failed")
    assert failed["error"]["kind"] == "worker_lost"
    assert failed["output"]["loop"]["done"] == 1
    assert failed["output"]["loop"]["failed"] == 1
    assert failed["output"]["loop"]["skipped"] == 10
    assert Recall("start.1:2", 1, why="iterations were lost") in world.commands


def test_with_best_effort_a_lost_chunk_makes_room_for_the_next_one(begin):
    world = begin(CHUNKS % (2, "best_effort"))
    lose(world, "start.1:0")
    assert world.dispatched == ["start.1:4"]
    assert world.live == ["start.1"]


def test_with_best_effort_a_lost_last_chunk_ends_the_loop(begin):
    world = begin(CHUNKS % (1, "best_effort"))
    for low in range(0, 10, 2):
        items = [world.item("start.1", index) for index in (low, low + 1)]
        world.report(f"start.1:{low}", *items, final=True)
    lose(world, "start.1:10")
    assert world.data("loop.done")["output"]["loop"]["failed"] == 2
    assert world.live == ["last.1"]


def test_a_chunk_that_is_lost_while_paused_waits_for_the_resume(begin):
    world = begin(CHUNKS % (2, "best_effort"))
    for _ in range(3):
        world.send(Expire(["start.1:0"]))
    world.control("pause")
    world.send(Expire(["start.1:0"]))
    assert (world.state.status, world.dispatched) == ("paused", [])
    world.control("resume")
    assert "start.1:4" in world.dispatched


def test_a_lease_that_is_lost_while_paused_waits_for_the_resume(begin):
    world = begin(ONE)
    world.control("pause")
    world.send(Expire(["start.1"]))
    assert world.dispatched == []
    world.control("resume")
    assert world.dispatched == ["start.1"]


def test_recover_sends_every_lease_out_again_without_counting_a_takeover(begin):
    world = begin(BOTH % ("", ""))
    world.report("b.1", parked(world, "b.1", signal="go"), returned=True)
    world.control("recover")
    assert world.dispatched == ["a.1"]
    lease = world.state.leases["a.1"]
    assert (lease.epoch, lease.takeovers) == (2, 0)


def test_recover_of_a_paused_execution_starts_nothing(begin):
    world = begin(ONE)
    world.control("pause")
    world.control("recover")
    assert world.dispatched == []
    world.control("resume")
    assert world.dispatched == ["start.1"]


def call(world, at=None, **data):
    return world.event("task.parked", "start.1", at, "child", call={"path": "a/b"}, key=f"k{at}", **data)


def test_pause_resume_and_cancel_reach_the_children(begin):
    world = begin(ONE)
    child = next(
        command.execution_id for command in world.report("start.1", call(world), returned=True).commands
    )
    for what in ("pause", "resume", "cancel"):
        world.control(what)
        told = [command for command in world.commands if isinstance(command, ControlChild)]
        assert [(command.execution_id, command.what) for command in told] == [(child, what)]


def test_a_child_nobody_waits_for_is_not_cancelled(begin):
    world = begin(ONE)
    world.report("start.1", call(world, wait=False), returned=True)
    world.control("cancel")
    assert [command for command in world.commands if isinstance(command, ControlChild)] == []


def test_the_timeout_of_a_step_or_task_cancels_the_child_it_waits_for(begin):
    for parts, workflow in (({}, "spec: {timeout: 1},"), ({"expires": 1_700_000_001_000}, "")):
        world = begin(f"- {{step: start, {workflow} tool: {{kind: noop}}}}")
        world.begun("start.1")
        world.report("start.1", call(world, **parts), returned=True)
        world.now += 1000
        world.send(Tick())
        assert [command.what for command in world.commands if isinstance(command, ControlChild)] == ["cancel"]


@pytest.mark.parametrize("wait, another", [(True, True), (False, False)])
@pytest.mark.parametrize("how", ["timeout", "block"])
def test_a_call_that_gave_its_child_up_calls_another_one_when_it_is_repeated(begin, how, wait, another):
    world = begin(ONE)
    world.begun("start.1")
    more = {"expires": world.now + 1000} if how == "timeout" else {}
    world.report("start.1", call(world, "/b", wait=wait, **more), frames={"": {"pc": "t", "inside": "/b"}})
    first = world.state.runs["start.1"].parked["/b"].child
    if how == "timeout":
        world.now += 1000
        given_up = world.send(Tick()).commands
    else:
        given_up = world.report("start.1", frames={"": {"pc": "t"}}).commands
    world.report("start.1", call(world, "/b"))
    assert (world.state.runs["start.1"].parked["/b"].child != first) is another
    assert any(isinstance(command, ControlChild) for command in given_up) is another


def test_a_call_that_is_taken_over_finds_its_child_again(begin):
    world = begin(ONE)
    world.report("start.1", call(world))
    first = world.state.runs["start.1"].parked[""].child
    world.send(Expire({"start.1": 1}))
    world.report("start.1", call(world))
    assert world.state.runs["start.1"].parked[""].child == first


LOOP = """
- {step: start, loop: {in: [1, 2], iterator: x, spec: {mode: parallel}}, spec: {policy: {failure: {mode: %s}}}, tool: {kind: noop}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: noop}}
"""


def test_a_failed_step_cancels_the_children_of_its_other_iterations(begin):
    world = begin(LOOP % "fail_fast")
    world.report("start.1", call(world, "[0]"))
    world.report(
        "start.1", world.item_failed("start.1", 1), world.event("step.failed", "start.1"), final=True
    )
    assert [command.what for command in world.commands if isinstance(command, ControlChild)] == ["cancel"]
    assert world.state.children == {}


def test_an_iteration_that_ends_cancels_the_child_inside_it(begin):
    world = begin(LOOP % "best_effort")
    world.report("start.1", call(world, "[0][1]"))
    world.report("start.1", world.item_failed("start.1", 0))
    assert [command.what for command in world.commands if isinstance(command, ControlChild)] == ["cancel"]
    assert world.state.children == {}


def test_a_lost_chunk_cancels_the_children_inside_it(begin):
    world = begin(CHUNKS % (2, "best_effort"), executor="executor: {spec: {limits: {max_takeovers: 0}}}")
    world.report("start.1:0", call(world, "[0]"))
    world.send(Expire({"start.1:0": 1}))
    assert [command.what for command in world.commands if isinstance(command, ControlChild)] == ["cancel"]
    assert isinstance(world.commands[-1], Dispatch)
