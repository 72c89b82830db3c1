"""Looks at every commit and at every log when it is over, and says what must not be."""

from collections import Counter
from typing import Any

import msgspec

from noetl.control.audit import audit
from noetl.control.rows import events_of
from noetl.core.event import TERMINAL, Event
from noetl.core.fold import fold
from noetl.core.invariants import Checker
from noetl.core.state import State, restore, snapshot_of
from noetl.ports.store import Append
from tests.simulation.world import ENGINE, World

OWN_FAULT = "the tool broke"  # an internal error that a tool was told to raise


class Inspector:
    """What one world is judged by."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.checkers: dict[str, Checker] = {}
        self.logs: dict[str, list[Event]] = {}
        self.results: dict[str, dict[str, Any]] = {}
        world.on_commit = self.committed

    def committed(self, append: Append) -> None:
        """Every invariant holds after every commit, and the state in memory is the fold of the log."""
        execution_id = append.execution_id
        checker = self.checkers.setdefault(execution_id, Checker(execution_id))
        log = self.logs.setdefault(execution_id, [])
        for row in append.rows:
            for event in events_of(row):
                checker.read(event)
                log.append(event)
        for violation in checker.found:
            self.world.violate(f"{execution_id} event {violation.seq}: {violation.message}")
        live = self.world.server.live_state(execution_id) if self.world.server else None
        if live is not None and snapshot_of(live) != snapshot_of(checker.state):
            self.world.violate(f"{execution_id}: the state in memory is not the fold of its log")

    @property
    def lost_workers(self) -> bool:
        """Whether a step was given up because its workers kept dying."""
        return any(b'"worker_lost"' in msgspec.json.encode(log) for log in self.logs.values())

    async def end(self) -> None:
        """Judge everything that is over."""
        for execution_id, log in self.logs.items():
            await self._audit(execution_id)
            self._effects(execution_id, log)
            self._internal_errors(execution_id, log)

    async def _audit(self, execution_id: str) -> None:
        world = self.world
        summary = await world.store.summary(execution_id)
        self.results[execution_id] = msgspec.json.decode(summary.result or b"{}")
        found = await audit(world.store, execution_id, world.programs_by_hash.get(summary.hash), ENGINE)
        for problem in found.problems:
            world.violate(f"{execution_id}: {problem}")
        kept = await world.store.log(execution_id)
        state = restore(kept.snapshot) if kept.snapshot else State(execution_id)
        for row in kept.rows:
            fold(state, events_of(row))
        if snapshot_of(state) != snapshot_of(self.checkers[execution_id].state):
            world.violate(f"{execution_id}: snapshot and tail do not give the state of the whole log")

    def _internal_errors(self, execution_id: str, log: list[Event]) -> None:
        for event in log:
            error = (event.data or {}).get("error") or {}
            if error.get("kind") == "internal" and OWN_FAULT not in error["message"]:
                self.world.violate(f"{execution_id}: {event.name} {event.run}: {error['message']}")

    def _effects(self, execution_id: str, log: list[Event]) -> None:
        """Accepted results have an effect; nothing accepted is done again; repeats carry the same key."""
        accepted, places = set(), Counter()
        for event in log:
            output = (event.data or {}).get("output") if event.name == "task.done" else None
            if output is not None:
                places[event.run, event.at, event.label, event.visit, event.attempt] += 1
                accepted.add((output.get("meta") or {}).get("idempotency_key"))
        for place, count in places.items():
            if count > 1:
                self.world.violate(f"{execution_id}: the result of {place} was accepted {count} times")
        own = [called for called in self.world.effects.calls if called.execution_id == execution_id]
        for key in accepted - {called.key for called in own} - {None}:
            self.world.violate(f"{execution_id}: a result was accepted without a call: {key}")
        unsettled = {event.run.rpartition(".")[0] for event in log if event.run and _cut_short(event)}
        for called in own:
            if called.key not in accepted and called.step not in unsettled:
                self.world.violate(f"{execution_id}: a repeat of {called.step}/{called.task} had a key of its own")
            if not self.world.faults.on and self.world.effects.calls[called] != 1:
                self.world.violate(f"{execution_id}: {called} was made {self.world.effects.calls[called]} times")


def _cut_short(event: Event) -> bool:
    """Whether calls under way may have been stopped by this: a failed iteration, a timeout, a cancel."""
    return event.name == "loop.iteration.failed" or (event.name in TERMINAL and event.by == "s")
