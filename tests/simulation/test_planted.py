"""Bugs put into the engine on purpose: the simulation finds each of them within a few seeds."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from noetl.adapters.memory.store import MemoryStore
from noetl.control.engine import Engine
from noetl.core import fold, loop_iterations
from noetl.core.deciding import execution_end, join, operator_commands, report
from noetl.core.deciding.report_check import ReportCheck
from noetl.core.event_data import LeaseMoved
from noetl.core.pipeline.frame import Frame
from noetl.core.state import LoopState
from noetl.errors import BackendError
from noetl.worker.reporter import Reporter
from tests.planted import is_stale
from tests.simulation import history
from tests.simulation.history import VARIANTS, forget, play

SEEDS = 400
Plant = Callable[[pytest.MonkeyPatch], None]


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """Reports of a lease that was taken over are accepted."""
    right = report.report

    def wrong(draft: Any, message: Any) -> Any:
        lease = draft.state.leases.get(message.lease)
        if lease is not None and lease.out:
            message.epoch = lease.epoch
        return right(draft, message)

    patch.setattr(report, "report", wrong)


def orders_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """What a decision asks for is done before the decision is in the log."""
    right = Engine._commit

    async def wrong(self: Any, live: Any, before: int, rows: Any, decisions: Any, *more: Any) -> None:
        for decision in decisions:
            for command in decision.commands:
                self._dispatch.carry_out(live, command)
            decision.commands = []
        await right(self, live, before, rows, decisions, *more)

    patch.setattr(Engine, "_commit", wrong)


def answers_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """A failed commit is taken for a good one."""
    right = Engine._commit

    async def wrong(self: Any, live: Any, before: int, rows: Any, decisions: Any, *more: Any) -> None:
        try:
            await right(self, live, before, rows, decisions, *more)
        except BackendError:
            return

    patch.setattr(Engine, "_commit", wrong)


def repeats_are_decided_again(patch: pytest.MonkeyPatch) -> None:
    """Nobody remembers which batches were accepted."""
    right = Engine._decide

    async def wrong(self: Any, live: Any, message: Any, now: int) -> Any:
        live.batches = {}
        return await right(self, live, message, now)

    async def never(self: Any, execution_id: str, batch: str) -> bool:
        return False

    patch.setattr(Engine, "_decide", wrong)
    patch.setattr(MemoryStore, "answered", never)
    check = MemoryStore._check

    def unchecked(self: Any, append: Any, known: Any) -> None:
        rows = [_without_batch(row) for row in append.rows]
        check(self, msgspec.structs.replace(append, rows=rows), known)

    patch.setattr(MemoryStore, "_check", unchecked)


def _without_batch(row: Any) -> Any:
    return type(row)(row.first, row.last, row.ts, row.cause, row.body, row.hash)


def iterations_count_twice(patch: pytest.MonkeyPatch) -> None:
    """The first iteration of a loop is counted again."""
    right = loop_iterations.note_done

    def wrong(state: Any, index: int, data: Any) -> None:
        right(state, index, data)
        state.done += index == 0

    patch.setattr(loop_iterations, "note_done", wrong)


def loops_end_one_too_early(patch: pytest.MonkeyPatch) -> None:
    """A loop is through when one iteration is left."""
    patch.setattr(LoopState, "over", property(lambda loop: loop.done + loop.failed >= loop.total - 1))


def joins_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    """A join goes on with whatever is there."""

    def wrong(draft: Any, step: str, *others: Any) -> Any:
        return join.JoinDecision(step, go=tuple(token.id for token in join.waiting_tokens(draft.state, step)))

    patch.setattr(join, "_sync", wrong)


def checkpoints_are_left_out(patch: pytest.MonkeyPatch) -> None:
    """Reports do not say how far pipelines are."""
    right = Reporter._send

    async def wrong(self: Any, frames: Any, **how: Any) -> None:
        await right(self, () if not how.get("returned") else frames, **how)

    patch.setattr(Reporter, "_send", wrong)


def checkpoints_are_shared(patch: pytest.MonkeyPatch) -> None:
    """The server's checkpoint is the worker's own list, which goes on changing."""
    right = Frame.checkpoint

    def wrong(self: Any) -> Any:
        kept = right(self)
        self.writes = kept.get("writes", self.writes)
        return kept

    patch.setattr(Frame, "checkpoint", wrong)


def takeovers_keep_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A lease goes out again under the epoch it had."""
    right = fold._lease_expired

    def wrong(state: Any, event: Any, data: LeaseMoved) -> None:
        right(state, event, {**data, "epoch": state.leases[data["lease"]].epoch})

    patch.setitem(fold.TRANSITIONS, "lease.expired", wrong)


def timers_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever due."""
    for module in ("ownership", "log_rows"):
        patch.setattr(f"noetl.control.{module}.next_due", lambda state: None)


def expiry_is_ignored(patch: pytest.MonkeyPatch) -> None:
    """Silent leases stay with whoever had them."""
    patch.setattr(operator_commands, "_expire_one", lambda draft, lease, why: None)


def runs_read_the_ctx_of_now(patch: pytest.MonkeyPatch) -> None:
    """An order that goes out again carries what others have written since."""
    patch.setattr("noetl.core.deciding.work_order.seen", lambda current, then: current)


def small_loops_are_one_chunk(patch: pytest.MonkeyPatch) -> None:
    """A distributed loop that fits into a chunk goes to one worker, with a part of what may run at once."""
    patch.setattr("noetl.core.deciding.loop_chunks._size", lambda loop, left, share: 100)


def shares_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Each chunk may run as many iterations at once as the whole loop may."""
    patch.setattr("noetl.core.deciding.loop_chunks._lanes", lambda loop, left, out: 1)


def beats_see_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Whoever looks at an execution sees it as it was decided, not as it was committed."""
    patch.setattr(Engine, "when_committed", lambda self, live, work: work())


def failures_go_green(patch: pytest.MonkeyPatch) -> None:
    """An execution completes although nothing asked about a failure."""
    right = execution_end._finish

    def wrong(draft: Any, status: str, error: Any) -> None:
        forgiven = draft.state.unanswered is not None and not draft.state.failing
        right(draft, "completed" if forgiven else status, None if forgiven else error)

    patch.setattr(execution_end, "_finish", wrong)


def indexes_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """Any iteration may be reported under any lease, as often as one likes."""
    patch.setattr(ReportCheck, "_place", lambda check, address: None)


PLANTS: tuple[Plant, ...] = (
    no_fence,
    orders_before_the_commit,
    answers_before_the_commit,
    repeats_are_decided_again,
    iterations_count_twice,
    loops_end_one_too_early,
    joins_do_not_wait,
    checkpoints_are_left_out,
    checkpoints_are_shared,
    takeovers_keep_the_epoch,
    timers_are_forgotten,
    expiry_is_ignored,
    runs_read_the_ctx_of_now,
    small_loops_are_one_chunk,
    shares_are_forgotten,
    indexes_are_not_checked,
    beats_see_what_is_not_committed,
    failures_go_green,
)


def first_seed() -> int | None:
    """The first seed in which a rule is broken; what other seeds were like without the bug is forgotten."""
    forget()
    try:
        for seed in range(SEEDS):
            if violations := play(seed).violations:
                assert not is_stale(violations), violations
                return seed
        return None
    finally:
        forget()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(history, "PATIENCE_S", 120.0)
    assert first_seed() is not None, f"{plant.__doc__} was not noticed in {SEEDS} seeds"


def test_variants_share_a_playbook() -> None:
    assert play(VARIANTS).sample is play(VARIANTS + 1).sample
