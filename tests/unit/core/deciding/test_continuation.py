"""When an execution goes on as another, what it carries there, and what keeps it from that."""

import pytest
from msgspec import structs

from noetl.core.decide import decide
from noetl.core.deciding import continuation
from noetl.core.deciding.continuation import successor_id
from noetl.core.invariants import check_log
from noetl.core.message import ChildEnded, Control, TellParent
from noetl.core.reading.explain import explain
from noetl.core.replay import RecordedRow, replay
from noetl.core.state import State
from tests.unit.core.build import ENGINE, ID, T0

ROUND = """
- step: start
  spec: {continue: {after_events: 10, input: {round: "{{ ctx.n }}"}}}
  tool: {kind: noop}
  set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
  next: {arcs: [{step: start}]}
"""
PARENT = {"execution_id": "p", "run": "a.1", "at": "", "depth": 1, "waits": True, "path": "x"}


def to_the_end(world, run="start"):
    """Run rounds until the execution goes on as another; the decision that says so."""
    for number in range(1, 20):
        decision = world.done(f"{run}.{number}", number)
        if decision.successor is not None:
            return decision
    raise AssertionError("it was never continued")


def test_a_long_log_ends_and_the_other_begins_with_ctx_and_workload(begin):
    world = begin(ROUND, workload="workload: {a: 1, round: 0}")
    decision = to_the_end(world)
    seq = world.data("execution.continued")
    assert world.state.status == "completed"
    assert decision.successor.execution_id == seq["as"] == world.state.continued_as
    assert seq == {"as": seq["as"], "step": "start", "input": {"round": world.state.ctx["n"]}}
    start = decision.successor.start
    assert start.workload == start.payload == {"a": 1, "round": world.state.ctx["n"]}
    assert start.continued_from == {"execution_id": ID, "first": ID, "events": world.state.seq}
    assert start.kept["state"] == {"ctx": world.state.ctx}
    assert [token["step"] for token in start.kept["tokens"]] == ["start"]
    assert (start.hash, start.engine, start.by) == ("hash", ENGINE, "cli")


def test_the_successor_decides_the_same_again_and_is_a_chain_itself(begin):
    world = begin(ROUND)
    successor = to_the_end(world).successor
    state = State(successor.execution_id)
    decision = decide(state, successor.start, T0, world.program)
    assert [event.name for event in decision.events][:5] == [
        "playbook.execution.requested",
        "playbook.request.evaluated",
        "workflow.started",
        "execution.restored",
        "token.enqueued",
    ]
    assert (state.first, state.before, state.events_before) == (ID, ID, world.state.seq)
    assert list(state.runs) == ["start.1"]
    assert state.ctx == world.state.ctx
    assert check_log(successor.execution_id, decision.events) == []
    recorded = RecordedRow(1, T0, successor.start, decision.events)
    assert replay(successor.execution_id, [recorded], lambda digest: world.program)[1] == []


def test_the_id_of_the_successor_follows_from_the_log_alone():
    assert successor_id("e", 20) == successor_id("e", 20)
    assert len({successor_id("e", 20), successor_id("e", 21), successor_id("f", 20)}) == 3


def test_it_is_never_continued_in_the_decision_that_starts_it(begin):
    world = begin(
        """
        - step: start
          next: {arcs: [{step: start, when: "{{ ctx.n | default(0) < 9 }}", set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}}, {step: last}]}
          spec: {continue: {after_events: 10}}
        - {step: last, tool: {kind: noop}}
        """
    )
    assert world.live == ["last.1"]


def test_while_another_token_is_alive_the_step_runs_as_any_other(begin):
    world = begin(
        """
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, spec: {join: each, continue: {after_events: 10}}, tool: {kind: noop}, next: {arcs: [{step: a}]}}
        - {step: b, tool: {kind: noop}}
        """
    )
    for number in range(1, 6):
        assert world.done(f"a.{number}").successor is None
    world.done("b.1")
    assert world.done("a.6").successor is not None


def test_inside_a_fragment_it_is_not_continued(begin):
    world = begin(
        """
        - step: start
          spec: {synthesize: {from: "{{ output.data }}"}}
          tool: {kind: noop}
          next: {arcs: [{step: last}]}
        - {step: last, spec: {continue: {after_events: 10}}, tool: {kind: noop}}
        """
    )
    fragment = [
        {"step": "one", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "two"}]}},
        {"step": "two", "tool": {"kind": "noop"}, "spec": {"continue": {"after_events": 10}}},
    ]
    world.done("start.1", fragment)
    assert world.done("start.1.one.1").successor is None
    assert world.live == ["start.1.two.1"]
    assert world.done("start.1.two.1").successor is not None


