"""How a run that has not ended is told: since when, where, what it waits for and how it is given that."""

from datetime import UTC, datetime
from typing import Any

import pytest

from noetl.cli.running.standing import WAITS_MAX, standing_lines

NOW = datetime(2026, 11, 18, 12, 0, 30, tzinfo=UTC)
RUN: Any = {
    "id": "fetch.1",
    "step": "fetch",
    "status": "running",
    "scheduled_at": "2026-11-18T12:00:00.000Z",
    "started_at": "2026-11-18T12:00:10.000Z",
    "workers": [],
    "waiting": [],
}
LOOP = {"total": 3000, "done": 1200, "failed": 2, "running": 4, "queued": 0}


def wait(**what: str) -> dict[str, Any]:
    return {"address": "", "task": "t", "for": what}


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({}, ["fetch.1  for 20.0 s"]),
        ({"started_at": None}, ["fetch.1  for 30.0 s"]),
        ({"workers": ["a-1", "b-2"]}, ["fetch.1  for 20.0 s, on a-1, b-2"]),
        ({"loop": LOOP}, ["fetch.1  for 20.0 s, 1,200 of 3,000 iterations done, 2 failed"]),
        (
            {"loop": {**LOOP, "total": None}},
            ["fetch.1  for 20.0 s, 1,200 of ? iterations done, 2 failed"],
        ),
        (
            {"waiting": [wait(signal="go")]},
            ["fetch.1  for 20.0 s", "waits for: the signal go  = noetl execution signal e1 go"],
        ),
        (
            {"waiting": [wait(signal="ask", approval="Shall\x1b it?", expires="2026-11-18T13:00:00Z")]},
            [
                "fetch.1  for 20.0 s",
                "waits for: Shall\\x1b it?  = noetl execution signal e1 ask --payload '{approved: true}'",
            ],
        ),
        (
            {"waiting": [wait(child="c1")]},
            ["fetch.1  for 20.0 s", "waits for a child  = noetl execution show c1"],
        ),
        (
            {"waiting": [wait(until="2026-11-18T13:00:00.000Z")]},
            ["fetch.1  for 20.0 s", "waits until 2026-11-18T13:00:00.000Z"],
        ),
        ({"waiting": [wait()]}, ["fetch.1  for 20.0 s", "waits to be taken up"]),
    ],
)
def test_a_run_says_since_when_where_and_what_it_waits_for(more: dict[str, Any], lines: list[str]) -> None:
    run: Any = {**RUN, **more}
    assert standing_lines(run, "e1", NOW) == lines


def test_of_many_waits_some_are_shown_and_the_others_counted() -> None:
    run: Any = {**RUN, "waiting": [wait(signal="go")] * (WAITS_MAX + 7)}
    lines = standing_lines(run, "e1", NOW)
    assert (len(lines), lines[-1]) == (WAITS_MAX + 2, "… and 7 more")


def test_a_server_of_an_older_release_that_names_no_workers_is_understood() -> None:
    older: Any = {key: value for key, value in RUN.items() if key != "workers"}
    assert standing_lines(older, "e1", NOW) == ["fetch.1  for 20.0 s"]
