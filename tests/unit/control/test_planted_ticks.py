"""Bugs put into what starts ticks on purpose, each of which a test of theirs notices."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from noetl.adapters.memory.store import MemoryStore
from noetl.control import tick_runner
from noetl.control.tick_runner import TickRunner
from tests.unit.control import test_backfills, test_schedules
from tests.unit.control.test_backfills import Past

Plant = Callable[[pytest.MonkeyPatch], None]


def every_start_has_a_key_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """A tick that was started before a crash starts again."""
    patch.setattr(tick_runner, "key_of", lambda *_: secrets.token_hex(8))


def a_tick_is_not_kept_with_its_schedule(patch: pytest.MonkeyPatch) -> None:
    """The schedule goes on, and a crash loses what was to be started."""
    patch.setattr(MemoryStore, "add_ticks", lambda *_: None)


def a_backfill_has_keys_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """A tick that its schedule has run is run again."""
    right = tick_runner.key_of
    patch.setattr(tick_runner, "key_of", lambda owner, tick: right(owner, tick) + type(owner).__name__)


def ends_are_noted_after_the_decision(patch: pytest.MonkeyPatch) -> None:
    """A tick is skipped for one that is over."""

    async def nothing(self: Any) -> None: ...

    patch.setattr(TickRunner, "note_ended", nothing)


@pytest.mark.parametrize(
    ("plant", "test"),
    [
        (
            every_start_has_a_key_of_its_own,
            test_schedules.test_a_crash_between_start_and_going_on_fires_a_tick_once,
        ),
        (
            a_tick_is_not_kept_with_its_schedule,
            test_schedules.test_a_tick_starts_one_execution_with_what_the_schedule_says,
        ),
        (
            a_backfill_has_keys_of_its_own,
            test_backfills.test_a_tick_that_the_schedule_has_run_is_not_run_again,
        ),
        (
            ends_are_noted_after_the_decision,
            test_schedules.test_a_tick_is_skipped_while_an_earlier_one_runs_and_says_so,
        ),
    ],
)
async def test_a_planted_bug_is_noticed(
    plant: Plant, test: Callable[[Any], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await test(Past() if test.__module__.endswith("backfills") else test_schedules.World())
    plant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        await test(Past() if test.__module__.endswith("backfills") else test_schedules.World())
