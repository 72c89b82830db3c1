"""The last hours at a glance: how many executions ended how and when, and which steps took longest. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from noetl.core.event import iso
from noetl.core.state import ENDED, STATUSES

BUCKETS = 48
SLOWEST = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """What is counted of one execution."""

    status: str
    requested_at: int
    ended_at: int | None


def throughput(entries: Iterable[Entry], now: int, span_ms: int) -> dict[str, Any]:
    """Executions by status, and how many ended in each part of a span of time."""
    width = span_ms // BUCKETS
    first = now - span_ms
    counts = dict.fromkeys(STATUSES, 0)
    buckets = [dict.fromkeys((*sorted(ENDED), "active"), 0) for _ in range(BUCKETS)]
    for entry in entries:
        counts[entry.status] += 1
        moment = entry.requested_at if entry.ended_at is None else entry.ended_at
        place = min(BUCKETS - 1, max(0, (moment - first) // width))
        buckets[place][entry.status if entry.status in ENDED else "active"] += 1
    rows = [{"at": iso(first + place * width), **bucket} for place, bucket in enumerate(buckets)]
    return {"since": iso(first), "bucket_ms": width, "buckets": rows, "counts": counts}


def slowest(durations: Mapping[tuple[str, str], list[tuple[int, str]]]) -> list[dict[str, Any]]:
    """Steps by their mean duration, the slowest first. Given: (path, step) -> durations and executions."""
    rows: list[dict[str, Any]] = [
        {
            "path": path,
            "step": step,
            "runs": len(runs),
            "mean_ms": sum(took for took, _ in runs) // len(runs),
            "max_ms": max(runs)[0],
            "execution_id": max(runs)[1],
        }
        for (path, step), runs in durations.items()
    ]
    return sorted(rows, key=lambda row: -int(row["mean_ms"]))[:SLOWEST]
