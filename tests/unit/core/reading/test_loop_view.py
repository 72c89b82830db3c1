"""The iterations of loops, one mark and two numbers each."""

from typing import Any

from noetl.core.event import Event
from noetl.core.reading import loop_view
from noetl.core.reading.loop_view import LoopView


def read(*events: Event) -> LoopView:
    found = LoopView()
    for seq, event in enumerate(events, 1):
        found.read(seq, event)
    return found


def scheduled(total: int, **data: Any) -> Event:
    return Event(
        "step.scheduled", 100, run="a.1", data={"step": "a", "tokens": ["t1"], "total": total, **data}
    )


def iteration(what: str, index: int, ts: int, **data: Any) -> Event:
    return Event(f"loop.iteration.{what}", ts, "w", "a.1", f"[{index}]", data=data)


def test_each_iteration_has_its_state_its_start_and_its_duration():
    error = {"kind": "python", "message": "no", "task": "t", "attempt": 2, "details": {}}
    shown = read(
        scheduled(4),
        iteration("started", 0, 110),
        iteration("started", 1, 112),
        iteration("done", 0, 130),
        iteration("failed", 1, 140, error=error),
        iteration("started", 2, 150),
    ).view("a.1")
    assert shown is not None
    assert (shown["marks"], shown["started"], shown["took"]) == ("dfrp", [10, 12, 50, -1], [20, 28, -1, -1])
    assert shown["errors"] == {1: {"kind": "python", "message": "no", "task": "t", "attempt": 2}}
    assert shown["counts"] == {"queued": 1, "running": 1, "done": 1, "failed": 1, "kept": 0}
    assert not shown["ended"]


def test_retries_are_counted_where_they_happened():
    def retried(at: str | None) -> Event:
        return Event("task.done", 120, "w", "a.1", at, "t", 1, 1, {"do": "retry"})

    found = read(
        scheduled(3),
        retried("[2]"),
        retried("[2]/call"),
        Event("task.done", 1, "w", "a.1", "[1]", "t", 1, 1, {"do": "continue"}),
    )
    shown = found.view("a.1")
    assert shown is not None
    assert shown["retries"] == {2: 2}


def test_iterations_that_an_earlier_execution_did_are_kept():
    restored = Event(
        "loop.restored", 90, data={"token": "t1", "step": "a", "total": 3, "iterations": {"0": {}, "2": {}}}
    )
    shown = read(restored, scheduled(3)).view("a.1")
    assert shown is not None
    assert shown["marks"] == "kpk"


def test_inner_iterations_are_not_counted_and_an_end_without_a_start_is_known():
    inner = Event("loop.iteration.done", 130, "w", "a.1", "[0][1]")
    shown = read(scheduled(1), inner, iteration("done", 0, 140), Event("loop.done", 150, "w", "a.1")).view(
        "a.1"
    )
    assert shown is not None
    assert (shown["marks"], shown["took"], shown["ended"]) == ("d", [40], True)


def test_errors_are_bounded(monkeypatch):
    monkeypatch.setattr(loop_view, "ERRORS_MOST", 1)
    shown = read(scheduled(2), iteration("failed", 0, 110), iteration("failed", 1, 110)).view("a.1")
    assert shown is not None
    assert (len(shown["errors"]), shown["counts"]["failed"]) == (1, 2)


def test_a_run_without_a_loop_has_none():
    plain = Event("step.scheduled", 1, run="b.1", data={"step": "b", "tokens": []})
    found = read(plain, Event("step.done", 2, "w", "b.1"), scheduled(0))
    assert found.view("b.1") is None
    assert found.runs() == ["a.1"]


def test_loops_are_bounded_and_the_newest_kept(monkeypatch):
    monkeypatch.setattr(loop_view, "LOOPS_MOST", 1)
    later = Event("step.scheduled", 200, run="a.2", data={"step": "a", "tokens": [], "total": 1})
    assert read(scheduled(1), later, iteration("started", 0, 300)).runs() == ["a.2"]
