"""What a worker reports is asked whether it can be before it is folded; what it cannot be changes nothing."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl.core.deciding import report
from noetl.core.deciding.payload_hydration import (
    loop_references,
    outputs_of,
    report_references,
    result_references,
)
from noetl.core.deciding.report_check import ReportCheck, well_formed
from noetl.core.event import Event
from noetl.core.invariants import check_log
from noetl.core.message import Report
from noetl.core.state import snapshot_of
from noetl.core.values.output import externalise
from tests.unit.core.build import T0, World, exactly, ok_of

LOOP = """
- step: start
  loop: {in: "{{ range(%d) }}", iterator: x, spec: {mode: parallel, max_in_flight: 2, %spolicy: {exec: %s}}}
  spec: {policy: {failure: {mode: best_effort}}}
  tool: {name: one, kind: noop}
"""
LOCAL = LOOP % (4, "", "local")
CHUNKS = LOOP % (8, "chunk: 4, ", "distributed")
PLAIN = """
- step: start
  tool: [{name: one, kind: noop}, {name: two, kind: workbook, block: b}]
  next: {arcs: [{step: last}]}
- {step: last, tool: {kind: noop}}
"""
READING = """
- step: start
  tool: [{name: one, kind: noop}]
  next: {arcs: [{step: last}]}
- step: last
  input: {x: "{{ start.results.one.data }}"}
  loop: {in: "{{ ctx.rows_ref }}", iterator: x}
  tool: {kind: noop}
