"""An execution on a time axis."""

from typing import Any

from noetl.core.event import Event
from noetl.core.reading import timeline
from noetl.core.reading.timeline import Timeline


def read(*events: Event) -> Any:
    found = Timeline()
    for seq, event in enumerate(events, 1):
        found.read(seq, event)
    return found.view()


def enqueued(token: str, source: str | None = None, ts: int = 0) -> Event:
    return Event("token.enqueued", ts, data={"token": token, "step": "x", "from_run": source})


def scheduled(run: str, *tokens: str, ts: int = 0, **data: Any) -> Event:
    return Event("step.scheduled", ts, run=run, data={"step": run[:-2], "tokens": list(tokens), **data})


def task(name: str, ts: int, label: str = "t", attempt: int = 1, **data: Any) -> Event:
    return Event(f"task.{name}", ts, "w", "a.1", None, label, 1, attempt, data)


def parked(ts: int, label: str, why: str, **data: Any) -> Event:
    return Event("task.parked", ts, "w", "a.1", None, label, 1, 1, {"for": why, **data})


def ended(run: str, ts: int, name: str = "step.done") -> Event:
    return Event(name, ts, "w", run, data={})


BEGIN = (enqueued("t1"), scheduled("a.1", "t1"), Event("step.started", 5, "w", "a.1", data={"worker": "w1"}))


def test_a_run_has_its_queueing_its_tasks_and_its_end():
    found = read(
        *BEGIN, task("started", 6), task("done", 16, output={"status": "ok"}, do="continue"), ended("a.1", 20)
    )
    (line,) = found["runs"]
    assert (line["scheduled"], line["started"], line["ended"], line["worker"]) == (0, 5, 20, "w1")
    (bar,) = line["tasks"]
    assert (bar["started"], bar["ended"], bar["status"], bar["what"]) == (6, 16, "done", "task")
    assert not found["ended"]


def test_a_retry_shows_the_failed_attempt_and_the_delay_before_the_next():
    found = read(
        *BEGIN,
        task("started", 10),
        task("done", 20, output={"status": "error"}, do="retry", delay=0.1),
        task("started", 120, attempt=2),
        task("done", 130, attempt=2, output={"status": "ok"}, do="skip"),
        ended("a.1", 140),
    )
    bars = [
        (bar["what"], bar["attempt"], bar["started"], bar["ended"], bar["status"])
        for bar in found["runs"][0]["tasks"]
    ]
    assert bars == [
        ("task", 1, 10, 20, "failed"),
        ("delay", 1, 20, 120, "waiting"),
        ("task", 2, 120, 130, "skipped"),
    ]


def test_waits_and_children_are_told_from_work_and_a_parked_retry_is_not_one():
    found = read(
        *BEGIN,
        task("started", 10, "w"),
        parked(11, "w", "wait"),
        task("started", 12, "c"),
        parked(13, "c", "child", child="x"),
        task("started", 14, "r"),
        parked(15, "r", "retry"),
        parked(16, "unseen", "wait"),
    )
    assert [bar["what"] for bar in found["runs"][0]["tasks"]] == ["wait", "child", "task"]
    assert found["runs"][0]["tasks"][0]["ended"] is None


def test_what_is_open_when_its_run_ends_ends_with_it():
    found = read(*BEGIN, task("started", 10), ended("a.1", 30, "step.failed"), task("done", 31))
    (line,) = found["runs"]
    assert (line["status"], line["tasks"][0]["ended"], line["tasks"][0]["status"]) == ("failed", 30, "failed")


def test_a_run_that_no_worker_started_ends_at_once():
    assert read(enqueued("t1"), scheduled("a.1", "t1"), ended("a.1", 3))["runs"][0]["started"] == 3


