"""The checker finds what must never be: each invariant is broken once by a doctored log."""

import pytest

from noetl.core.event import Event
from noetl.core.invariants import Checker, check_log
from tests.unit.core.build import T0, World, compiled


def event(name, run=None, at=None, by="s", label=None, **data):
    return Event(name, T0, by, run, at, label, None, None, data or None)


def execution():
    """A step and a parallel loop that went well."""
    world = World(
        compiled("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: loop}]}}
        - {step: loop, loop: {in: [1, 2], iterator: x, spec: {mode: parallel, max_in_flight: 1}}, tool: {kind: noop}}
    """)
    )
    world.start()
    world.begun("start.1")
    world.report("start.1", world.event("task.started", "start.1", None, "start_task"))
    world.done("start.1")
    world.begun("loop.1")
    for index in range(2):
        world.report(
            "loop.1",
            world.event("loop.iteration.started", "loop.1", f"[{index}]"),
            world.item("loop.1", index),
        )
    world.report("loop.1", world.event("loop.done", "loop.1"), final=True)
    return world


def sound():
    return execution().events


def place(log, name, run=None):
    return next(index for index, one in enumerate(log) if one.name == name and run in (None, one.run))


def doctored(name, *more, run=None, after=0):
    """A log with events put in behind the first of a name."""
    log = sound()
    at = place(log, name, run) + 1 + after
    return [*log[:at], *more, *log[at:]]


def without(name, run=None):
    log = sound()
    del log[place(log, name, run)]
    return log


def changed(name, run=None, **data):
    log = sound()
    at = place(log, name, run)
    old = log[at]
    log[at] = Event(
        old.name,
        old.ts,
        old.by,
        old.run,
        old.at,
        old.label,
        old.visit,
        old.attempt,
        {**(old.data or {}), **data},
    )
    return log


SCHEDULED = {"step": "start", "tokens": []}
COUNTS = {"total": 3, "done": 1, "failed": 0, "skipped": 0}
LATER = event("ctx.patched", patch=[], origin="run")


@pytest.mark.parametrize(
    "log, invariant, told",
    [
        pytest.param(lambda: doctored("step.scheduled", event("step.scheduled", "start.1", **SCHEDULED)), 3, "start.1 was scheduled twice", id="scheduled twice"),
        pytest.param(lambda: doctored("step.done", event("step.done", "start.1")), 3, "start.1 ended twice", id="ended twice"),
        pytest.param(lambda: doctored("workflow.started", event("step.done", "ghost.1")), 3, "ghost.1 ended without having been scheduled", id="ended out of nowhere"),
        pytest.param(lambda: without("step.done"), 3, "step run start.1 has 0 terminal events", id="never ended"),
        pytest.param(lambda: changed("loop.done", output={"loop": COUNTS}), 4, "the counts of loop loop.1 do not add up", id="counts"),
        pytest.param(lambda: doctored("loop.iteration.started", event("loop.iteration.started", "loop.1", "[1]", "w")), 4, "2 iterations of loop.1 run at once; at most 1 may", id="too many at once"),
        pytest.param(lambda: doctored("loop.iteration.done", event("loop.iteration.done", "loop.1", "[0]", "w")), 4, "iteration loop.1[0] ended twice", id="iteration ended twice"),
        pytest.param(lambda: doctored("step.scheduled", event("lease.expired", "start.1", lease="start.1", epoch=1)), 5, "the epoch of lease start.1 went from 1 to 1", id="epoch stands still"),
        pytest.param(lambda: changed("step.started", epoch=2), 5, "start.1 started under a lease that is not current", id="stale epoch"),
        pytest.param(lambda: doctored("step.done", event("task.started", "start.1", None, "w", "t")), 9, "a task of start.1 started outside its step run", id="task after its run"),
        pytest.param(lambda: doctored("workflow.started", event("task.started", "start.1", None, "w", "t")), 9, "a task of start.1 started outside its step run", id="task before its run"),
        pytest.param(lambda: doctored("token.enqueued", event("token.enqueued", token="t1", step="start")), 8, "tokens are not conserved", id="token from nowhere"),
        pytest.param(lambda: without("workflow.finished"), 8, "workflow.finished stands 0 times", id="no end"),
        pytest.param(lambda: doctored("workflow.finished", event("workflow.finished", status="completed")), 8, "the workflow finished twice", id="two ends"),
        pytest.param(lambda: doctored("workflow.finished", LATER), 8, "ctx.patched stands after workflow.finished", id="work after the end"),
        pytest.param(lambda: doctored("playbook.processed", LATER), 8, "ctx.patched stands after playbook.processed", id="work after all"),
        pytest.param(lambda: doctored("playbook.processed", event("playbook.processed", status="completed")), 8, "playbook.processed stands 2 times", id="processed twice"),
        pytest.param(lambda: without("playbook.processed"), 8, "playbook.processed stands 0 times", id="never processed"),
        pytest.param(lambda: doctored("step.scheduled", event("workflow.finished", status="completed")), 8, "the workflow finished while tokens or runs were live", id="ended too early"),
        pytest.param(lambda: doctored("step.scheduled", event("workflow.finished", status="completed"), event("playbook.processed", status="completed"))[:8], 8, "the workflow ended with live tokens or runs", id="left something behind"),
        pytest.param(lambda: doctored("step.done", event("next.evaluated", "start.1", event="step.failed", arcs=[], taken=["x"], failure={"step": "start", "error": {}, "taken_by": "x", "answered": False})), 8, "the workflow completed although step start failed and nothing asked about it", id="green failure"),
        pytest.param(lambda: changed("workflow.finished", output=float("nan")), 6, "a snapshot of the state does not read back", id="not JSON"),
        pytest.param(lambda: doctored("token.enqueued", event("token.held", token="t9", step="start")), 6, "token.held does not fit what came before", id="token that is not there"),
        pytest.param(lambda: doctored("token.enqueued", event("step.exploded")), 6, "step.exploded does not fit what came before", id="unknown event"),
    ],
)  # fmt: skip
def test_a_log_that_breaks_an_invariant_is_found_out(log, invariant, told):
    found = check_log("e1", log())
    assert any(one.invariant == invariant and told in one.message for one in found), found


def test_a_sound_log_has_no_violations():
    assert check_log("e1", sound()) == []


def test_a_log_that_is_still_being_written_has_no_violations():
    log: list[Event] = []
    for row in execution().rows:
        log += row.events
        assert check_log("e1", log) == []


def test_a_refused_request_has_no_workflow_to_finish():
    log = [
        event("playbook.execution.requested", path="p"),
        event("playbook.request.evaluated", status="error", error={"kind": "keychain"}),
        event("playbook.processed", status="failed", error={"kind": "keychain"}),
    ]
    assert check_log("e1", log) == []


def test_iterations_that_a_takeover_starts_again_are_counted_once():
    world = World(compiled("- {step: start, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}"))
    world.start()
    started = world.event("loop.iteration.started", "start.1", "[0]")
    inner = world.event("loop.iteration.started", "start.1", "[0]/b[1]")
    world.report("start.1", started, inner)
    world.control("recover")
    world.report("start.1", started, world.item("start.1", 0))
    world.report("start.1", world.event("loop.iteration.started", "start.1", "[1]"))
    assert check_log("e1", world.events) == []


def test_an_event_over_its_bound_is_found_and_one_that_had_no_bound_is_not():
    log = sound()
    checker = Checker("x", bound=600)
    for one in log:
        checker.read(one)
    assert checker.end() == []
    large = event("event.rejected", "start.1", why="e" * 700)
    checker, unbounded = Checker("x", bound=600), Checker("x")
    for one in [*log[:-2], large]:
        checker.read(one)
        unbounded.read(one)
    checker.read(large, bounded=False)
    assert [found.invariant for found in checker.found] == [14]
    assert "event.rejected has 710 bytes, more than the 600 of an event" in checker.found[0].message
    assert unbounded.found == []


def test_an_older_log_that_does_not_say_what_was_answered_has_no_violations():
    failure = {"step": "start", "error": {}, "taken_by": "x"}
    routed = event("next.evaluated", "start.1", event="step.failed", arcs=[], taken=["x"], failure=failure)
    assert check_log("e1", doctored("step.done", routed)) == []


def test_a_takeover_does_not_make_room_for_more_iterations():
    world = World(compiled("- {step: start, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}"))
    world.start()
    world.report("start.1", world.event("loop.iteration.started", "start.1", "[0]"))
    world.control("recover")
    world.report("start.1", world.event("loop.iteration.started", "start.1", "[1]"))
    assert [found.invariant for found in check_log("e1", world.events)] == [4]


def test_the_shares_of_a_loop_may_not_exceed_what_it_may_run_at_once():
    world = World(
        compiled("""
            - step: start
              loop: {in: [1, 2, 3, 4], iterator: x, spec: {mode: parallel, max_in_flight: 2, policy: {exec: distributed}}}
              tool: {kind: noop}
        """)
    )
    world.start()
    more = Event(
        "lease.granted", T0, "s", "start.1", data={"lease": "start.1:2", "lo": 2, "hi": 3, "share": 1}
    )
    (found,) = check_log("e1", [*world.events, more])
    assert (found.invariant, found.message) == (
        4,
        "the shares of start.1 are 3; at most 2 may run at once",
    )
