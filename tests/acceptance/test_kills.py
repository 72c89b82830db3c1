"""Runs that are killed at random moments end as if they had not been; `kills.py` does it by the hundred."""

from pathlib import Path

import pytest

from tests.acceptance.kills import kill


@pytest.mark.timeout(600)
def test_whatever_the_moment_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    made = kill(tmp_path, 7, 4, lambda _: None)
    assert (made.kills, made.executions > 1) == (4, True)
