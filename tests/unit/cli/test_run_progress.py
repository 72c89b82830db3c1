"""Where a run is: what is counted from its events, and how that is told."""

from typing import Any

import pytest

from noetl.cli.running.progress import LoopProgress, Progress, StepProgress
from noetl.cli.running.progress_tree import TreeWatch
from noetl.cli.running.run_summary import duration, error_lines, number, short_json, tally_lines
from noetl.cli.running.watches import loop_words, step_line
from noetl.cli.terminal import Paint
from noetl.core.event import Event

PLAIN = Paint(False)


def event(name, run=None, at=None, ts=1000, label=None, attempt=None, **data):
    return Event(name, ts, "s", run, at, label, 1, attempt, data or None)


def after(*events):
    progress = Progress()
    progress.receive(1, list(events))
    return progress


SCHEDULED = event("step.scheduled", "load.1", step="load", tokens=["t1"])
LOOP = event("step.scheduled", "load.1", step="load", tokens=["t1"], total=4)


@pytest.mark.parametrize(
    "events, state, why",
    [
        ([SCHEDULED], "queued", ""),
        ([SCHEDULED, event("step.started", "load.1")], "running", ""),
        ([SCHEDULED, event("task.parked", "load.1", signal="go")], "waiting", "for the signal go"),
        (
            [SCHEDULED, event("task.parked", "load.1", child="c", call={"path": "a/b"})],
            "waiting",
            "for the playbook a/b",
        ),
        ([SCHEDULED, event("task.parked", "load.1", **{"for": "retry"})], "waiting", "to try again"),
        (
            [SCHEDULED, event("task.parked", "load.1", signal="go"), event("task.resumed", "load.1")],
            "running",
            "",
        ),
        ([event("token.held", step="load", waits_for=["a", "b"])], "held", "for a, b"),
        ([event("token.refused", step="load")], "refused", ""),
        ([SCHEDULED, event("step.done", "load.1")], "done", ""),
        ([SCHEDULED, event("step.failed", "load.1")], "failed", ""),
        ([event("execution.restored", steps={"load": {"runs": 1, "status": "done"}})], "done", "kept"),
    ],
)
def test_a_step_has_the_state_its_last_event_gave_it(events, state, why):
    step = after(*events).steps["load"]
    assert (step.state, step.why) == (state, why)


def test_a_run_that_ended_is_told_as_it_ended_although_the_step_begins_again():
    again = event("step.scheduled", "load.2", ts=2500, step="load", tokens=["t2"])
    progress = after(SCHEDULED, event("step.done", "load.1", ts=2000), again)
    assert [step_line(step, 3000, PLAIN) for step in progress.changed] == ["done     load  1.0 s"]


def test_a_step_with_several_runs_is_done_when_none_is_under_way():
    second = event("step.scheduled", "load.2", step="load", tokens=["t2"])
    progress = after(SCHEDULED, second, event("step.done", "load.1", ts=2000))
    assert (progress.steps["load"].state, progress.steps["load"].active) == ("running", 1)
    progress.receive(4, [event("step.done", "load.2", ts=3000)])
    assert (progress.steps["load"].state, progress.steps["load"].runs) == ("done", 2)


def test_events_that_were_heard_before_are_not_counted_again():
    progress = after(SCHEDULED)
    progress.receive(1, [SCHEDULED])
    assert progress.steps["load"].runs == 1


def test_a_loop_counts_its_own_iterations_and_not_those_inside_them():
    progress = after(
        LOOP,
        event("loop.iteration.started", "load.1", "[0]"),
        event("loop.iteration.started", "load.1", "[1]"),
        event("loop.iteration.started", "load.1", "[2]"),
        event("loop.iteration.started", "load.1", "[0][0]"),
        event("loop.iteration.done", "load.1", "[0][0]"),
        event("loop.iteration.done", "load.1", "[1]/call[0]"),
        event("loop.iteration.done", "load.1", "[0]"),
        event("loop.iteration.failed", "load.1", "[1]"),
    )
    loop = progress.steps["load"].loop
    assert (loop.done, loop.failed, loop.running) == (1, 1, 1)
    progress.receive(10, [event("lease.expired", "load.1", lease="load.1")])
    assert loop.running == 0


def test_kept_iterations_count_as_done_but_not_for_the_rate():
    kept = event("loop.restored", step="load", token="t1", total=4, iterations={"0": {}, "1": {}})
    again = event("step.scheduled", "load.1", step="load", tokens=["t1"], total=4, kept=True)
    progress = after(kept, again, event("loop.iteration.started", "load.1", "[2]"))
    loop = progress.steps["load"].loop
    assert (loop.done, loop.kept, loop.running, loop.rate(3000)) == (2, 2, 1, None)
    progress.receive(4, [event("loop.iteration.done", "load.1", "[2]")])
    assert (loop.rate(3000), loop.left_s(3000)) == (0.5, 2.0)


def test_the_counts_of_a_loop_are_those_of_its_end():
    counts = {"total": 4, "done": 3, "failed": 1, "skipped": 0}
    progress = after(LOOP, event("loop.done", "load.1", output={"status": "ok", "loop": counts}))
    loop = progress.steps["load"].loop
    assert (loop.done, loop.failed, loop.running) == (3, 1, 0)


