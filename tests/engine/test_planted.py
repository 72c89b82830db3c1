"""Bugs put into the engine on purpose, each of which a test of the engine notices."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noetl.control.engine import Engine
from noetl.control.ownership import Ownership
from noetl.core import fold
from noetl.errors import BackendError
from tests.engine import test_mailbox, test_pause, test_stuck
from tests.planted import caught

Plant = Callable[[pytest.MonkeyPatch], None]
Test = Callable[..., Awaitable[None]]


def letters_are_thrown_away(patch: pytest.MonkeyPatch) -> None:
    """What was left for an execution that is stuck is lost."""
    right = Engine.stop

    def wrong(self: Any, execution: Any, *what: Any) -> None:
        right(self, execution, *what)
        self.store._mail.clear()

    patch.setattr(Engine, "stop", wrong)


def pauses_count_against_waits(patch: pytest.MonkeyPatch) -> None:
    """What bounds a wait runs on while the execution is paused."""
    patch.setattr(fold, "_move_bounds", lambda run, by: None)


def poison_is_asked_for_again(patch: pytest.MonkeyPatch) -> None:
    """A worker is told to repeat the report that could not be decided on."""
    right = Engine.report

    async def wrong(self: Any, execution_id: str, report: Any, *holds: Any) -> Any:
        answer = await right(self, execution_id, report, *holds)
        if "stuck" in answer.why:
            raise BackendError(answer.why)
        return answer

    patch.setattr(Engine, "report", wrong)


def releases_go_on_from_memory(patch: pytest.MonkeyPatch) -> None:
    """What is released is not read again where it is in memory."""
    patch.setattr(Engine, "forget", lambda self, execution_id: None)


def reports_wait_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Whether a worker holds a lease is not asked while nobody does."""
    right = Engine.report

    async def wrong(self: Any, execution_id: str, report: Any, *holds: Any) -> Any:
        return await right(self, execution_id, report)

    patch.setattr(Engine, "report", wrong)


def stuck_is_not_respected(patch: pytest.MonkeyPatch) -> None:
    """Whoever loads an execution does not look whether it was set aside."""
    patch.setattr("noetl.control.ownership.stuck_of", lambda summary: None)


def the_first_failure_ends_the_mail(patch: pytest.MonkeyPatch) -> None:
    """Letters behind one whose execution cannot be read are not read."""

    async def wrong(self: Any) -> None:
        for letter in await self._host.store.mail(self._host.owner):
            self._hand_over(await self.load(letter.execution_id), letter)

    patch.setattr(Ownership, "collect_mail", wrong)


def the_unreadable_is_read_again(patch: pytest.MonkeyPatch) -> None:
    """What cannot be read is not set aside: every round reads it again."""

    def wrong(self: Any, execution_id: str, reason: str, error: Exception) -> Exception:
        return BackendError(str(error))

    patch.setattr(Ownership, "_given_up", wrong)


PLANTS: dict[Plant, Test] = {
    the_first_failure_ends_the_mail: test_stuck.test_one_unreadable_log_blocks_nobodys_mail_and_is_not_read_again_and_again,
    the_unreadable_is_read_again: test_stuck.test_one_unreadable_log_blocks_nobodys_mail_and_is_not_read_again_and_again,
    letters_are_thrown_away: test_stuck.test_letters_survive_a_bug_and_are_read_once_the_execution_is_released,
    pauses_count_against_waits: test_pause.test_an_approval_that_is_bounded_outlives_a_pause_that_is_longer,
    poison_is_asked_for_again: test_stuck.test_a_poison_report_is_refused_once_and_for_all,
    releases_go_on_from_memory: test_stuck.test_what_is_released_goes_on_from_its_log_alone,
    reports_wait_unchecked: test_mailbox.test_a_report_of_whoever_holds_no_lease_does_not_wait_until_the_lease_is_out_again,
    stuck_is_not_respected: test_stuck.test_no_server_takes_up_what_is_stuck,
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
async def test_a_planted_bug_is_found(plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    test = PLANTS[plant]
    more = (monkeypatch,) if test.__code__.co_argcount == 2 else ()
    await caught(plant.__name__, test(tmp_path, *more))
