"""How a run ended, in lines: whether it is over, what failed on the way, what can be done next."""

from typing import Any

import pytest

from noetl.cli.running.progress import Progress
from noetl.cli.running.run_summary import error_lines, flawed_lines, next_lines, tally, tally_lines
from noetl.cli.terminal import Paint
from noetl.core.event import Event

COUNTS = {"steps": 1, "tasks": 0, "iterations": 0, "events": 6}


@pytest.mark.parametrize(
    "status, said",
    [("completed", "completed in 1.0 s"), ("failed", "failed in 1.0 s"), ("running", "running after 1.0 s")],
)
def test_what_goes_on_took_no_time_yet(status: str, said: str) -> None:
    result: Any = {"status": status, "duration_ms": 1000, "counts": COUNTS, "failures": []}
    assert tally_lines(result, Paint(False)) == [f"{said}: 1 step, 0 tasks, 6 events"]


@pytest.mark.parametrize(
    ("status", "more"),
    [("failed", ["  = from these on: noetl execution retry e1 --step load"]), ("completed", [])],
)
def test_iterations_that_failed_are_told_with_the_first_error_and_how_to_run_them_again(
    status: str, more: list[str]
) -> None:
    first, second = (
        Event(
            "loop.iteration.failed",
            1,
            "s",
            "load.1",
            f"[{n}]",
            None,
            None,
            None,
            {"error": {"kind": "http", "message": f"no {n}", "details": {"body": "who\n are you?"}}},
        )
        for n in (1, 0)
    )
    progress = Progress()
    began = Event("step.scheduled", 1, "s", "load.1", data={"step": "load", "tokens": ["t"], "total": 4})
    progress.receive(1, [began, first, second, Event("loop.done", 2, "s", "load.1")])
    result: Any = {"execution_id": "e1", "status": status}
    said = "  failed  load, 2 of 4 iterations, the first: http: no 1: who are you?"
    assert flawed_lines(progress.flawed(), result, Paint(False)) == [said, *more]


def test_a_failed_step_is_offered_the_way_on_with_a_corrected_playbook() -> None:
    error: Any = {"kind": "python", "message": "KeyError: 'a'", "step": "load"}
    assert error_lines(error, "e1", Paint(False))[-3:] == [
        "  = try: noetl execution why e1 --step load",
        "         noetl execution retry e1",
        "         noetl execution rerun e1 --from load --playbook FILE  # the playbook, corrected",
    ]
    cancelled = error_lines({**error, "kind": "cancelled"}, "e1", Paint(False))
    assert cancelled[-1] == "         noetl execution retry e1"


@pytest.mark.parametrize(
    ("status", "step", "commands"),
    [
        ("failed", "load", ["retry e1", "rerun e1 --from load --playbook FILE  # the playbook, corrected"]),
        ("failed", None, ["retry e1"]),
        ("running", None, ["logs --follow e1", "cancel e1"]),
        ("completed", None, []),
    ],
)
def test_what_can_be_done_next_is_said_of_what_failed_and_what_runs(
    status: str, step: str | None, commands: list[str]
) -> None:
    error = {"kind": "http", "message": "no", "step": step} if status == "failed" else None
    result: Any = {"execution_id": "e1", "status": status, "error": error, "counts": {"failed_iterations": 0}}
    heads = ["  = try: ", *["         "] * len(commands)]
    said = [f"{head}noetl execution {command}" for head, command in zip(heads, commands, strict=False)]
    assert next_lines(result) == said


def test_an_execution_that_failed_after_iterations_had_is_gone_on_with_from_those_too() -> None:
    error = {"kind": "python", "message": "nothing came", "step": "report"}
    result: Any = {
        "execution_id": "e1",
        "status": "failed",
        "error": error,
        "counts": {"failed_iterations": 3},
    }
    known = next_lines(result, flawed=["load"])
    assert known[0] == "  = try: noetl execution retry e1 --step load  # its failed iterations too"
    assert next_lines(result)[0] == "  = try: noetl execution why e1  # which iterations failed, and why"


def test_failed_iterations_that_an_execution_kept_are_in_its_tally() -> None:
    kept = {**COUNTS, "iterations": 0, "failed_iterations": 3}
    assert tally(kept) == "1 step, 0 tasks, 3 failed iterations kept, 6 events"
