"""Lies of a worker: what it reports, beats and asks for although it cannot be so.

Each is a message of its own, so that whatever it leads to but its refusal is seen. A liar knows every log.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from noetl.core.event import Event
from noetl.core.message import Report
from noetl.core.state import DONE, FAILED, Lease, Run, State
from noetl.ports.link import Heartbeat, ReportRequest, SecretRequest
from tests.simulation.cluster_rules import LIE

HUGE = 2**53 - 1


class Liar:
    """Makes lies of what the logs have."""

    def __init__(self, world: Any, node: Any, rng: Random) -> None:
        self.world, self.node, self.rng = world, node, rng
        self._number = 0

    def lie(self) -> tuple[str, Any] | None:
        """What is asked of a server, and with what; None when there is nothing to lie about yet."""
        states = {one: checker.state for one, checker in self.world.inspector.checkers.items()}
        if not states:
            return None
        held = [states[one] for one, _, _ in self.node.worker.held() if one in states]
        state = self.rng.choice(held or list(states.values()))
        lie = self.rng.choice(LIES)
        made = lie(self, state)
        if made is not None:
            self.world.faults.count(f"lie: {lie.__name__}")
        return made

    # Material

    def report(self, state: State, lease: str, epoch: int, *events: Event, **more: Any) -> tuple[str, Any]:
        """A report under a batch of its own."""
        self._number += 1
        batch = f"{LIE}{self.node.name}/{self._number}"
        worker = more.pop("worker", self.node.name)
        report = Report(lease, epoch, worker, batch, list(events), **more)
        return "report", ReportRequest(state.execution_id, report, self.node.name)

    def event(self, name: str, run: str, at: str | None = None, **more: Any) -> Event:
        return Event(name, self.world.loop.now_ms(), more.pop("by", "w"), run, at, **more)

    def own(self, state: State) -> Lease | None:
        """A lease that the liar has."""
        held = {lease for execution, lease, _ in self.node.worker.held() if execution == state.execution_id}
        mine = [lease for lease in state.leases.values() if lease.id in held and lease.out]
        return self.rng.choice(mine) if mine else None

    def others(self, state: State) -> Lease | None:
        """A lease that another worker has: one that it has begun, or any of a pool that is not the liar's."""
        foreign = self.node.hello.pool != "default"
        theirs = [
            lease for lease in state.leases.values() if foreign or lease.worker not in (None, self.node.name)
        ]
        return self.rng.choice(theirs) if theirs else None

    def end_of(self, state: State, lease: Lease) -> Event:
        """How a lease could end."""
        run, output = state.runs[lease.run], {"status": "ok", "data": "a lie"}
        if run.loop is not None:
            return self.event("loop.iteration.done", run.id, f"[{lease.lo or 0}]", data={"output": output})
        return self.event("step.done", run.id, data={"output": output})


