"""Tasks that have begun and are not over, and what is said of one that hangs."""

from dataclasses import replace

import pytest

from noetl.core.event import Event
from noetl.core.reading.under_way import RunningTask, Signs, UnderWay, sentences

TASK = RunningTask(7, "load.1", "pull", "", 1, 1_000, "w1")
NOW = 61_000


def read(*events: Event) -> list[RunningTask]:
    found = UnderWay()
    for seq, event in enumerate(events, 1):
        found.receive(seq, event)
    return list(found.tasks.values())


STARTED = Event("step.started", 5, run="a.1", data={"worker": "w1"})
TASK_STARTED = Event("task.started", 9, run="a.1", label="t", visit=1, attempt=2)


def test_a_task_that_has_begun_is_told_with_its_attempt_and_its_worker() -> None:
    assert read(STARTED, TASK_STARTED) == [RunningTask(2, "a.1", "t", "", 2, 9, "w1")]


@pytest.mark.parametrize(
    "name", ["task.done", "task.parked", "step.failed", "lease.expired", "lease.returned"]
)
def test_what_is_over_waits_or_begins_again_is_not_under_way(name: str) -> None:
    assert read(STARTED, TASK_STARTED, Event(name, 10, run="a.1", label="t", visit=1, attempt=2)) == []


def test_iterations_are_told_apart() -> None:
    begun = [Event("task.started", 9, run="a.1", label="t", at=f"[{index}]") for index in (0, 1)]
    left = read(STARTED, *begun, Event("task.done", 10, run="a.1", label="t", at="[0]"))
    assert [task.at for task in left] == ["[1]"]


@pytest.mark.parametrize(
    "signs, words",
    [
        pytest.param(Signs(now=NOW), "has been running for 1 min 00 s, since 1970-01-01T00:00:01.000Z on w1", id="since when and where"),
        pytest.param(Signs(now=NOW, heard_at=60_000), "on w1, which was heard of 1.0 s ago", id="its worker lives"),
        pytest.param(Signs(now=NOW), "it has printed nothing", id="no line"),
        pytest.param(Signs(now=NOW, printed=(58_000, "page 3")), "it printed last 3.0 s ago: page 3", id="a line"),
        pytest.param(Signs(now=NOW), "it has no timeout and may go on for ever; with `spec: {timeout: 60}`", id="no timeout"),
        pytest.param(Signs(now=NOW, timeout_s=90), "its timeout of 90 s ends it in 30.0 s", id="a timeout"),
        pytest.param(Signs(now=NOW, timeout_s=30), "its timeout of 30 s is over", id="a timeout that has passed"),
        pytest.param(Signs(now=NOW, timeout_s="{{ workload.t }}"), "its timeout is {{ workload.t }}", id="a template"),
        pytest.param(Signs(now=NOW, usual_ms=1_500, counted=1), "step 'load' took 1.5 s the last time", id="once before"),
        pytest.param(Signs(now=NOW, usual_ms=4_000_000, counted=4), "took 1 h 06 min in the middle of 4 that", id="several"),
        pytest.param(Signs(now=NOW, waits_until=64_000), "has been waiting for 1 min 00 s", id="a wait"),
        pytest.param(Signs(now=NOW, waits_until=64_000), "it waits until 1970-01-01T00:01:04.000Z, for another 3.0 s", id="until when"),
        pytest.param(Signs(now=NOW, waits_until=64_000, timeout_s=62), "its timeout of 62 s ends it in 2.0 s", id="a wait that is cut short"),
    ],
)  # fmt: skip
def test_what_is_known_of_a_task_is_said(signs: Signs, words: str) -> None:
    assert words in "\n".join(sentences(TASK, signs))


def test_whichever_ends_first_is_told_and_where_a_task_stands() -> None:
    inside = replace(TASK, at="[3]", attempt=2, worker=None, step_ends=62_000)
    said = "\n".join(sentences(inside, Signs(now=NOW, timeout_s=600, heard_at=5)))
    assert "task 'pull' in iteration [3] has been running" in said
    assert "the time that its step has ends it in 1.0 s" in said
    assert "attempt 2" in said
    assert "heard of" not in said


def test_of_a_wait_nothing_is_said_that_holds_of_work_alone() -> None:
    said = "\n".join(sentences(TASK, Signs(now=NOW, waits_until=64_000, usual_ms=5)))
    assert "no timeout" not in said
    assert "printed" not in said
    assert "took" not in said


def test_what_was_rendered_for_a_task_is_kept() -> None:
    started = Event("task.started", 9, run="a.1", label="t", data={"input": {"seconds": 3}})
    assert read(started)[0].rendered == {"seconds": 3}
