"""Which arrivals of a trigger start an execution together, and how long the others wait. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from noetl.ports.arrival import Arrival
from noetl.ports.schedule import Trigger, TriggerBatch, span_ms
from noetl.ports.store import glob_of

QUIET_TIMES = 10  # lengths of a debounce after which what arrived first has waited long enough
BATCH_BYTES = 4 * 1024 * 1024  # of what starts together, unless one alone is larger


class FiringPlan(msgspec.Struct):
    """What becomes of what waits for a trigger."""

    together: list[list[Arrival]] = msgspec.field(default_factory=list)  # each starts one execution
    superseded: list[Arrival] = msgspec.field(default_factory=list)  # something newer counts in their place
    waiting: list[Arrival] = msgspec.field(default_factory=list)
    look_at: int | None = None  # when those that wait are to be looked at; None: when something arrives


def plan(trigger: Trigger, arrivals: Sequence[Arrival], now: int) -> FiringPlan:
    """What to do with arrivals of which nothing was decided yet, the oldest first."""
    if not arrivals:
        return FiringPlan()
    if trigger.match == "all":
        return _all_of(trigger, arrivals)
    if trigger.batch is not None:
        return _batches(trigger, trigger.batch, arrivals, now)
    if trigger.debounce is not None:
        return _debounced(span_ms(trigger.debounce), arrivals, now)
    return FiringPlan(together=[[arrival] for arrival in arrivals])


def _debounced(quiet_ms: int, arrivals: Sequence[Arrival], now: int) -> FiringPlan:
    """The newest, once nothing more has arrived for a while; the first is kept to know since when."""
    first, last = arrivals[0], arrivals[-1]
    due = min(last.at + quiet_ms, first.at + QUIET_TIMES * quiet_ms)
    if due <= now:
        return FiringPlan(together=[[last]], superseded=list(arrivals[:-1]))
    waiting = [first] if first is last else [first, last]
    return FiringPlan(superseded=list(arrivals[1:-1]), waiting=waiting, look_at=due)


def _batches(trigger: Trigger, batch: TriggerBatch, arrivals: Sequence[Arrival], now: int) -> FiringPlan:
    """As many as a batch holds; the last few once the first of them has waited, or nothing more arrives."""
    chunks = _chunks(arrivals, batch.max)
    rest = chunks[-1]
    due = rest[0].at + span_ms(batch.within)
    if trigger.debounce is not None:
        due = min(due, rest[-1].at + span_ms(trigger.debounce))
    if len(rest) == batch.max or due <= now:
        return FiringPlan(together=chunks)
    return FiringPlan(together=chunks[:-1], waiting=rest, look_at=due)


def _chunks(arrivals: Sequence[Arrival], most: int) -> list[list[Arrival]]:
    chunks: list[list[Arrival]] = []
    size = 0
    for arrival in arrivals:
        size += len(arrival.body)
        if not chunks or len(chunks[-1]) == most or size > BATCH_BYTES:
            chunks.append([])
            size = len(arrival.body)
        chunks[-1].append(arrival)
    return chunks


def _all_of(trigger: Trigger, arrivals: Sequence[Arrival]) -> FiringPlan:
    """The newest end of each, once every one has ended; an older one of the same is superseded."""
    newest: dict[str, Arrival] = {}
    for arrival in arrivals:
        path = body_of(arrival).get("path", "")
        newest.update({pattern: arrival for pattern in trigger.after if fnmatchcase(path, glob_of(pattern))})
    kept = {newest[pattern].id: newest[pattern] for pattern in trigger.after if pattern in newest}
    superseded = [arrival for arrival in arrivals if arrival.id not in kept]
    if len(newest) == len(set(trigger.after)):
        return FiringPlan(together=[list(kept.values())], superseded=superseded)
    return FiringPlan(superseded=superseded, waiting=list(kept.values()))


def body_of(arrival: Arrival) -> dict[str, Any]:
    """What arrived, where that is an object."""
    body = msgspec.json.decode(arrival.body)
    return body if isinstance(body, dict) else {}
