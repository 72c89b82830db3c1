"""Every order in which things can happen to a tiny execution: no sampling, and each log is judged.

The core alone: a position is a state, who holds which work and what may still happen. From each position every
message that could come is decided on: what any worker reports, in time or long after its lease went to another,
silence, another server taking over, cancel, pause, resume, a signal. Positions that were reached before are not
gone into again; the log that led there is judged all the same.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import msgspec

from noetl.core.decide import decide
from noetl.core.deciding.work_order import build_order
from noetl.core.event import Event
from noetl.core.invariants import Checker
from noetl.core.message import Command, Control, Dispatch, Expire, Message, Recall, Report, Start, WorkOrder
from noetl.core.program.program import Program
from noetl.core.state import State, restore, snapshot_of

NOW = 1_700_000_000_000
ID = "e1"
SIGNAL = "go"
_DECODER = msgspec.json.Decoder(Report)
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Budget:
    """How often each of these may still happen."""

    silences: int = 1
    takeovers: int = 1
    cancels: int = 1
    pauses: int = 1
    signals: int = 1


@dataclass(frozen=True, slots=True)
class Holder:
    """A worker that was given work; it may be slow, and not know that others have it by now."""

    lease: str
    epoch: int
    reports: tuple[bytes, ...]  # that it will still send, as JSON
    asked_back: bool = False

    @property
    def worker(self) -> str:
        """Work that goes out again goes to another one."""
        return f"w{self.epoch}"


@dataclass(frozen=True, slots=True)
class Position:
    """Where an execution is."""

    state: bytes
    holders: frozenset[Holder]
    budget: Budget


@dataclass(slots=True)
class Tally:
    """What was gone through."""

    positions: int = 0
    decisions: int = 0
    endings: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Search:
    """All positions of one program."""

    def __init__(self, program: Program, budget: Budget) -> None:
        self.program, self.budget = program, budget
        self.tally = Tally()
        self._known: set[Position] = set()

    def run(self) -> Tally:
        """Go through everything; nothing is left out."""
        state = State(ID)
        begun = decide(state, Start("tests/case", "hash", "test"), NOW, self.program)
        position = Position(snapshot_of(state), self._given(frozenset(), state, begun.commands), self.budget)
        path: tuple[str, ...] = ("start",)
        waiting = [(position, self._judged(Checker(ID), begun.events, state, path), path)]
        self._known.add(position)
        while waiting:
            position, checker, path = waiting.pop()
            self.tally.positions += 1
            certain = list(self._certain(position))
            if not certain:
                self._end(position, path)
            for name, message, following in [*certain, *self._possible(position)]:
                way = (*path, name)
                reached, judged = self._decide(position, following, message, checker, way)
                if reached not in self._known:
                    self._known.add(reached)
                    waiting.append((reached, judged, way))
        return self.tally

    # What can happen

    def _certain(self, position: Position) -> Iterator[tuple[str, Message, Position]]:
        """What comes sooner or later if nothing else does."""
        yield from self._reports(position)
        if restore(position.state).status == "paused":
            yield "resume", Control("resume"), position

    def _possible(self, position: Position) -> Iterator[tuple[str, Message, Position]]:
        """What may come or not."""
        state, budget = restore(position.state), position.budget
        if state.ended:
            return
        out = {lease.id: lease.epoch for lease in state.leases.values() if lease.out}
        if budget.silences:
            spent = replace(position, budget=replace(budget, silences=budget.silences - 1))
            for lease, epoch in out.items():
                yield f"{lease} is silent", Expire({lease: epoch}), spent
        if budget.takeovers:
            spent = replace(position, budget=replace(budget, takeovers=budget.takeovers - 1))
            yield "taken over", Control("recover"), spent
        if budget.cancels:
            spent = replace(position, budget=replace(budget, cancels=budget.cancels - 1))
            yield "cancel", Control("cancel"), spent
        if budget.pauses and state.status != "paused":
            spent = replace(position, budget=replace(budget, pauses=budget.pauses - 1))
            yield "pause", Control("pause"), spent
        if budget.signals and _takes_signals(self.program):
            spent = replace(position, budget=replace(budget, signals=budget.signals - 1))
            yield "signal", Control("signal", name=SIGNAL, payload=7), spent

    def _reports(self, position: Position) -> Iterator[tuple[str, Message, Position]]:
        for holder in position.holders:
            rest = position.holders - {holder}
            if holder.reports:
                report, more = _DECODER.decode(holder.reports[0]), holder.reports[1:]
                left = rest | ({replace(holder, reports=more)} if more else frozenset())
                what = f"{holder.worker} reports {report.events[-1].name} of {holder.lease}"
                yield what, report, replace(position, holders=frozenset(left))
            if holder.asked_back:
                back = Report(
                    holder.lease, holder.epoch, holder.worker, f"{holder.worker} back", returned=True
                )
                yield f"{holder.worker} gives {holder.lease} back", back, replace(position, holders=rest)

    # What comes of it

    def _decide(
        self,
        position: Position,
        following: Position,
        message: Message,
        checker: Checker,
        path: tuple[str, ...],
    ) -> tuple[Position, Checker]:
        state = restore(position.state)
        late = isinstance(message, Report) and _is_late(state, message)
        decision = decide(state, message, NOW, self.program)
        self.tally.decisions += 1
        if late and decision.events:
            self.tally.problems.append(f"{' > '.join(path)}: a report without a lease changed something")
        judged = self._judged(_copy(checker, position.state), decision.events, state, path)
        holders = self._given(following.holders, state, decision.commands)
        return replace(following, state=snapshot_of(state), holders=holders), judged

    def _given(self, holders: frozenset[Holder], state: State, commands: list[Command]) -> frozenset[Holder]:
        """Who has work after a decision."""
        kept = set(holders)
        for command in commands:
            if isinstance(command, Dispatch):
                lease = state.leases[command.lease]
                order = build_order(state, self.program, lease, {})
                kept.add(Holder(lease.id, lease.epoch, tuple(map(_encode, _work(self.program, order)))))
            elif isinstance(command, Recall) and command.give_back:
                asked = [one for one in kept if (one.lease, one.epoch) == (command.lease, command.epoch)]
                kept = kept.difference(asked) | {replace(one, asked_back=True) for one in asked}
        return frozenset(kept)

    def _judged(self, checker: Checker, events: list[Event], state: State, path: tuple[str, ...]) -> Checker:
        """Read what was decided into the checker of the log that led there."""
        for event in events:
            checker.read(event)
        wrong = [violation.message for violation in checker.end()]
        if snapshot_of(checker.state) != snapshot_of(state):
            wrong.append("the log does not lead to the state that was decided")
        for message in wrong:
            self.tally.problems.append(f"{' > '.join(path)}: {message}")
        checker.found.clear()
        return checker

    def _end(self, position: Position, path: tuple[str, ...]) -> None:
        """Nothing more must happen: it is over, or waits for somebody."""
        state = restore(position.state)
        parked = [entry for run in state.runs.values() for entry in run.parked.values()]
        ending = "waits" if any(entry.output is None for entry in parked) else state.status
        self.tally.endings[ending] = self.tally.endings.get(ending, 0) + 1
        if not state.ended and ending != "waits":
            self.tally.problems.append(f"{' > '.join(path)}: nothing goes on, and it is {state.status}")


def _copy(checker: Checker, state: bytes) -> Checker:
    """A checker that has read the same log."""
    copy = Checker(ID)
    copy.state, copy.seq = restore(state), checker.seq
    copy.scheduled, copy.terminals = {*checker.scheduled}, Counter(checker.terminals)
    copy.iterations, copy.epochs = Counter(checker.iterations), {**checker.epochs}
    copy.running = {run: {*indexes} for run, indexes in checker.running.items()}
    copy.limits = {**checker.limits}
    copy.finished, copy.processed, copy.broken = checker.finished, checker.processed, checker.broken
    return copy


def _is_late(state: State, report: Report) -> bool:
    """Whether the work went to another worker meanwhile, or is over."""
    lease = state.leases.get(report.lease)
    return lease is None or lease.epoch != report.epoch or not lease.out


def _takes_signals(program: Program) -> bool:
    return any(task.kind == "wait" for step in program.steps.values() for task in step.pipeline.tasks)


def _work(program: Program, order: WorkOrder) -> Iterator[Report]:
    """What a worker reports of an order, report by report."""
    if order.loop is not None:
        yield from _iterations(order)
        return
    task = program.steps[order.step].pipeline.tasks[0]
    begun = [] if order.started else [_event("step.started", order, worker=f"w{order.epoch}")]
    if task.kind == "wait" and not order.answers:
        parked = _event("task.parked", order, label=task.label, signal=SIGNAL)
        started = [] if order.started else [_event("task.started", order, label=task.label)]
        yield _report(order, 1, [*begun, *started, parked], returned=True)
        return
    if not order.answers:
        yield _report(order, 1, [*begun, _event("task.started", order, label=task.label)])
    output = {"status": "ok", "data": 1}
    done = _event("task.done", order, label=task.label, output=output)
    yield _report(order, 2, [done, _event("step.done", order, output=output)], final=True)


def _iterations(order: WorkOrder) -> Iterator[Report]:
    assert order.loop is not None
    lo, hi = order.loop.lo, order.loop.hi
    left = [index for index in range(lo, hi) if str(index) not in order.loop.finished]
    for number, index in enumerate(left, 1):
        begun = _event("loop.iteration.started", order, f"[{index}]")
        done = _event("loop.iteration.done", order, f"[{index}]", output={"status": "ok", "data": index})
        yield _report(order, number, [begun, done], final=index == left[-1])


def _event(
    name: str, order: WorkOrder, at: str | None = None, label: str | None = None, **data: object
) -> Event:
    count = 1 if label else None
    return Event(name, NOW, "w", order.run, at, label, count, count, data or None)


def _report(
    order: WorkOrder, number: int, events: list[Event], *, returned: bool = False, final: bool = False
) -> Report:
    worker, batch = f"w{order.epoch}", f"{order.lease} {order.epoch} {number}"
    return Report(order.lease, order.epoch, worker, batch, events, returned=returned, final=final)
