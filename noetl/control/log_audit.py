"""The audit of one log: its rows and hash chain, what stands beside it, invariants, and every decision again.

Damage is said in words, whatever was done to the store: no row is believed before it could be read.
"""

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from noetl.control.history import Log, rows_of
from noetl.control.log_rows import events_of, message_of, summary_of
from noetl.core.deciding.operator_commands import next_due
from noetl.core.fold import fold
from noetl.core.invariants import Checker
from noetl.core.message import Start
from noetl.core.program.program import Program
from noetl.core.replay import RecordedRow, replay
from noetl.core.snapshot import holds
from noetl.core.state import State, restore, snapshot_of
from noetl.core.values.event_size import ENVELOPE_BYTES
from noetl.dsl.yaml.one_line import shortened
from noetl.errors import InvariantViolation, NewerFormat, NotFound
from noetl.json_value import JsonObject
from noetl.ports.hash_chain import linked
from noetl.ports.store import Projection, Row, Stuck, Summary

_BEGINNING = ("playbook.execution.requested", "execution.restored")
_BOUNDED_SINCE = 2  # events of rows in older formats were bounded value by value
_LISTED = (
    "status", "path", "version", "hash", "requested_at", "started_at", "ended_at", "due_at", "parent",
    "retry_of", "idempotency_key", "continued_from", "continued_as", "chain",
)  # fmt: skip


class Audited(Log, Protocol):
    """Whatever has logs and what stands beside them: a store, or the product itself."""

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log of an execution."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, in words, and how much was read."""

    events: int
    decisions: int
    problems: list[str]
    other_engine: str | None = None


@dataclass(slots=True)
class _Reading:
    """How far a log was read, and what was wrong up to there."""

    checker: Checker
    beside: Projection
    problems: list[str] = field(default_factory=list)
    recorded: list[RecordedRow] = field(default_factory=list)
    head: bytes = b""
    at: int = 0
    unreadable: bool = False
    heads: dict[int, bytes] = field(default_factory=dict)  # links at the events that are asked for
    states: dict[int, bytes] = field(default_factory=dict)  # and the state there

    def row(self, row: Row) -> None:
        """Take the next row."""
        if row.first != self.at + 1:
            self.problems.append(f"the log has a gap: row {row.first}..{row.last} follows event {self.at}")
        try:
            whole = linked(self.head, row)
        except NewerFormat as error:
            whole, self.unreadable = True, True
            self.problems.append(error.message)
        if not whole:
            self.problems.append(f"the hash chain breaks at event {row.first}")
        self.head, self.at = row.hash, row.last
        if not self.unreadable:
            self._read(row)

    def _read(self, row: Row) -> None:
        try:
            events, message = events_of(row), message_of(row)
        except (InvariantViolation, NewerFormat) as error:
            self.unreadable = True  # what stands behind it cannot be followed
            self.problems.append(error.message)
            return
        if len(events) != row.last - row.first + 1:
            text = f"row {row.first}..{row.last} holds {len(events)} events"
            self.problems.append(f"the log has a gap: {text}")
        for seq, event in enumerate(events, row.first):
            self.checker.read(event, bounded=row.format >= _BOUNDED_SINCE)
            self._mark(seq, row)
        self.recorded.append(RecordedRow(row.first, row.ts, message, events))

    def _mark(self, seq: int, row: Row) -> None:
        if seq == self.beside.seq or (self.beside.snapshot and seq == self.beside.snapshot.seq):
            self.heads[seq] = row.hash
            if not self.checker.broken:
                self.states[seq] = snapshot_of(self.checker.state)


