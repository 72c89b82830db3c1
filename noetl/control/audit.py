"""The audit of one log: hash chain and sequence, invariants, and every decision made again."""

from dataclasses import dataclass

from noetl.control.history import Log, rows_of
from noetl.control.rows import events_of, message_of
from noetl.core.invariants import Checker
from noetl.core.message import Start
from noetl.core.program import Program
from noetl.core.replay import Recorded, replay
from noetl.ports.store import linked


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, in words, and how much was read."""

    events: int
    decisions: int
    problems: list[str]
    other_engine: str | None = None


async def audit(store: Log, execution_id: str, program: Program | None, engine: str) -> Audit:
    """Read a log and check everything that can be checked of it."""
    problems: list[str] = []
    recorded: list[Recorded] = []
    checker = Checker(execution_id)
    head, at = b"", 0
    async for row in rows_of(store, execution_id):
        events = events_of(row)
        if row.first != at + 1 or row.last != at + len(events):
            problems.append(f"the log has a gap: row {row.first}..{row.last} follows event {at}")
        if not linked(head, row):
            problems.append(f"the hash chain breaks at event {row.first}")
        head, at = row.hash, row.last
        for event in events:
            checker.read(event)
        recorded.append(Recorded(row.first, row.ts, message_of(row), events))
    problems += [f"event {v.seq}: {v.message} (invariant {v.invariant})" for v in checker.end()]
    made_by = recorded[0].message.engine if recorded and isinstance(recorded[0].message, Start) else engine
    if made_by != engine:
        return Audit(at, len(recorded), problems, made_by)
    _, differences = replay(execution_id, recorded, lambda digest: program if digest else None)
    problems += [f"event {d.seq}: recorded {d.recorded}, decided again {d.decided}" for d in differences]
    return Audit(at, len(recorded), problems)
