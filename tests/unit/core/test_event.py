"""The event as it is kept and as readers see it."""

import msgspec
import pytest

from noetl.core.event import CATALOGUE, DETAIL, TERMINAL, Event, envelope, iso, step_of, task_run_id
from noetl.core.fold import TRANSITIONS

T = 1_700_000_000_123


def test_an_event_rests_as_a_short_array_and_reads_back_as_it_was():
    event = Event("task.done", T, "w", "load.1", "[2]", "fetch", 3, 2, {"do": "continue"})
    body = msgspec.json.encode(event)
    assert body == b'["task.done",1700000000123,"w","load.1","[2]","fetch",3,2,{"do":"continue"}]'
    assert msgspec.json.decode(body, type=Event) == event


def test_every_name_that_changes_the_state_is_in_the_catalogue():
    assert set(TRANSITIONS) | DETAIL | TERMINAL <= set(CATALOGUE)


@pytest.mark.parametrize("run, step", [("load.1", "load"), ("plan.1.one.12", "plan.1.one")])
def test_a_run_id_names_its_step(run, step):
    assert step_of(run) == step


@pytest.mark.parametrize(
    "event, task_run",
    [
        (Event("task.done", T, "w", "s.1", "[2]/call[0]", "call/t", 3), "s.1[2]/call[0]/call/t.3"),
        (Event("task.done", T, "w", "s.1", None, "t"), "s.1/t.1"),
        (Event("step.done", T, "w", "s.1"), None),
    ],
)
def test_the_id_of_a_task_run_is_made_of_where_it_is(event, task_run):
    assert task_run_id(event) == task_run


def test_an_envelope_shows_every_field_of_the_contract():
    event = Event(
        "task.done",
        T,
        "w",
        "s.1",
        "[2]",
        "t",
        3,
        2,
        {"output": {"status": "error"}, "worker": "w1", "epoch": 4},
    )
    assert envelope("e1", 7, event) == {
        "event_id": "e1-7", "execution_id": "e1", "seq": 7, "ts": "2023-11-14T22:13:20.123Z", "source": "worker",
        "name": "task.done", "entity": "task", "entity_id": "s.1[2]/t.3", "status": "error", "step": "s",
        "step_run_id": "s.1", "task_run_id": "s.1[2]/t.3", "iteration_id": "s.1[2]", "task_label": "t", "visit": 3, "attempt": 2,
        "worker_id": "w1", "lease_epoch": 4, "trace_id": "e1", "data": event.data,
    }  # fmt: skip


@pytest.mark.parametrize(
    "event, entity_id, step",
    [
        (Event("token.held", T, data={"token": "t1", "step": "a"}), "t1", "a"),
        (Event("loop.iteration.done", T, "w", "s.1", "[2]"), "s.1[2]", "s"),
        (Event("task.done", T, "w", "s.1", "[2]/call", "t"), "s.1[2]/call/t.1", "s"),
        (Event("step.done", T, "w", "s.1"), "s.1", "s"),
        (Event("workflow.started", T), "e1", None),
    ],
)
def test_the_entity_is_the_nearest_thing_the_event_is_about(event, entity_id, step):
    shown = envelope("e1", 1, event)
    assert (shown["entity_id"], shown.get("step")) == (entity_id, step)


@pytest.mark.parametrize(
    "data, status",
    [
        ({"status": "completed"}, "success"),
        ({"status": "failed"}, "error"),
        ({"output": {"status": "ok"}}, "success"),
        ({"output": {"status": "error"}}, "error"),
        (None, "success"),
    ],
)
def test_a_status_that_the_name_does_not_say_is_read_from_the_data(data, status):
    assert envelope("e1", 1, Event("playbook.processed", T, data=data))["status"] == status


def test_moments_are_iso_8601_in_utc():
    assert iso(0) == "1970-01-01T00:00:00.000Z"
