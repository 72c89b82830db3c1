"""What an execution that lives long keeps in its state: bounded, and never without what its end depends on."""

import pytest

from noetl.core import state_bounds
from noetl.core.event import Event
from noetl.core.fold import evolve
from noetl.core.state import State
from tests.unit.core.build import T0


def event(name, run=None, **data):
    return Event(name, T0, "s", run, None, None, None, None, data)


def failure(number, answered):
    return {"step": f"s{number}", "error": {"kind": "boom"}, "taken_by": "x", "answered": answered}


def failing(state, number, answered):
    evolve(state, event("next.evaluated", "s.1", failure=failure(number, answered), arcs=[], taken=["x"]))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name in ("FAILURES_KEPT", "LEFT_KEPT", "SIGNALS_KEPT", "FRAGMENTS_KEPT"):
        monkeypatch.setattr(state_bounds, name, 3)


def test_of_very_many_failures_the_first_are_kept_and_the_others_counted():
    state = State("e")
    for number in range(10):
        failing(state, number, answered=True)
    assert [one["step"] for one in state.failures] == ["s0", "s1", "s2"]
    assert state.failures_left_out == 7


def test_the_first_failure_that_nothing_asked_about_is_never_left_out():
    state = State("e")
    for number in range(10):
        failing(state, number, answered=number < 6)
    assert state.unanswered == failure(6, answered=False)
    assert [one["step"] for one in state.failures] == ["s0", "s1", "s6"]
    assert state.failures_left_out == 7


def test_what_a_retry_kept_is_bounded_alike():
    state = State("e")
    kept = [failure(number, answered=number != 7) for number in range(9)]
    evolve(state, event("execution.restored", failures=kept))
    assert state.unanswered == kept[7]
    assert (len(state.failures), state.failures_left_out) == (3, 6)


def test_of_very_many_children_that_were_given_up_the_newest_are_told_again():
    state = State("e")
    for number in range(5):
        state_bounds.leave_child(state, f"c{number}")
    assert state.left == ["c2", "c3", "c4"]


def test_more_signals_than_are_kept_are_refused_unless_someone_waits(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    for _ in range(3):
        assert world.control("signal", name="other").answer.accepted
    refused = world.control("signal", name="other").answer
    assert (refused.accepted, refused.why) == (
        False,
        "3 signals that nothing has taken are kept, and no more",
    )
    parked = world.event("task.parked", "start.1", None, "wait", signal="go")
    world.report("start.1", parked, frames={"": {"waiting": "wait"}}, returned=True)
    assert world.control("signal", name="go").answer.accepted
    assert len(world.state.signals) == 3


def test_fragments_that_are_over_are_forgotten_with_their_results_and_still_counted(begin):
    world = begin(
        """
        - step: start
          spec: {synthesize: {from: "{{ output.data }}"}}
          tool: {kind: noop}
          next: {arcs: [{step: start}]}
        """
    )
    fragment = [{"step": "one", "tool": {"kind": "noop"}}]
    for number in range(1, 8):
        world.done(f"start.{number}", fragment)
        assert [one["origin"] for one in world.order(f"start.{number}.one.1").fragments] == [
            f"start.{number}"
        ]
        world.done(f"start.{number}.one.1", number)
    assert list(world.state.fragments) == ["start.5", "start.6", "start.7"]
    assert sorted(world.state.steps) == ["start", "start.5.one", "start.6.one", "start.7.one"]
    assert sorted(world.state.results) == ["start", "start.5.one", "start.6.one", "start.7.one"]
    assert (world.state.runs_left_out, world.state.step_runs) == (4, 15)
    assert world.order("start.8").fragments == []
