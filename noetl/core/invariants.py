"""The checker: what must hold of any log, whatever failed while it was written.

One pass over the events of one execution. Deciding again is replay.py's; hashes and rows are the store's.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from noetl.core.deciding.loop_chunks import in_flight
from noetl.core.deciding.loop_claims import claim_key
from noetl.core.event import TERMINAL, Event
from noetl.core.event_data import Claimed, Finished, LeaseMoved, NoData, RunEnded, Scheduled, StepStarted
from noetl.core.fold import evolve, outer_index
from noetl.core.replay import UNFIT
from noetl.core.state import State, restore, snapshot_of
from noetl.core.values.output import size_of

Check = Callable[["Checker", int, Event, Any], None]  # the data is that of its event: event_data.py


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, and the event at which that shows."""

    invariant: int
    seq: int
    message: str


@dataclass(slots=True)
class Checker:
    """What is remembered while a log is read."""

    execution_id: str
    bound: int | None = None  # how many bytes the data of an event may take
    state: State = field(init=False)
    seq: int = 0
    found: list[Violation] = field(default_factory=list)
    scheduled: set[str] = field(default_factory=set)
    terminals: Counter[str] = field(default_factory=Counter)
    iterations: Counter[tuple[str, str]] = field(default_factory=Counter)
    running: dict[str, set[str]] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    finished: int = 0
    processed: int = 0
    broken: bool = False  # an event did not fit; the state is not followed any further

    def __post_init__(self) -> None:
        self.state = State(self.execution_id)

    def read(self, event: Event, *, bounded: bool = True) -> None:
        """Take the next event; `bounded`: no event is larger than the bound."""
        self.seq += 1
        if bounded and self.bound is not None and event.data and (size := size_of(event.data)) > self.bound:
            self._violate(14, f"{event.name} has {size} bytes, more than the {self.bound} of an event")
        if self.processed:
            self._violate(8, f"{event.name} stands after playbook.processed")
        if self.finished and event.name != "playbook.processed":
            self._violate(8, f"{event.name} stands after workflow.finished")
        if not self.broken:
            self._follow(event)

    def end(self) -> list[Violation]:
        """What must hold of a whole log."""
        if self.broken:
            return self.found
        if self.state.ended:
            for run in sorted(self.scheduled):
                if self.terminals[run] != 1:
                    self._violate(3, f"step run {run} has {self.terminals[run]} terminal events")
            if self.state.tokens or self.state.runs:
                self._violate(8, "the workflow ended with live tokens or runs")
            if self.state.started_at is not None and self.finished != 1:
                self._violate(8, f"workflow.finished stands {self.finished} times")
            if self.processed != 1:
                self._violate(8, f"playbook.processed stands {self.processed} times")
        if snapshot_of(restore(snapshot_of(self.state))) != snapshot_of(self.state):
            self._violate(6, "a snapshot of the state does not read back as the state")
        return self.found

    def _violate(self, invariant: int, message: str) -> None:
        self.found.append(Violation(invariant, self.seq, message))

    def _follow(self, event: Event) -> None:
        """Follow the state; behind an event that does not fit there is nothing to follow."""
        check = CHECKS.get(event.name)
        try:
            if check is not None:
                check(self, self.seq, event, event.data or {})
            evolve(self.state, event)
        except UNFIT as error:
            self.broken = True
            self._violate(6, f"{event.name} does not fit what came before it: {error}")
            return
        state = self.state
        if state.enqueued != state.consumed + state.refused + state.discarded + len(state.tokens):
            self._violate(8, "tokens are not conserved")

    def _scheduled(self, seq: int, event: Event, data: Scheduled) -> None:
        run = event.run or ""
        if run in self.scheduled:
            self._violate(3, f"step run {run} was scheduled twice")
        self.scheduled.add(run)
        self.limits[run] = data.get("max_in_flight", data.get("share", 1))

    def _terminal(self, seq: int, event: Event, data: RunEnded) -> None:
        run = event.run or ""
        self.terminals[run] += 1
        if self.terminals[run] > 1:
            self._violate(3, f"step run {run} ended twice")
        if run not in self.scheduled:
            self._violate(3, f"step run {run} ended without having been scheduled")
        loop = (data.get("output") or {}).get("loop")
        if loop and loop["done"] + loop["failed"] + loop["skipped"] != loop["total"]:
            self._violate(4, f"the counts of loop {run} do not add up: {loop}")

    def _iteration_started(self, seq: int, event: Event, data: NoData) -> None:
        run = event.run or ""
        if outer_index(event.at) is None:
            return
        self._is_claimed(event)
        running = self.running.setdefault(run, set())
        running.add(event.at or "")
        if len(running) > self.limits.get(run, 1):
            self._violate(
                4, f"{len(running)} iterations of {run} run at once; at most {self.limits[run]} may"
            )

    def _is_claimed(self, event: Event) -> None:
        """Of a loop that claims its items, only rows that are in the log are worked on."""
        live = self.state.runs.get(event.run or "")
        index = outer_index(event.at) or 0
        if live is not None and live.loop is not None and live.loop.claims and index >= live.loop.total:
            claimed = f"{live.loop.total} rows were claimed"
            self._violate(4, f"iteration {event.run}{event.at} started when {claimed}")

    def _claim(self, seq: int, event: Event, data: Claimed) -> None:
        """Batches come one by one, in order, each under the lease and the key of its number."""
        run, number = self.state.runs[event.run or ""], data["number"]
        claims = run.loop.claims if run.loop is not None else None
        if claims is None or number != claims.number + 1:
            before = claims.number if claims else "none"
            self._violate(4, f"claim {number} of {run.id} was answered when the last one was {before}")
        if data["key"] != claim_key(self.execution_id, run.id, number):
            self._violate(4, f"claim {number} of {run.id} was made with the key {data['key']}")
        leases = [lease for lease in self.state.leases.values() if lease.run == run.id]
        if not any(lease.claim == number for lease in leases):
            self._violate(5, f"claim {number} of {run.id} was answered, and no lease is out for it")

    def _iteration_ended(self, seq: int, event: Event, data: NoData) -> None:
        run, at = event.run or "", event.at or ""
        self.iterations[run, at] += 1
        if self.iterations[run, at] > 1:
            self._violate(4, f"iteration {run}{at} ended twice")
        self.running.get(run, set()).discard(at)

    def _lease(self, seq: int, event: Event, data: LeaseMoved) -> None:
        lease, epoch = data["lease"], data["epoch"]
        if epoch <= self.epochs.get(lease, 1):
            self._violate(5, f"the epoch of lease {lease} went from {self.epochs.get(lease, 1)} to {epoch}")
        self.epochs[lease] = epoch

    def _granted(self, seq: int, event: Event, data: LeaseMoved) -> None:
        """A new lease leaves the shares of a loop within its bound."""
        run = self.state.runs.get(event.run or "")
        if run is None or run.loop is None or data["lease"] in self.state.leases:
            return
        if "claim" in data:
            if any(lease.run == run.id and lease.claim for lease in self.state.leases.values()):
                self._violate(4, f"claim {data['claim']} of {run.id} went out while another one was out")
            return
        own = (lease for lease in self.state.leases.values() if lease.run == run.id)
        shares = data.get("share", 1) + sum(in_flight(run.loop, lease) for lease in own)
        if shares > self.limits.get(run.id, 1):
            message = (
                f"the shares of {run.id} are {shares}; at most {self.limits.get(run.id, 1)} may run at once"
            )
            self._violate(4, message)

    def _step_started(self, seq: int, event: Event, data: StepStarted) -> None:
        lease = str(data.get("lease", event.run))
        if data.get("epoch", 1) != self.epochs.get(lease, 1):
            self._violate(5, f"{event.run} started under a lease that is not current")

    def _task_started(self, seq: int, event: Event, data: NoData) -> None:
        if event.run not in self.scheduled or self.terminals[event.run or ""]:
            self._violate(9, f"a task of {event.run} started outside its step run")

    def _finished(self, seq: int, event: Event, data: Finished) -> None:
        self.finished += 1
        if self.finished > 1:
            self._violate(8, "the workflow finished twice")
        if self.state.tokens or self.state.runs:
            self._violate(8, "the workflow finished while tokens or runs were live")
        goes_on, unanswered = self.state.continued_as is not None, self.state.unanswered
        if goes_on and (data["status"] != "completed" or data.get("output") is not None):
            self._violate(8, "an execution that goes on as another ended otherwise than completed")
        if data["status"] == "completed" and unanswered is not None and not goes_on:
            message = f"step {unanswered['step']} failed and nothing asked about it"
            self._violate(8, f"the workflow completed although {message}")

    def _processed(self, seq: int, event: Event, data: NoData) -> None:
        self.processed += 1


CHECKS: dict[str, Check] = {
    "step.scheduled": Checker._scheduled,
    **dict.fromkeys(TERMINAL, Checker._terminal),
    "loop.claimed": Checker._claim,
    "loop.claim.failed": Checker._claim,
    "loop.iteration.started": Checker._iteration_started,
    "loop.iteration.done": Checker._iteration_ended,
    "loop.iteration.failed": Checker._iteration_ended,
    "lease.granted": Checker._granted,
    "lease.expired": Checker._lease,
    "lease.returned": Checker._lease,
    "step.started": Checker._step_started,
    "task.started": Checker._task_started,
    "workflow.finished": Checker._finished,
    "playbook.processed": Checker._processed,
}


def check_log(execution_id: str, events: Iterable[Event]) -> list[Violation]:
    """Every violation of an execution's log."""
    checker = Checker(execution_id)
    for event in events:
        checker.read(event)
    return checker.end()
