"""Looks at every commit, offer and answer, and at every log when it is over, and says what must not be."""

from collections import Counter
from typing import Any

import msgspec

from noetl.control.log_audit import audit
from noetl.control.log_rows import events_of
from noetl.core.deciding.loop_chunks import in_flight
from noetl.core.event import TERMINAL, Event, step_of
from noetl.core.fold import fold
from noetl.core.invariants import Checker
from noetl.core.message import Answer, Report, WorkOrder
from noetl.core.snapshot import opened
from noetl.core.state import PENDING, State, snapshot_of
from noetl.ports.store import Append
from tests.simulation.playbooks import SHARED
from tests.simulation.world import ENGINE, World

PROMPT_MS = 100  # within this time what a worker did is in the log, when nothing is slow
OWN_FAULT = "the tool broke"  # an internal error that a tool was told to raise


class Inspector:
    """What one world is judged by."""

    def __init__(self, world: World) -> None:
        self.world: Any = world
        self.checkers: dict[str, Checker] = {}
        self.logs: dict[str, list[Event]] = {}
        self.batches: set[tuple[str, str]] = set()
        self.results: dict[str, dict[str, Any]] = {}
        self.seen: Counter[str] = Counter()
        self.scheduled_with: dict[
            tuple[str, str | None], Any
        ] = {}  # what a run's ctx had when it was scheduled
        world.inspector = self

    def violate(self, execution_id: str, what: str) -> None:
        """Say which execution is wrong."""
        self.world.violate(f"{execution_id[-4:]}: {what}")

    # While it runs

    def committed(self, append: Append) -> None:
        """Every invariant holds after every event, and the state in memory is the fold of the log."""
        if append.successor is not None:
            self.committed(append.successor)
        execution_id = append.execution_id
        checker = self.checkers.setdefault(execution_id, Checker(execution_id))
        log = self.logs.setdefault(execution_id, [])
        for row in append.rows:
            if row.batch is not None:
                self.batches.add((execution_id, row.batch))
            for event in events_of(row):
                self._before(checker.state, event)
                if self.world.faults.calm and event.by == "w" and row.ts - event.ts > PROMPT_MS:
                    self.violate(
                        execution_id, f"{event.name} {event.run} was reported {row.ts - event.ts} ms late"
                    )
                checker.read(event)
                log.append(event)
        for violation in checker.found:
            self.violate(execution_id, f"event {violation.seq}: {violation.message}")
        self._spread(checker.state)
        live = self.world.server.live_state(execution_id) if self.world.server else None
        if live is not None and snapshot_of(live) != snapshot_of(checker.state):
            self.violate(execution_id, "the state in memory is not the fold of its log")

    def _spread(self, state: State) -> None:
        """A distributed loop has as many iterations handed out as may run, and not all to one lease.

        Where the author chose the chunks, items are claimed or over in no time, some take longer than others,
        and where a worker was lost, the last ones may have more iterations than their share.
        """
        for run in state.runs.values() if state.status == "running" else ():
            if run.loop is None or not run.loop.limit:
                continue
            own = [lease for lease in state.leases.values() if lease.run == run.id]
            wanted = min(run.loop.limit, run.loop.total - run.loop.done - run.loop.failed)
            used = sum(in_flight(run.loop, lease) for lease in own)
            whole = [lease for lease in own if lease.share == wanted > 1 and not run.loop.chunk]
            loop, calm = run.loop, self.world.faults.calm
            uneven = loop.chunk or loop.quick or loop.claims is not None or not calm
            uneven = uneven or self._lengths_differ(state.path, run.step)
            if uneven and run.loop.marks.find(PENDING, run.loop.next) < 0:
                continue
            if used != wanted or whole:
                told = f"{run.id} has {used} of {wanted} iterations out, in {len(own)} leases"
                self.violate(state.execution_id, told)

    def _lengths_differ(self, path: str, name: str) -> bool:
        """Whether how long an iteration of a step takes depends on which one it is."""
        steps = self.world.sample.trees[path]["workflow"]
        tasks = [task for step in steps if step["step"] == name for task in step["tool"]]
        return any("iter." in str(task.get("input", {}).get("slow")) for task in tasks)

    def _before(self, state: State, event: Event) -> None:
        """What must hold of the state that an event comes to."""
        self.seen[event.name] += 1
        if event.name == "step.scheduled":
            self._joined(state, (event.data or {})["step"])
            self.scheduled_with[state.execution_id, event.run] = state.ctx.get(SHARED, "none")
        elif event.name == "task.done":
            self._saw(state.execution_id, event)
        elif event.name == "task.resumed":
            parked = state.runs[event.run or ""].parked[event.at or ""]
            ended = (event.data or {})["output"]["status"] == "ok" and (parked.call or {}).get("wait")
            if ended and not self.checkers[parked.child or ""].state.ended:
                self.violate(state.execution_id, "went on although the child it waits for is not over")

    def _saw(self, execution_id: str, event: Event) -> None:
        """A run reads ctx as of its scheduling, however often it went out."""
        match ((event.data or {}).get("output") or {}).get("data"):
            case [name, value] if name == SHARED:
                self.seen[SHARED] += 1
                then = self.scheduled_with[execution_id, event.run]
                if value != then:
                    self.violate(execution_id, f"{event.run} read {value!r} and was scheduled with {then!r}")

    def _joined(self, state: State, name: str) -> None:
        """A synchronising join goes on when nothing that is under way can still come to it."""
        program = self.world.programs_by_hash[state.hash]
        if program.steps[name].join != "sync":
            return
        moving = [token.step for token in state.tokens.values() if not token.held]
        for other in {run.step for run in state.runs.values()} | set(moving):
            if other != name and program.graph.can_reach(other, name):
                self.violate(state.execution_id, f"{name} did not wait for {other}")

    def offered(self, order: WorkOrder) -> None:
        """A worker is only sent what the log has granted."""
        checker = self.checkers.get(order.execution_id)
        lease = checker.state.leases.get(order.lease) if checker else None
        if lease is None or not lease.out or lease.epoch != order.epoch:
            self.violate(order.execution_id, f"lease {order.lease} was sent out before it was granted")

    def delivered(self, execution_id: str, lease: str, address: str) -> None:
        """A worker is only told an answer that the log has."""
        state = self.checkers[execution_id].state
        known = state.leases.get(lease)
        parked = state.runs[known.run].parked.get(address) if known else None
        if known is not None and known.out and (parked is None or parked.output is None):
            self.violate(execution_id, f"{lease} {address} was told an answer that is not in the log")

    def answered(self, execution_id: str, report: Report, answer: Answer) -> None:
        """What was accepted is in the log."""
        if answer.accepted and report.events and (execution_id, report.batch_id) not in self.batches:
            self.violate(execution_id, f"{report.batch_id} was accepted and is not in the log")

    # When it is over

    @property
    def lost_workers(self) -> bool:
        """Whether a step was given up because its workers kept dying."""
        return any(b'"worker_lost"' in msgspec.json.encode(log) for log in self.logs.values())

    async def end(self) -> None:
        """Judge everything that is over."""
        for execution_id, log in self.logs.items():
            await self._audit(execution_id)
            self._loops(execution_id, log)
            self._results(execution_id, log)
            self._calls(execution_id, log)
            self._internal_errors(execution_id, log)

    async def _audit(self, execution_id: str) -> None:
        world = self.world
        summary = await world.store.summary(execution_id)
        self.results[execution_id] = msgspec.json.decode(summary.result or b"{}")
        found = await audit(world.store, execution_id, world.programs_by_hash.get(summary.hash), ENGINE)
        for problem in found.problems:
            self.violate(execution_id, problem)
        kept = await world.store.log(execution_id)
        state = (opened(kept.snapshot) if kept.snapshot else None) or State(execution_id)
        for row in kept.rows:
            fold(state, events_of(row))
        if snapshot_of(state) != snapshot_of(self.checkers[execution_id].state):
            self.violate(execution_id, "snapshot and tail do not give the state of the whole log")

    def _internal_errors(self, execution_id: str, log: list[Event]) -> None:
        for event in log:
            error = (event.data or {}).get("error") or {}
            if error.get("kind") == "internal" and OWN_FAULT not in error["message"]:
                self.violate(execution_id, f"{event.name} {event.run}: {error['message']}")

    def _loops(self, execution_id: str, log: list[Event]) -> None:
        """A loop counts each outer iteration once, and one that ends well has run them all."""
        ended = Counter(
            event.run
            for event in log
            if event.name in ("loop.iteration.done", "loop.iteration.failed")
            and (event.at or "").count("[") == 1
            if (event.at or "").startswith("[")
        )
        for event in log:
            output = (event.data or {}).get("output") or {} if event.name in (*TERMINAL, "task.done") else {}
            loop = output.get("loop")
            if loop is None:
                continue
            if loop["skipped"] < 0 or (output["status"] == "ok" and loop["skipped"]):
                self.violate(execution_id, f"the loop of {event.run} {event.at or ''} ended with {loop}")
            if event.name == "loop.done" and ended[event.run] != loop["total"]:
                self.violate(
                    execution_id, f"{event.run} counts {loop}, the log {ended[event.run]} iterations"
                )

    def _results(self, execution_id: str, log: list[Event]) -> None:
        """A result that was accepted is not asked for again."""
        places = Counter(
            (event.run, event.at, event.label, event.visit, event.attempt)
            for event in log
            if event.name == "task.done"
        )
        for place, count in places.items():
            if count > 1:
                self.violate(execution_id, f"the result of {place} was accepted {count} times")

    def _calls(self, execution_id: str, log: list[Event]) -> None:
        """What was accepted was called; repeats carry the same key; without faults there are none."""
        outputs = ((event.data or {}).get("output") or {} for event in log if event.name == "task.done")
        accepted = {(output.get("meta") or {}).get("idempotency_key") for output in outputs}
        own = [called for called in self.world.effects.calls if called.execution_id == execution_id]
        for key in accepted - {called.key for called in own} - {None}:
            self.violate(execution_id, f"a result was accepted without a call: {key}")
        unsettled = {step_of(event.run) for event in log if event.run and _cut_short(event)}
        for called in own:
            if called.key not in accepted and called.step not in unsettled:
                self.violate(execution_id, f"a repeat of {called.step}/{called.task} had a key of its own")
            repeated = called.step not in unsettled and self.world.effects.calls[called] != 1
            if self.world.faults.calm and repeated:
                self.violate(execution_id, f"{called} was made {self.world.effects.calls[called]} times")


def _cut_short(event: Event) -> bool:
    """Whether calls under way may have been stopped by this: a failed iteration, a timeout, a cancel."""
    error = ((event.data or {}).get("output") or {}).get("error") or {}
    if event.name == "task.done" and "took longer than" in error.get("message", ""):
        return True
    return event.name == "loop.iteration.failed" or (event.name in TERMINAL and event.by == "s")
