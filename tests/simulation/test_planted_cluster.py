"""Bugs put into a cluster on purpose: the rules of simulated clusters find each of them within a few seeds.

`python -m tests.simulation.planted` tells how many seeds and seconds each one takes.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from noetl.control import garbage
from noetl.control.child_executions import ChildExecutions
from noetl.control.engine import Engine
from noetl.control.leases import WorkerLeases
from noetl.control.left_executions import LeftExecutions
from noetl.control.retention import Retention
from noetl.control.stuck_executions import StuckExecutions
from noetl.control.worker_api import EngineWorkerApi
from noetl.control.worker_silence import SilenceClock
from noetl.core.deciding import report, report_check
from noetl.core.deciding.report_check import ReportCheck
from noetl.ports import store
from noetl.ports.store import family_over
from tests.planted import is_stale
from tests.simulation import cluster_history, older_release
from tests.simulation.aftermath import large
from tests.simulation.cluster import OLDER, PLANNED
from tests.simulation.cluster_history import run
from tests.simulation.faults import Faults
from tests.simulation.history import playbook_of

pytestmark = pytest.mark.timeout(600)  # many seeds, on a machine that may be busy
SEEDS = 150
Plant = Callable[[pytest.MonkeyPatch], None]


def anyone_reports(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether the worker that reports was given the lease."""

    def its_own(self: Any, request: Any) -> None:
        return None

    patch.setattr(EngineWorkerApi, "_not_its_own", its_own)
    right = Engine.report

    async def unasked(self: Any, execution_id: str, sent: Any, *holds: Any) -> Any:
        return await right(self, execution_id, sent)

    patch.setattr(Engine, "report", unasked)
    patch.setattr(report, "report", _whoever(report.report))


def _whoever(right: Any) -> Any:
    def wrong(draft: Any, message: Any) -> Any:
        lease = draft.state.leases.get(message.lease)
        if lease is not None and lease.worker is not None:
            message = msgspec.structs.replace(message, worker=lease.worker)
        return right(draft, message)

    return wrong


def leases_are_taken_by_naming_them(patch: pytest.MonkeyPatch) -> None:
    """A beat that names a lease makes it the worker's."""
    right = WorkerLeases.beat

    def wrong(self: Any, beat: Any) -> None:
        for execution_id, lease, _ in beat.held:
            if (execution_id, lease) in self._held:
                self._held[execution_id, lease].worker_id = beat.hello.worker_id
        right(self, beat)

    patch.setattr(WorkerLeases, "beat", wrong)


def secrets_for_anyone(patch: pytest.MonkeyPatch) -> None:
    """A secret is given to whoever asks for it."""

    async def wrong(self: Any, ask: Any) -> bytes:
        return b"sealed"

    patch.setattr(EngineWorkerApi, "secret", wrong)


def tasks_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """Any task may be reported with any visit and attempt."""
    for name in ("task.started", "task.done"):
        patch.setitem(report_check._ASKED, name, lambda check, event, data: None)


def runs_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """What is said of another run counts as said of the lease's own."""
    right = ReportCheck.event

    def wrong(self: Any, event: Any) -> Any:
        event.run, event.by = self._id, "w"
        return right(self, event)

    patch.setattr(ReportCheck, "event", wrong)


def iterations_are_not_placed(patch: pytest.MonkeyPatch) -> None:
    """Iterations of other chunks may be reported, and those that are over."""
    patch.setattr(ReportCheck, "_place", lambda check, address: None)


def frames_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """Checkpoints of anything are kept."""
    patch.setattr(ReportCheck, "frame", lambda check, address, frame: None)


def rejections_say_nothing(patch: pytest.MonkeyPatch) -> None:
    """What is not folded is dropped in silence."""
    patch.setattr(report, "_reject", lambda *what: "")


def silence_counts_while_the_bus_is_away(patch: pytest.MonkeyPatch) -> None:
    """Whether anything could be heard is not asked."""
    right = SilenceClock.since
    patch.setattr(SilenceClock, "since", lambda self, now, quiet: right(self, now, 0.0))


def beats_renew_nothing(patch: pytest.MonkeyPatch) -> None:
    """Leases run out although their workers speak."""
    patch.setattr(WorkerLeases, "_renew", lambda self, lease: None)


def listeners_hear_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Listeners are told of events that may never be in the log."""
    right = Engine._commit

    async def wrong(self: Any, live: Any, before: int, rows: Any, decisions: Any, *more: Any) -> None:
        if rows:
            self._tell_listeners(live.state.execution_id, before + 1, decisions[0].events)
        await right(self, live, before, rows, decisions, *more)

    patch.setattr(Engine, "_commit", wrong)


def pages_see_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Whoever reads an execution reads it as it was decided."""

    async def wrong(self: Any, execution_id: str, view: Any) -> Any:
        execution = self._executions.get(execution_id)
        return None if execution is None else view(execution.state)

    patch.setattr(Engine, "read", wrong)