def test_what_the_end_depends_on_is_carried(begin):
    world = begin(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: last, args: {x: 1}}]}}
        - {step: last, spec: {continue: {after_events: 10}}, tool: {kind: noop}}
        """
    )
    world.control("signal", name="go", payload=7)
    successor = world.failed("start.1").successor
    carried = successor.start.kept["state"]
    assert carried["signals"] == [{"name": "go", "payload": 7}]
    assert [(one["step"], one["answered"]) for one in carried["failures"]] == [("start", False)]
    assert successor.start.kept["tokens"][0]["args"] == {"x": 1}
    assert world.state.status == "completed"
    other = State(successor.execution_id)
    decide(other, successor.start, T0, world.program)
    assert other.unanswered is not None


def test_a_failing_execution_drains_and_is_not_continued(begin):
    world = begin(
        """
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: c}]}}
        - {step: c, spec: {continue: {after_events: 10}}, tool: {kind: noop}}
        """,
        executor="executor: {spec: {on_failure: drain}}",
    )
    world.failed("a.1")
    assert world.done("b.1").successor is None


@pytest.mark.parametrize(
    "given, kind",
    [("{x: '{{ ctx.nothing }}'}", "template"), ("{x: '{{ 1 / 0 }}'}", "template")],
)
def test_an_input_that_cannot_be_rendered_fails_the_execution(begin, given, kind):
    world = begin(ROUND.replace('{round: "{{ ctx.n }}"}', given))
    for number in range(1, 20):
        if world.state.ended:
            break
        world.done(f"start.{number}")
    assert (world.state.status, world.state.error["kind"], world.state.error["step"]) == (
        "failed",
        kind,
        "start",
    )


def test_a_ctx_that_has_grown_too_large_fails_the_execution(begin, monkeypatch):
    monkeypatch.setattr(continuation, "CARRIED_BYTES", 5)
    world = begin(ROUND)
    for number in range(1, 20):
        if world.state.ended:
            break
        world.done(f"start.{number}")
    assert (world.state.status, world.state.error["kind"]) == ("failed", "limit")
    assert "more than the 5 that a continued execution carries" in world.state.error["message"]


def test_a_workload_that_is_gone_fails_the_execution(world):
    world = world(ROUND)
    world.start(workload={"big": "x" * 100_000})
    world.hydrated.clear()
    for number in range(1, 20):
        if world.state.ended:
            break
        world.done(f"start.{number}")
    assert (world.state.status, world.state.error["kind"]) == ("failed", "reference")


def test_the_parent_hears_of_the_last_alone_by_the_id_that_it_knows(world):
    world = world(ROUND)
    world.start(parent=PARENT)
    decision = to_the_end(world)
    assert not [one for one in decision.commands if isinstance(one, TellParent)]
    state = State(decision.successor.execution_id)
    decide(state, decision.successor.start, T0, world.program)
    assert state.parent == PARENT
    assert state.events_before == world.state.seq
    ended = decide(state, Control("cancel"), T0, world.program)
    told = [one.message for one in ended.commands if isinstance(one, TellParent)]
    assert [(type(one), one.execution_id) for one in told] == [(ChildEnded, ID)]


def numbered(world):
    return list(enumerate((event for row in world.rows for event in row.events), 1))


def test_why_says_where_it_goes_on_and_from(begin):
    world = begin(ROUND)
    successor = to_the_end(world).successor
    told = explain(ID, numbered(world))
    assert told.status == "completed"
    assert told.summary.endswith(f"it goes on as execution {successor.execution_id}")
    decision = decide(State(successor.execution_id), successor.start, T0, world.program)
    after = explain(successor.execution_id, enumerate(decision.events, 1))
    assert after.reasons[0].text == f"requested by cli, going on from execution {ID}"
    assert not [reason for reason in after.reasons if reason.text.startswith("kept of")]


def test_an_execution_that_goes_on_cannot_have_ended_otherwise(begin):
    world = begin(ROUND)
    to_the_end(world)
    events = [event for _, event in numbered(world)]
    assert check_log(ID, events) == []
    broken = [
        structs.replace(event, data={**event.data, "output": 1})
        if event.name == "workflow.finished"
        else event
        for event in events
    ]
    assert [found.invariant for found in check_log(ID, broken)] == [8]
