"""The last line of a run says whether it is over."""

from typing import Any

import pytest

from noetl.cli.running.run_summary import tally_lines
from noetl.cli.terminal import Paint

COUNTS = {"steps": 1, "tasks": 0, "iterations": 0, "events": 6}


@pytest.mark.parametrize(
    "status, said",
    [("completed", "completed in 1.0 s"), ("failed", "failed in 1.0 s"), ("running", "running after 1.0 s")],
)
def test_what_goes_on_took_no_time_yet(status: str, said: str) -> None:
    result: Any = {"status": status, "duration_ms": 1000, "counts": COUNTS, "failures": []}
    assert tally_lines(result, Paint(False)) == [f"{said}: 1 step, 0 tasks, 6 events"]
