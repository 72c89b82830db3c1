"""Workers that beat, a bus that goes away, a server that stands still: only true silence costs a lease.

The product's own Leasing by a clock of the test, through chances that a seed gives.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from noetl.control.leases import WorkerLeases
from noetl.control.worker_silence import SilenceClock
from noetl.core.message import WorkOrder
from noetl.ports.link import Heartbeat, Hello, Push, beat_s

LEASE_S = 4.0
STEP_S = 0.25
STEPS = 400
SEEDS = 40
SLACK_S = 2 * STEP_S + beat_s(LEASE_S)  # the last beat came before the death


class Trial:
    """One server, one worker that holds one lease, and what disturbs them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now, self.away_until, self.dead_at = 0.0, 0.0, float("inf")
        self.leasing = WorkerLeases(
            self, LEASE_S, later=lambda work: None, wall=lambda: 0, clock=lambda: self.now
        )
        self.deaf = 0.0  # when the server was last unable to hear
        self._beats = 0
        self._next_beat = 0.0

    def quiet_s(self) -> float:
        return float("inf") if self.now < self.away_until else 0.0

    def hint(self, pool: str) -> None: ...
    def alive(self) -> None: ...
    def push(self, worker_id: str, push: Push) -> None: ...
    def hand(self, worker_id: str, orders: list[WorkOrder], unheard: Callable[[], None]) -> bool:
        return False

    def _speak(self) -> None:
        """The worker beats, unless it is dead; who is away hears nothing."""
        if self.now >= self._next_beat and self.now < self.dead_at:
            self._next_beat = self.now + beat_s(LEASE_S)
            self._beats += 1
            if self.now >= self.away_until:
                hello = Hello("w", "default", 1, ["noop"], b"", 0)
                self.leasing.beat(Heartbeat(hello, self._beats, [("e", "l", 1)]))

    def _disturb(self) -> None:
        chance = self.rng.random()
        if chance < 0.01 and self.now >= self.away_until:
            self.away_until = self.now + self.rng.choice((1.0, LEASE_S, 5 * LEASE_S))
        elif chance < 0.02:
            self.now += self.rng.choice((LEASE_S, 10 * LEASE_S))
            self.deaf = self.now
        elif chance < 0.021:
            self.dead_at = min(self.dead_at, self.now)
        if self.now < self.away_until:
            self.deaf = self.now

    def run(self) -> str | None:
        """What went wrong, if anything did."""
        self._speak()
        self.leasing.offer(WorkOrder("e", "l", 1, "s.1", "s", "digest"))
        self.leasing.take("w", 1)
        for _ in range(STEPS):
            self._speak()
            silent, lost = self.leasing.overdue()
            expired = bool(silent or lost)
            heard_for = self.now - max(self.deaf, min(self.dead_at, self.now))
            if expired and heard_for < LEASE_S - SLACK_S:
                return f"a lease was taken after {heard_for} s of silence that could be heard"
            if not expired and heard_for > LEASE_S + SLACK_S:
                return f"a dead worker kept its lease for {heard_for} s"
            if expired:
                return None
            self.now += STEP_S
            self._disturb()
        return None


def first_problem() -> str | None:
    return next((found for seed in range(SEEDS) if (found := Trial(seed).run())), None)


def test_only_silence_that_could_have_been_broken_costs_a_lease() -> None:
    assert first_problem() is None


def silence_counts_while_disconnected(patch: pytest.MonkeyPatch) -> None:
    """Whether the bus was there is not asked."""
    right = SilenceClock.since
    patch.setattr(SilenceClock, "since", lambda self, now, quiet: right(self, now, 0.0))


def silence_counts_while_standing_still(patch: pytest.MonkeyPatch) -> None:
    """Time in which nobody looked counts as silence."""

    def wrong(self: Any, now: float, quiet: float) -> float:
        if quiet > self._patience:
            self._since = now
        return float(self._since)

    patch.setattr(SilenceClock, "since", wrong)


def nobody_ever_falls_silent(patch: pytest.MonkeyPatch) -> None:
    """Every look begins the count again."""
    patch.setattr(SilenceClock, "since", lambda self, now, quiet: now)


@pytest.mark.parametrize(
    "plant",
    [silence_counts_while_disconnected, silence_counts_while_standing_still, nobody_ever_falls_silent],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert first_problem() is not None, f"{plant.__doc__} was not noticed in {SEEDS} seeds"