async def audit(store: Audited, execution_id: str, program: Program | None, engine: str) -> Audit:
    """Read a log and check everything that can be checked of it."""
    beside = await store.projection(execution_id)  # before the rows: the log may go on meanwhile
    bound = None if program is None else program.limits["max_payload_bytes"] + ENVELOPE_BYTES
    reading = _Reading(Checker(execution_id, bound), beside)
    async for row in rows_of(store, execution_id):
        reading.row(row)
    recorded, problems = reading.recorded, reading.problems
    problems += [f"event {v.seq}: {v.message} (invariant {v.invariant})" for v in reading.checker.end()]
    start = recorded[0].message if recorded else None
    made_by = start.engine if isinstance(start, Start) and start.engine else engine
    problems += _end_problems(reading)
    problems += await _chain_problems(store, reading.checker.state)
    if not reading.unreadable:
        problems += _beside_problems(reading, same_engine=made_by == engine)
    if made_by != engine:
        return Audit(reading.at, len(recorded), problems, made_by)
    if program is None and isinstance(start, Start) and start.hash and start.problem is None:
        problems.append(f"its playbook {start.hash} is not in the store: no decision could be made again")
    else:
        _, differences = replay(execution_id, recorded, lambda digest: program if digest else None)
        problems += [f"event {d.seq}: recorded {d.recorded}, decided again {d.decided}" for d in differences]
    return Audit(reading.at, len(recorded), problems)


async def _chain_problems(store: Audited, state: State) -> list[str]:
    """Whether the execution that goes on from this one began with what this one ended with."""
    successor = state.continued_as
    if successor is None:
        return []
    try:
        events = events_of((await store.rows(successor, 1, 1))[0])
    except (NotFound, InvariantViolation, IndexError) as error:
        return [f"it goes on as execution {successor}, which cannot be read: {error}"]
    begun = fold(State(successor), [event for event in events if event.name in _BEGINNING])
    if begun.before != state.execution_id:
        return [f"it goes on as execution {successor}, which does not go on from it"]
    if begun.ctx != state.ctx:
        return [f"it goes on as execution {successor}, which does not carry the ctx that it had"]
    return []


def _end_problems(reading: _Reading) -> list[str]:
    """Whether the log ends where its last commit left it."""
    beside, at = reading.beside, reading.at
    if at < beside.seq:
        left = "has no events" if not at else f"ends at event {at}"
        return [f"the log {left}, and its last commit ended at event {beside.seq}: the rest is missing"]
    if at > beside.seq and beside.summary.ended_at is not None:
        return [f"the log goes on to event {at}, and its last commit ended at event {beside.seq}"]
    if beside.seq in reading.heads and reading.heads[beside.seq] != beside.head:
        return [f"the hash of event {beside.seq} is not the one that the last commit left"]
    return []


def _beside_problems(reading: _Reading, *, same_engine: bool) -> list[str]:
    """Whether projection and snapshot are what the log says."""
    beside, problems = reading.beside, []
    saved = beside.snapshot
    if saved is not None and same_engine:
        if saved.seq in reading.states and not holds(saved.state, reading.states[saved.seq]):
            problems.append(f"the snapshot after event {saved.seq} is not the state that the log gives")
        if saved.seq not in reading.heads or reading.heads[saved.seq] != saved.hash:
            problems.append(f"the snapshot after event {saved.seq} does not stand on the log's hash chain")
    if beside.seq in reading.states:
        state = restore(reading.states[beside.seq])
        problems += _projection_problems(beside.summary, state, same_engine=same_engine)
    return problems


def _projection_problems(summary: Summary, state: State, *, same_engine: bool) -> list[str]:
    right = summary_of(state, next_due(state), summary.request)
    if summary.stuck is not None:  # what the log says is kept beside it
        summary = msgspec.structs.replace(
            summary, status=msgspec.json.decode(summary.stuck, type=Stuck).status
        )
    comparisons = [(name, getattr(summary, name), getattr(right, name)) for name in _LISTED]
    if summary.requested_by is not None:
        comparisons.append(("requested_by", summary.requested_by, right.requested_by))
    try:
        result = msgspec.json.decode(summary.result or b"{}", type=JsonObject)
        logged_result = msgspec.json.decode(right.result or b"{}", type=JsonObject)
        logged_result.pop("format", None)  # says how the others are written
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return [f"the projection's result cannot be read: {error}"]
    keys = logged_result if same_engine else [key for key in logged_result if key in result]
    comparisons += [(f"result.{key}", result.get(key), logged_result[key]) for key in keys]
    return [
        f"the projection says {name} {_short(projected)}, the log says {_short(logged)}"
        for name, projected, logged in comparisons
        if projected != logged
    ]


def _short(value: object) -> str:
    return shortened(msgspec.json.encode(value).decode(), 80)
