"""A decision in the making: what it stores, what it loads, what it does not know."""

import pytest

from noetl.core.deciding.draft import Draft, loaded, stored_refs
from noetl.core.program.evaluator import TemplateEvaluator
from noetl.core.state import State
from noetl.core.values.patch import assign_kept
from noetl.errors import InvariantViolation
from tests.unit.core.build import ID, T0, compiled

SMALL = {"executor": "executor: {spec: {limits: {max_payload_bytes: 20}}}"}


def draft(program=None):
    return Draft(State(ID), program or compiled("- {step: start}", **SMALL), TemplateEvaluator(), T0, {})


@pytest.mark.parametrize("value", [None, True, 5, 1.5, "short", {"a": 1}])
def test_a_small_value_is_stored_as_itself(value):
    made = draft()
    assert made.store(value) is value
    assert made.payloads == []


def test_a_large_value_is_put_aside_and_found_again():
    made = draft()
    marker = made.store("x" * 30)
    assert made.load(marker) == "x" * 30
    assert made.payloads[0].body == b'"' + b"x" * 30 + b'"'
    assert stored_refs({"a": [marker, 1], "b": {"c": marker}}) == [marker["$stored"]] * 2


@pytest.mark.parametrize("value", ["x", {"a": 1}, None])
def test_what_is_no_marker_is_itself(value):
    assert draft().load(value) is value


def test_events_are_folded_as_they_are_emitted():
    made = draft()
    made.emit("token.enqueued", token="t1", step="start")
    assert (list(made.state.tokens), made.state.seq, made.events[0].ts) == (["t1"], 1, T0)


def test_a_step_that_the_program_does_not_have_is_a_bug_of_ours():
    with pytest.raises(InvariantViolation, match="no step 'none'"):
        draft().step("none")


def test_what_is_written_below_a_value_that_was_put_aside_lies_over_it():
    made = draft()
    marker = made.store({"a": 1, "text": "x" * 30})
    ctx = assign_kept(assign_kept({"big": marker}, ["big", "b", "c"], 2), ["big", "a"], marker)
    assert len(stored_refs(ctx)) == 2
    assert made.load(ctx["big"]) == {"a": {"a": 1, "text": "x" * 30}, "text": "x" * 30, "b": {"c": 2}}
    text = made.store("y" * 30)
    assert loaded(assign_kept({"t": text}, ["t", "n"], 1)["t"], made.hydrated) == {"n": 1}