def beats_see_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Whoever waits is told answers that are not in the log."""
    patch.setattr(Engine, "when_committed", lambda self, live, work: work())


def commands_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Orders go out and children begin before the log has asked for them."""
    right = Engine._commit

    async def wrong(self: Any, live: Any, before: int, rows: Any, decisions: Any, *more: Any) -> None:
        for decision in decisions:
            for command in decision.commands:
                self._dispatch.carry_out(live, command)
            decision.commands = []
        await right(self, live, before, rows, decisions, *more)

    patch.setattr(Engine, "_commit", wrong)


def stuck_is_told_to_nobody(patch: pytest.MonkeyPatch) -> None:
    """The store never learns that an execution was given up."""

    async def wrong(self: Any) -> None:
        return None

    patch.setattr(StuckExecutions, "mark", wrong)


def stuck_without_a_cause(patch: pytest.MonkeyPatch) -> None:
    """A store that cannot be reached is taken for a log that cannot be read."""
    patch.setattr(Engine, "_break", lambda self, live, error, waiting: self.stop(live, "log", error, waiting))


def children_are_not_tended(patch: pytest.MonkeyPatch) -> None:
    """What parents and children did not hear is never said again."""
    patch.setattr(ChildExecutions, "tend", lambda self, execution: None)


def newer_rows_are_guessed(patch: pytest.MonkeyPatch) -> None:
    """A server of an older release goes on with what it cannot read."""
    patch.setattr(older_release, "is_older", lambda: False)


def newer_rows_are_stuck(patch: pytest.MonkeyPatch) -> None:
    """A server of an older release sets aside what it cannot read, for the others too."""
    right = LeftExecutions.note

    def wrong(self: Any, execution_id: str, error: Any) -> Any:
        self._host.stuck.put(execution_id, "log", error)
        return right(self, execution_id, error)

    patch.setattr(LeftExecutions, "note", wrong)


def retries_ask_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """A retry begins whether what it keeps is still there or not."""
    patch.setattr(store, "check_kept", lambda append, expired: None)


def payloads_go_without_being_given_up(patch: pytest.MonkeyPatch) -> None:
    """Whether a family is over is looked at, and a moment later its payloads are removed."""

    async def wrong(store: Any, footprint: Any, terms: Any) -> bool:
        return family_over(await store.family(footprint.execution_id), terms.payloads)

    patch.setattr(garbage, "_expired", wrong)


def payloads_go_before_their_executions(patch: pytest.MonkeyPatch) -> None:
    """Payloads are removed before it is committed that their executions are gone."""

    async def wrong(self: Any, now: int) -> int:
        moment = now - self._keep_ms
        for outline in await self._store.ended(moment):
            if family_over(await self._store.family(outline.execution_id), moment):
                await self._results.discard(outline.execution_id)
                await self._store.delete([outline.execution_id], moment)
        return 0

    patch.setattr(Retention, "look", wrong)


CRASHES = "server crash,crash around a commit"
AFTERMATH = "slow store,aftermath"  # what is run is what leaves payloads to be removed
PLANTS: dict[Plant, str] = {  # with what goes wrong while it is looked for
    anyone_reports: "lying worker",
    leases_are_taken_by_naming_them: "lying worker",
    secrets_for_anyone: "lying worker",
    tasks_are_not_checked: "lying worker",
    runs_are_not_checked: "lying worker",
    iterations_are_not_placed: "lying worker",
    frames_are_not_checked: "lying worker",
    rejections_say_nothing: "lying worker",
    silence_counts_while_the_bus_is_away: "bus away",
    beats_renew_nothing: "clock jump",
    listeners_hear_before_the_commit: "slow store",
    pages_see_what_is_not_committed: "slow store",
    beats_see_what_is_not_committed: "slow store,store fails",
    commands_before_the_commit: "slow store,store fails",
    stuck_is_told_to_nobody: "damaged log,server crash,server stop",
    stuck_without_a_cause: "store fails",
    children_are_not_tended: CRASHES,
    newer_rows_are_guessed: f"{OLDER},server crash",
    newer_rows_are_stuck: f"{OLDER},server crash",
    retries_ask_for_nothing: AFTERMATH,
    payloads_go_without_being_given_up: AFTERMATH,
    payloads_go_before_their_executions: AFTERMATH,
}


def first_seed(faults: str) -> int | None:
    """The first seed in which a rule is broken."""
    on = frozenset(faults.split(","))
    for seed in range(SEEDS):
        rng = Random(f"planted {seed}")
        made = Faults(rng, on, until=15.0)
        planned = [fault for fault in PLANNED if fault in on]
        made.strikes = sorted((made.moment(), fault) for fault in planned for _ in range(2))
        sample = large() if "aftermath" in on else playbook_of(seed)
        if violations := run(sample, made, f"{seed:032x}").violations:
            assert not is_stale(violations), violations
            return seed
    return None


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(cluster_history, "PATIENCE_S", 200.0)
    assert first_seed(PLANTS[plant]) is not None, f"{plant.__doc__} was not noticed in {SEEDS} seeds"


@pytest.mark.parametrize("faults", sorted(set(PLANTS.values())))
def test_without_a_bug_nothing_is_found(faults: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SEEDS", 10)
    assert first_seed(faults) is None