"""
REF = externalise("e1", {"$over": 1})[0]
BLOCK = "workbook: {b: {tool: [{name: inner, kind: noop}]}}"


def world_of(text):
    world = World(exactly(text, workbook=BLOCK))
    world.start()
    return world


def done(index, **data):
    return Event("loop.iteration.done", T0, "w", "start.1", f"[{index}]", data=data or None)


def task(name, label="one", visit=1, attempt=1, at=None, **data):
    return Event(name, T0, "w", "start.1", at, label, visit, attempt, data or None)


def whys(world):
    return [(event.data or {})["why"] for event in world.named("event.rejected")]


def test_an_iteration_that_is_over_does_not_end_again():
    world = world_of(LOCAL)
    world.report("start.1", *(done(0) for _ in range(4)))
    loop = world.state.runs["start.1"].loop
    assert (loop.done, whys(world)) == (1, ["iteration 0 is over"] * 3)


@pytest.mark.parametrize(
    "at, why",
    [
        ("[4]", "iteration 4 is not of this lease"),
        ("[99]", "iteration 99 is not of this lease"),
        ("[-1]", "'[-1]' is no address of an iteration"),
        ("[01]", "'[01]' is no address of an iteration"),
        ("[1", "'[1' is no address of an iteration"),
        ("[]", "'[]' is no address of an iteration"),
        ("one", "'one' is no address of an iteration"),
        (None, "None is no address of an iteration"),
        ("[7][0]", "iteration 7 is not of this lease"),
    ],
)
def test_an_iteration_that_is_not_of_the_lease_changes_nothing(at, why):
    world = world_of(CHUNKS)
    before = snapshot_of(world.state)
    for name in ("loop.iteration.started", "loop.iteration.done"):
        decision = world.report("start.1:0", Event(name, T0, "w", "start.1", at))
        assert decision.answer.accepted
        assert why in decision.answer.why
    assert whys(world) == [why] * 2
    world.state.seq -= 2
    assert snapshot_of(world.state) == before


@pytest.mark.parametrize(
    "event, why",
    [
        (task("task.started", "none"), "the program has no task 'none'"),
        (task("task.started", "two/none"), "the program has no task 'two/none'"),
        (task("task.started", None), "the program has no task None"),
        (task("task.started", visit=0), "visit 0 and attempt 1 are no numbers of a task"),
        (task("task.done", attempt=None), "visit 1 and attempt None are no numbers of a task"),
        (task("task.started", at="[0]"), "the step has no iteration [0]"),
        (task("task.done", output={"status": "?"}), "it is malformed: Invalid enum value '?' - at `$.output.status`"),
        (task("task.parked", child="c1"), "it is malformed: Expected `null`, got `str` - at `$.child`"),
        (task("task.parked", call={"path": "a"}), "a call needs a key"),
        (task("task.parked", error=None), "it is malformed: Expected `object`, got `null` - at `$.error`"),
        (Event("step.done", T0, "w", "start.1"), "it is malformed: Object missing required field `output`"),
        (Event("step.done", T0, "s", "start.1", data={"output": ok_of(1)}), "not for a worker to report"),
        (Event("step.done", T0, "w", "start.1", "/two", data={"output": ok_of(1)}), "it is not inside the run, and says '/two'"),
        (Event("step.done", T0, "w", "start.1", data={"output": {"status": "ok", "ref": {"a": 1}}}), "its reference is malformed"),
        (Event("step.done", T0, "w", "start.1", data={"output": ok_of(1), "results": {"one": ok_of(1, ref={})}}), "its reference is malformed"),
        (Event("step.failed", T0, "w", "start.1", data={"writes": 5}), "it is malformed: Expected `array`, got `int` - at `$.writes`"),
        (Event("step.done", T0, "w", "start.1", data={"output": ok_of(1), "writes": [[["ctx"], 1]]}), "'ctx' is no path that can be written"),
        (Event("step.failed", T0, "w", "start.1", data={"error": 1}), "it is malformed: Expected `object | null`, got `int` - at `$.error`"),
        (Event("loop.done", T0, "w", "start.1"), "not for a worker to report"),
        (Event("loop.started", T0, "w", "start.1", data={"total": 1}), "not for a worker to report"),
        (Event("step.started", T0, "w", "start.1", data={"worker": "other", "epoch": 1}), "it names worker other"),
        (Event("loop.iteration.done", T0, "w", "start.1", "/two"), "'/two' is no address of an iteration"),
    ],
)  # fmt: skip
def test_an_event_that_cannot_be_is_rejected_with_the_reason(event, why):
    world = world_of(PLAIN)
    world.report("start.1", event)
    assert (whys(world), world.live) == ([why], ["start.1"])


def test_visits_and_attempts_come_in_order_and_each_ends_once():
    world = world_of(PLAIN)
    first, again = task("task.done"), task("task.done", visit=2, attempt=2)
    world.report("start.1", first, first, again, task("task.started", visit=2), task("task.started"))
    assert whys(world) == [
        "visit 1, attempt 1 of one is over",
        "visit 2, attempt 1 of one comes after visit 2, attempt 2",
    ]
    world.report("start.1", frames={"": {"visits": {"one": 5}}})
    world.report("start.1", task("task.started", visit=4), task("task.started", visit=5))
    assert whys(world)[2:] == ["visit 4, attempt 1 of one comes after visit 5, attempt 0"]


def test_tasks_of_blocks_and_inner_iterations_are_known_and_end_once():
    world = world_of(PLAIN)
    inner = Event("loop.iteration.done", T0, "w", "start.1", "/two[0]", data={"output": ok_of(1)})
    world.report("start.1", task("task.started", "two/inner", at="/two"), inner, inner)
    assert whys(world) == ["iteration /two[0] is over"]


@pytest.mark.parametrize(
    "frame, why",
    [
        ({"pc": "none"}, "the program has no task 'none'"),
        ({"visits": 1}, "it is malformed: Expected `object`, got `int` - at `$.visits`"),
        ({"sent": [[["iter", "x"], 1]]}, "'iter.x' is no path that can be written"),
        ({"step": {"a": [{"$stored": REF, "$over": [1]}]}}, "a mark in it is malformed"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_not_kept(frame, why):
    world = world_of(PLAIN)
    world.report("start.1", frames={"": frame, "/two": {"pc": "inner"}})
    assert (whys(world), list(world.state.runs["start.1"].frame)) == ([why], ["/two"])


def test_a_mark_with_what_was_written_below_it_is_kept():
    world = world_of(PLAIN)
    world.report("start.1", frames={"": {"step": {"a": {"$stored": REF, "$over": [[["b"], [1]]]}}}})
    assert whys(world) == []


def test_a_loop_of_another_total_is_not_begun_and_one_that_is_shared_not_by_its_workers():
    world = world_of(LOCAL)
    for total in (3, 4):
        world.report("start.1", Event("loop.started", T0, "w", "start.1", data={"total": total}))
    assert whys(world) == ["not for a worker to report"]
    world = world_of(CHUNKS)
    ends = Event("step.done", T0, "w", "start.1", data={"output": ok_of(1)})
    world.report("start.1:0", Event("loop.done", T0, "w", "start.1"), ends)
    assert whys(world) == ["not for a worker to report"] * 2


def test_a_worker_that_ends_its_lease_and_does_not_say_how_fails_what_is_left():
    world = world_of(PLAIN)
    world.report("start.1", Event("step.done", T0, "w", "start.1"), final=True)
    error = world.data("step.failed")["error"]
    assert error["kind"] == "internal"
    assert (
        "did not say how step run start.1 ended; step.done was rejected: it is malformed" in error["message"]
    )
    world = world_of(CHUNKS)
    world.report("start.1:0", done(0), done(1), final=True)
    world.report("start.1:4", *(done(index) for index in range(4, 8)), final=True)
    loop = world.data("loop.done")["output"]["loop"]
    assert (loop["done"], loop["failed"], world.state.status) == (6, 2, "completed")


def test_another_worker_than_the_one_that_began_is_refused():
    world = world_of(PLAIN)
    world.begun("start.1")
    decision = world.send(Report("start.1", 1, "other", "b", [task("task.started")]))
    assert (decision.answer.accepted, decision.events) == (False, [])
    assert decision.answer.why == "the lease is with another worker than other"


def test_an_event_is_well_formed_or_its_references_are_not_looked_for():
    assert well_formed(done(0, output=ok_of(1)))
    assert well_formed(task("task.started"))
    assert not well_formed(done(0, writes=5))
    assert not well_formed(Event("step.failed", T0, "w", "start.1", data={"results": 5}))


# Whatever a worker sends

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from(["", "one", "ctx", "ok", "error", "[0]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted({
        "output", "status", "data", "ref", "part", "error", "kind", "message", "writes", "step", "iter",
        "results", "worker", "epoch", "total", "call", "path", "key", "until", "signal", "child", "wait",
        "$stored", "$over", "$operands", "locator", "meta", "type", "auth_reference", "visits", "pc", "sent",
    })), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
DATA = st.none() | st.dictionaries(
    st.sampled_from(["output", "error", "writes", "step", "results", "worker", "epoch", "total", "call", "key", "signal", "until"]),
    VALUES | st.sampled_from([ok_of(1), {"kind": "boom", "message": "m"}, [[["ctx", "a"], 1]], {"path": "a/b"}]),
    max_size=4,
)  # fmt: skip
EVENTS = st.builds(
    Event,
    st.sampled_from(sorted(report.HANDLERS)) | st.sampled_from(["token.enqueued", "lease.closed", "x"]),
    st.just(T0),
    st.sampled_from("wws"),
    st.sampled_from(["start.1", "start.1", "last.1", None]),
    st.sampled_from(
        [None, "", "[0]", "[1]", "[3]", "[4]", "[99]", "[-1]", "[0][1]", "/two", "[0]/two[1]", "[", "]"]
    ),
    st.sampled_from(["one", "two/inner", "no", None]),
    st.sampled_from([1, 2, 0, None]),
    st.sampled_from([1, 2, None]),
    DATA,
)
FRAMES = st.dictionaries(
    st.sampled_from(["", "[0]", "[9]", "/two"]), st.dictionaries(st.sampled_from(["pc", "visits", "sent", "writes", "step", "iter", "waiting", "inside", "results"]), VALUES, max_size=3), max_size=2
)  # fmt: skip
REPORTS = st.lists(st.tuples(st.lists(EVENTS, max_size=4), FRAMES, st.booleans(), st.booleans()), max_size=4)


def look_for_references(world, sent):
    program, state = world.program, world.state
    list(loop_references(program, state, sent))
    list(report_references(sent))
    list(result_references(program, state, sent, {}))
    outputs_of(state.runs[state.leases[sent.lease].run], sent)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([LOCAL, CHUNKS, PLAIN, READING]), REPORTS)
def test_no_report_raises_or_breaks_an_invariant(text, reports):
    world = world_of(text)
    for events, frames, returned, final in reports:
        if not world.state.leases:
            break
        lease = next(iter(world.state.leases))
        sent = msgspec.json.decode(msgspec.json.encode(events), type=list[Event])
        look_for_references(world, Report(lease, 1, "w1", "b", sent, frames))
        world.report(lease, *sent, frames=frames, returned=returned, final=final)
        for one in world.state.leases:
            world.order(one)
    assert check_log("e1", world.events) == []


def test_an_index_that_nobody_checks_is_noticed(monkeypatch):
    monkeypatch.setattr(ReportCheck, "_place", lambda check, address: None)
    world = world_of(LOCAL)
    world.report("start.1", done(0), done(0), done(1), done(1))
    assert {found.invariant for found in check_log("e1", world.events)} == {4}