def test_a_loop_is_counted_and_its_tasks_are_not_kept():
    def iteration(end: str, at: str) -> Event:
        return Event(f"loop.iteration.{end}", 9, "w", "a.1", at)

    found = read(
        enqueued("t1"),
        scheduled("a.1", "t1"),
        Event("loop.started", 5, "w", "a.1", data={"total": 3}),
        Event("loop.started", 5, "w", "a.1", "[0]", data={"total": 99}),
        task("started", 6),
        task("done", 7),
        iteration("done", "[0]"),
        iteration("failed", "[1]"),
        iteration("done", "[2][0]"),
        ended("a.1", 10, "loop.done"),
    )
    (line,) = found["runs"]
    assert line["loop"] == {"total": 3, "done": 1, "failed": 1}
    assert line["tasks"] == []


def test_what_one_run_holds_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(timeline, "TASKS_MOST", 2)
    found = read(*BEGIN, *(task("started", 10 + place, f"t{place}") for place in range(5)))
    assert (len(found["runs"][0]["tasks"]), found["runs"][0]["left_out"]) == (2, 3)


def test_runs_are_bounded_and_the_newest_kept(monkeypatch):
    monkeypatch.setattr(timeline, "RUNS_MOST", 1)
    found = read(
        *BEGIN,
        enqueued("t2", "a.1"),
        scheduled("b.1", "t2", ts=9),
        task("started", 10),
        ended("a.1", 11),
        ended("b.1", 12),
    )
    assert ([line["run"] for line in found["runs"]], found["left_out"], found["critical"]) == (
        ["b.1"],
        1,
        ["b.1"],
    )


def test_the_critical_path_goes_back_over_what_came_last():
    found = read(
        enqueued("t1"),
        scheduled("start.1", "t1"),
        ended("start.1", 1),
        enqueued("t2", "start.1"),
        enqueued("t3", "start.1"),
        scheduled("quick.1", "t2", ts=1),
        scheduled("slow.1", "t3", ts=1),
        ended("quick.1", 5),
        enqueued("t4", "quick.1"),
        ended("slow.1", 50),
        enqueued("t5", "slow.1"),
        scheduled("meet.1", "t4", "t5", ts=50),
        ended("meet.1", 60),
        Event("playbook.processed", 61, data={}),
    )
    assert found["critical"] == ["start.1", "slow.1", "meet.1"]
    assert found["runs"][-1]["from"] == ["quick.1", "slow.1"]
    assert found["ended"]


def test_a_token_of_an_earlier_execution_is_no_source():
    found = read(enqueued("t1", "gone.1"), scheduled("a.1", "t1"), ended("a.1", 4))
    assert found["runs"][0]["from"] == []
    assert found["critical"] == ["a.1"]


def test_events_without_a_time_of_their_own_change_nothing():
    assert read(Event("ctx.patched", 5, data={"patch": []}))["runs"] == []


def test_nothing_has_no_critical_path():
    found = Timeline()
    assert found.critical() == []
    assert found.view()["runs"] == []


def test_durations_are_of_runs_that_ended():
    found = Timeline()
    for seq, event in enumerate(
        [enqueued("t1"), scheduled("a.1", "t1", ts=10), ended("a.1", 30), scheduled("b.1", ts=31)], 1
    ):
        found.read(seq, event)
    assert found.step_durations() == [("a", 20)]


def test_what_was_called_off_has_not_failed():
    called_off = {"kind": "cancelled", "message": "execution cancelled"}
    output = {"status": "error", "error": called_off}
    run_end = Event("step.failed", 9, "w", "a.1", data={"error": called_off})
    (line,) = read(*BEGIN, task("started", 6), task("done", 8, output=output), run_end)["runs"]
    assert (line["status"], line["tasks"][0]["status"]) == ("cancelled", "cancelled")
    (line,) = read(*BEGIN, ended("a.1", 9, "step.failed"))["runs"]
    assert line["status"] == "failed"


def test_the_time_that_a_run_waited_for_somebody_is_not_its_own():
    found = Timeline()
    waits = [task("started", 10), parked(12, "t", "signal"), task("done", 900, output={"status": "ok"})]
    for seq, event in enumerate([*BEGIN, *waits, task("started", 901, "u"), ended("a.1", 930)], 1):
        found.read(seq, event)
    assert found.step_durations() == [("a", 40)]
