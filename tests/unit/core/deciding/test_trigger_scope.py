"""Every execution can say what started it: what was recorded, the playbook that called it, or that somebody asked."""

from noetl.core.deciding.trigger_scope import trigger_of
from noetl.core.state import State

ONE = "- {step: start, tool: {kind: noop}}"
UNSAID = {"name": None, "tick": None, "previous_tick": None, "payload": None}


def test_what_was_recorded_has_every_field():
    state = State("e", by="schedule loads", trigger={"kind": "schedule", "name": "loads"})
    assert trigger_of(state) == {**UNSAID, "kind": "schedule", "name": "loads", "by": None}


def test_a_child_of_before_it_was_recorded_was_started_by_its_parents_playbook():
    state = State("e", by="parent", parent={"execution_id": "p", "path": "team/parent"})
    assert trigger_of(state) == {**UNSAID, "kind": "playbook", "name": "team/parent", "by": "parent"}


def test_all_else_was_asked_for():
    assert trigger_of(State("e", by="me")) == {**UNSAID, "kind": "manual", "by": "me"}


def test_the_payload_of_a_trigger_is_recorded_with_it(world):
    it = world(ONE)
    it.start(trigger={"kind": "webhook", "name": "hook", "payload": {"a": 1}})
    assert it.data("playbook.execution.requested")["trigger"] == {
        "kind": "webhook", "name": "hook", "payload": {"a": 1},
    }  # fmt: skip