def lease_of_another(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.others(state)
    if lease is None:
        return None
    return liar.report(state, lease.id, lease.epoch, liar.end_of(state, lease))


def in_the_name_of_another(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.others(state)
    if lease is None:
        return None
    worker = lease.worker or "someone"
    return liar.report(state, lease.id, lease.epoch, liar.end_of(state, lease), worker=worker)


def wrong_epoch(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state) or liar.others(state)
    if lease is None:
        return None
    epoch = liar.rng.choice((lease.epoch - 1, lease.epoch + 1000, -1, HUGE))
    return liar.report(state, lease.id, epoch, liar.end_of(state, lease))


def no_such_lease(liar: Liar, state: State) -> tuple[str, Any] | None:
    return liar.report(state, "nothing.1", 1, liar.event("step.done", "nothing.1"))


def index_out_of_range(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    index = liar.rng.choice(("[9999]", "[-1]", "[00]", "[1e3]", "[", "[]", f"[{10**30}]", "[0]x", "x" * 5000))
    name = liar.rng.choice(("loop.iteration.done", "loop.iteration.started", "loop.iteration.failed"))
    return liar.report(
        state, lease.id, lease.epoch, liar.event(name, lease.run, index, data={"error": {"kind": "lie"}})
    )


def iteration_of_another_chunk(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None or lease.hi is None:
        return None
    beside = liar.rng.choice((lease.hi, (lease.lo or 0) - 1))
    return liar.report(
        state, lease.id, lease.epoch, liar.event("loop.iteration.done", lease.run, f"[{beside}]")
    )


def iteration_that_is_over(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    run = state.runs.get(lease.run) if lease else None
    if lease is None or run is None or run.loop is None:
        return None
    over = [index for index in range(run.loop.total) if run.loop.marks[index] in (DONE, FAILED)]
    name = liar.rng.choice(("loop.iteration.done", "loop.iteration.started"))
    return (
        liar.report(state, lease.id, lease.epoch, liar.event(name, run.id, f"[{liar.rng.choice(over)}]"))
        if over
        else None
    )


def task_without_order(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    visit, attempt = liar.rng.choice(((0, 1), (1, 0), (-HUGE, 1), (1, -3), (None, 1), (1, None)))
    run = state.runs[lease.run]
    place = None if run.loop is None else f"[{lease.lo or 0}]"
    program = liar.world.programs_by_hash[state.hash]
    label = next(iter(program.steps[run.step].pipeline.labels), "t1")
    event = liar.event("task.done", run.id, place, label=label, visit=visit, attempt=attempt)
    return liar.report(state, lease.id, lease.epoch, event)


def task_that_is_not_there(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    label = liar.rng.choice(("no such task", "a/b/c", "", "t" * 10_000))
    event = liar.event(
        liar.rng.choice(("task.started", "task.done", "task.parked")),
        lease.run,
        label=label,
        visit=1,
        attempt=1,
        data={"until": HUGE},
    )
    return liar.report(state, lease.id, lease.epoch, event)


def run_of_another_step(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    runs: list[Run | None] = [run for run in state.runs.values() if lease is None or run.id != lease.run]
    other = liar.rng.choice(runs) if runs else None
    if lease is None or other is None:
        return None
    output = {"status": "ok", "data": "a lie"}
    return liar.report(
        state, lease.id, lease.epoch, liar.event("step.done", other.id, data={"output": output})
    )


def what_only_servers_say(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    name = liar.rng.choice(
        ("token.discarded", "execution.cancelled", "lease.closed", "no.such.event", "x" * 9999)
    )
    return liar.report(state, lease.id, lease.epoch, liar.event(name, lease.run, data={"token": "t1"}))


def as_if_a_server(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    event = liar.event("step.done", lease.run, by="s", data={"output": {"status": "ok"}})
    return liar.report(state, lease.id, lease.epoch, event)


def malformed(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    data: Any = liar.rng.choice(
        (
            {"output": "nonsense"},
            {"output": {"status": "maybe"}},
            {"output": {"status": "ok", "ref": {"a": 1}}},
            {},
        )
    )
    name = "step.done"
    if state.runs[lease.run].loop is not None:
        name, data = "loop.iteration.failed", {"error": "nonsense"}
    place = None if name == "step.done" else f"[{lease.lo or 0}]"
    return liar.report(state, lease.id, lease.epoch, liar.event(name, lease.run, place, data=data))


def frame_of_another(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    frames: Any = liar.rng.choice(
        ({"[9999]": {}}, {"": {"pc": "no such task"}}, {"": {"visits": "many"}}, {"": {"sent": [[["x"], 1]]}})
    )
    return liar.report(state, lease.id, lease.epoch, frames=frames)


def begun_by_another(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.own(state)
    if lease is None:
        return None
    data = {"worker": "someone", "epoch": lease.epoch}
    return liar.report(state, lease.id, lease.epoch, liar.event("step.started", lease.run, data=data))


def beat_for_others(liar: Liar, state: State) -> tuple[str, Any] | None:
    held = [(state.execution_id, lease.id, lease.epoch) for lease in state.leases.values()]
    return "beat", Heartbeat(liar.node.hello, liar.rng.choice((-1, 0)), held, -5)


def secret_of_another(liar: Liar, state: State) -> tuple[str, Any] | None:
    lease = liar.others(state)
    if lease is None:
        return None
    asked = SecretRequest(state.execution_id, lease.id, lease.epoch, liar.node.name, "any", b"key")
    return "secret", asked


LIES: tuple[Callable[[Liar, State], tuple[str, Any] | None], ...] = (
    lease_of_another,
    in_the_name_of_another,
    wrong_epoch,
    no_such_lease,
    index_out_of_range,
    iteration_of_another_chunk,
    iteration_that_is_over,
    task_without_order,
    task_that_is_not_there,
    run_of_another_step,
    what_only_servers_say,
    as_if_a_server,
    malformed,
    frame_of_another,
    begun_by_another,
    beat_for_others,
    secret_of_another,
)