def test_attempts_are_those_of_the_task_under_way():
    progress = after(SCHEDULED, event("task.started", "load.1", label="fetch", attempt=3))
    step = progress.steps["load"]
    assert (step.task, step.attempt) == ("fetch", 3)
    progress.receive(3, [event("step.done", "load.1", ts=2500)])
    assert step_line(step, 9000, PLAIN) == "done     load  3 attempts  1.5 s"


@pytest.mark.parametrize(
    "loop, words",
    [
        (
            LoopProgress(10_000, 0, started=9139, done=9120, failed=3),
            "9,120/10,000 ok · 3 failed · 16 running",
        ),
        (LoopProgress(2, 0, started=2, done=2), "2/2 ok"),
        (LoopProgress(4, 0, kept=2, done=2), "2/4 ok · 2 kept"),
    ],
)
def test_a_loop_in_words(loop, words):
    assert loop_words(loop) == words


@pytest.mark.parametrize(
    "ms, text",
    [
        (0, "0 ms"),
        (812, "812 ms"),
        (1_240, "1.2 s"),
        (59_940, "59.9 s"),
        (61_000, "1 min 01 s"),
        (3_725_000, "1 h 02 min"),
    ],
)
def test_a_duration_as_a_person_reads_it(ms, text):
    assert duration(ms) == text


def test_numbers_and_values_are_kept_readable():
    assert number(1234567) == "1,234,567"
    assert short_json({"a": "x" * 50}, 20) == '{"a":"xxxxxxxxxxxxxx… (58 characters)'


def test_the_tally_lists_ten_failures_and_counts_the_rest():
    failure = {"step": "a", "error": {"message": "broken"}, "taken_by": "b"}
    counts = {"events": 1200, "steps": 1, "tasks": 2, "iterations": 0}
    result: Any = {"status": "completed", "duration_ms": 5, "counts": counts, "failures": [failure] * 12}
    lines = tally_lines(result, PLAIN)
    assert lines[0] == "completed in 5 ms: 1 step, 2 tasks, 1,200 events"
    assert lines[1] == "  failed  a, taken by the arc to b, which does not ask about it: broken"
    assert (len(lines), lines[-1]) == (12, "  … and 2 more failures")


def test_the_tally_says_what_an_execution_went_on_from_and_without():
    failure = {"step": "a", "error": {"message": "broken"}, "taken_by": "b", "answered": True}
    counts = {"events": 9, "steps": 2, "tasks": 3, "iterations": 10000, "failed_iterations": 1040}
    result: Any = {
        "status": "completed",
        "duration_ms": 5,
        "counts": counts,
        "failures": [failure],
        "execution_id": "e1",
    }
    assert tally_lines(result, PLAIN) == [
        "completed in 5 ms: 2 steps, 3 tasks, 10,000 iterations (1,040 failed), 9 events",
        "  failed  a, answered by the arc to b: broken",
        "  = the failed ones alone: noetl execution retry e1",
    ]


def test_a_failure_without_a_place_still_names_the_next_command():
    told = error_lines({"kind": "keychain", "message": "no tok"}, "e1", PLAIN)
    assert told[0] == "error[keychain]: no tok"
    assert told[1] == "  = try: noetl execution why e1"


@pytest.mark.parametrize(
    "running, first",
    [
        (0, "├─ … 12 earlier steps"),
        (11, "├─ … 9 earlier steps"),
        (19, "├─ … 1 earlier step"),
        (20, "├─ ● s0"),
    ],
)
def test_a_tree_says_how_many_steps_it_leaves_out(running, first):
    """Steps that run stay, however small the terminal is."""
    from rich.console import Console

    watch = TreeWatch()
    over = 20 - running
    for place in range(20):
        step = (
            StepProgress(f"s{place}", "running", 1, 1)
            if place >= over
            else StepProgress(f"s{place}", "done", 1)
        )
        watch.progress.steps[step.name] = step
    drawn = watch._draw(Console(height=11, width=80)).plain.split("\n")
    assert drawn[0].startswith(first)
    assert len(drawn) == max(8, running) + (drawn[0] != "" and "earlier" in drawn[0])


def test_what_an_error_says_cannot_move_the_cursor():
    error: Any = {"kind": "http", "message": "m", "details": {"body": "a\x1b[2Jb\rc", "input": {"n": 1}}}
    told = error_lines(error, "e1", PLAIN)
    assert told[1] == '  input  {"n":1}'
    assert "\x1b" not in "".join(told)
    assert "\r" not in "".join(told)


def test_a_question_is_told_when_it_is_asked_and_not_when_it_is_answered() -> None:
    asked = event("task.parked", "load.1", signal="go", approval="Shall it go?")
    progress = after(SCHEDULED, asked)
    [step] = progress.changed
    assert step_line(step, 2000, PLAIN) == "waiting  load  for the signal go: Shall it go?"
    assert not after(SCHEDULED, event("task.parked", "load.1", **{"for": "retry"})).changed
    assert not after(SCHEDULED, asked, event("task.resumed", "load.1")).changed
    failed = after(SCHEDULED, asked, event("step.failed", "load.1"))
    assert [step.state for step in failed.changed] == ["failed"]


def test_a_step_that_a_cancel_cut_off_is_cancelled_and_did_not_fail() -> None:
    cut_off = event("step.failed", "load.1", output={"status": "error", "error": {"kind": "cancelled"}})
    progress = after(SCHEDULED, cut_off)
    [step] = progress.changed
    assert step_line(step, 2000, PLAIN).startswith("cancelled  load")
