"""The last hours at a glance: how many executions ended how and when, and which steps took longest. Pure."""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from noetl.core.event import iso
from noetl.core.state import ENDED, STATUSES

BUCKETS = 48
SLOWEST = 8
VARYING = re.compile(r"[0-9a-fA-F]*\d[0-9a-fA-F]*")  # numbers and ids


def throughput(counted: Iterable[tuple[str, int, int]], now: int, span_ms: int) -> dict[str, Any]:
    """Executions by status, and how many ended in each part of a span. Given: status, part, number."""
    width = span_ms // BUCKETS
    first = now - span_ms
    counts = dict.fromkeys(STATUSES, 0)
    buckets = [dict.fromkeys((*sorted(ENDED), "waiting", "active"), 0) for _ in range(BUCKETS)]
    for status, part, number in counted:
        counts[status] += number
        told = status if status in ENDED or status == "waiting" else "active"
        buckets[min(part, BUCKETS - 1)][told] += number
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What is looked at of one execution to tell failures."""

    execution_id: str
    path: str
    status: str
    parent: str | None
    error: Mapping[str, Any] | None
    failed_iterations: int


@dataclass(slots=True)
class FailureGroup:
    """Failures that are alike; the error is that of the newest."""

    step: str | None
    kind: str
    message: str
    executions: list[str] = field(default_factory=list)  # the newest first


def failure_groups(newest_first: Iterable[Ended], retried: Set[str]) -> list[FailureGroup]:
    """Failures that nobody has gone on from, and what is stuck; those alike together, the newest group first.

    An execution that failed because its child did is told by the child.
    """
    executions = list(newest_first)
    told_by_child = {one.parent for one in executions if one.status == "failed"}
    groups: dict[tuple[str, str | None, str, str], FailureGroup] = {}
    for one in executions:
        error = _error(one)
        child = error is not None and error["kind"] == "child" and one.execution_id in told_by_child
        if error is None or child or one.execution_id in retried:
            continue
        step, kind, message = error.get("step"), str(error["kind"]), str(error["message"])
        key = (one.path, step, kind, VARYING.sub("#", message))
        groups.setdefault(key, FailureGroup(step, kind, message)).executions.append(one.execution_id)
    return list(groups.values())


def _error(one: Ended) -> Mapping[str, Any] | None:
    """Why an execution is no success; None for one that is, or is not over."""
    if one.status in ("failed", "stuck"):
        return one.error or {"kind": "unknown", "message": "what it failed with was not kept"}
    if one.status == "completed" and one.failed_iterations:
        some = "1 iteration" if one.failed_iterations == 1 else f"{one.failed_iterations} iterations"
        return {"kind": "iterations", "message": f"completed, {some} failed"}
    return None
