"""The one door of the core: a state and a message give a decision."""

import pytest

from noetl.core import message
from noetl.core.decide import HANDLERS, decide
from noetl.core.message import Control, Report, Start, Tick
from noetl.core.state import State, snapshot_of
from tests.unit.core.build import ENGINE, ID, T0, compiled

ONE = compiled("- {step: start, tool: {kind: noop}}")


def test_every_message_has_its_handler():
    assert set(HANDLERS) == set(message.Message.__args__)


def test_the_state_that_comes_in_is_the_state_after_the_decision():
    state = State(ID)
    decision = decide(state, Start("p", "h", ENGINE, workload={}), T0, ONE)
    assert (state.seq, decision.answer.seq) == (len(decision.events), len(decision.events))
    assert [event.ts for event in decision.events] == [T0] * len(decision.events)


def test_the_same_state_message_and_moment_give_the_same_decision():
    one, two = State(ID), State(ID)
    messages: list[message.Message] = [
        Start("p", "h", ENGINE, workload={}),
        Control("pause"),
        Control("resume"),
        Tick(),
    ]
    for given in messages:
        assert decide(one, given, T0, ONE) == decide(two, given, T0, ONE)
    assert snapshot_of(one) == snapshot_of(two)


@pytest.mark.parametrize("given", [Report("none", 1, "w", "b"), Control("resume")])
def test_a_message_that_is_refused_changes_nothing(given):
    state = State(ID)
    decide(state, Start("p", "h", ENGINE, workload={}), T0, ONE)
    before = snapshot_of(state)
    decision = decide(state, given, T0, ONE)
    assert (decision.answer.accepted, decision.events, decision.commands) == (False, [], [])
    assert snapshot_of(state) == before
