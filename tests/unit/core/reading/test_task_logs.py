"""What tasks printed keeps the place it was printed at."""

import pytest

from noetl.core.event import Event, envelope
from noetl.core.reading.task_logs import address_of, lines_of

ID = "a" * 32


def done(at: str | None, label: str, visit: int | None = 1) -> Event:
    return Event("task.done", 0, "w", "load.2", at, label, visit, 1, {"logs": ["one", "two"]})


@pytest.mark.parametrize("visit", [1, 3, None])
@pytest.mark.parametrize(
    ("at", "label"),
    [
        (None, "fetch"),
        ("[2]", "fetch"),
        ("[2][0]", "fetch"),
        ("[2]/call", "call/fetch"),
        ("[2]/call[0]", "call/fetch"),
    ],
)
def test_the_address_of_a_task_is_read_back_from_its_envelope(
    at: str | None, label: str, visit: int | None
) -> None:
    assert address_of(envelope(ID, 7, done(at, label, visit))) == at


def test_each_line_has_its_step_task_iteration_and_attempt() -> None:
    lines = list(lines_of(envelope(ID, 7, done("[2]", "fetch"))))
    assert [line["text"] for line in lines] == ["one", "two"]
    place = {"seq": 7, "step": "load", "task": "fetch", "iteration": "[2]", "attempt": 1}
    assert lines[0].items() >= place.items()


def test_a_task_that_failed_tells_its_error_below_what_it_printed() -> None:
    error = {"kind": "python", "message": "KeyError: 'a'", "details": {"traceback": "Traceback:\n  line 3\n"}}
    data = {"logs": ["one"], "output": {"status": "error", "error": error}}
    lines = list(lines_of(envelope(ID, 7, Event("task.done", 0, "w", "load.2", None, "fetch", 1, 1, data))))
    assert [(line["level"], line["text"]) for line in lines] == [
        (None, "one"),
        ("error", "python: KeyError: 'a'"),
        ("error", "Traceback:"),
        ("error", "  line 3"),
    ]


def test_an_event_without_lines_has_none() -> None:
    assert list(lines_of(envelope(ID, 1, Event("step.started", 0, run="load.2")))) == []
