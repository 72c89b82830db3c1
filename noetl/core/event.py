"""What happened, as it is kept: the event, the catalogue of names, and the envelope shown to readers.

An event rests as a short array (the log packs many into one row); everything an envelope shows that can be
derived, such as event_id, entity and status, is derived when it is read. Nothing here decides anything.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import msgspec

Moment = Annotated[str, msgspec.Meta(description="ISO 8601 in UTC, with milliseconds")]
ExecutionId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
Source = Literal["server", "worker"]
_SOURCES: dict[str, Source] = {"s": "server", "w": "worker"}


class Event(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One thing that happened in an execution. Its place in the log is its sequence number."""

    name: str
    ts: int  # milliseconds since the epoch
    by: str = "s"  # s: the server, w: a worker
    run: str | None = None  # step run id, `<step>.<ordinal>`
    at: str | None = None  # address of a pipeline inside the run: `[2]`, `[2]/call[0]`
    label: str | None = None
    visit: int | None = None
    attempt: int | None = None
    data: dict[str, Any] | None = None


class EventEnvelope(TypedDict):
    """One event of an execution; ids that do not apply are absent."""

    event_id: str
    execution_id: ExecutionId
    seq: int
    ts: Moment
    source: Source
    name: str
    entity: str
    entity_id: str
    status: str
    step: NotRequired[str]
    step_run_id: NotRequired[str]
    task_run_id: NotRequired[str]
    iteration_id: NotRequired[str]
    task_label: NotRequired[str]
    visit: NotRequired[int]
    attempt: NotRequired[int]
    index: NotRequired[int | list[int]]
    worker_id: NotRequired[str]
    lease_epoch: NotRequired[int]
    trace_id: str
    parent_id: NotRequired[str]
    data: dict[str, Any]


# name -> (entity, status); a status of None is read from the event's own data
CATALOGUE: dict[str, tuple[str, str | None]] = {
    "playbook.execution.requested": ("playbook", "in_progress"),
    "playbook.request.evaluated": ("playbook", None),
    "playbook.processed": ("playbook", None),
    "workflow.started": ("workflow", "in_progress"),
    "workflow.extended": ("workflow", "success"),
    "workflow.contracted": ("workflow", "success"),
    "workflow.finished": ("workflow", None),
    "token.enqueued": ("token", "in_progress"),
    "token.held": ("token", "paused"),
    "token.claimed": ("token", "success"),
    "token.refused": ("token", "error"),
    "token.discarded": ("token", "error"),
    "step.scheduled": ("step", "in_progress"),
    "step.started": ("step", "in_progress"),
    "step.done": ("step", "success"),
    "step.failed": ("step", "error"),
    "step.retried": ("step", "in_progress"),
    "step.checkpointed": ("step", "in_progress"),
    "task.started": ("task", "in_progress"),
    "task.parked": ("task", "paused"),
    "task.resumed": ("task", "in_progress"),
    "child.waiting": ("task", "paused"),
    "task.done": ("task", None),
    "loop.restored": ("loop", "success"),
    "loop.started": ("loop", "in_progress"),
    "loop.claimed": ("loop", "success"),
    "loop.claim.failed": ("loop", "error"),
    "loop.iteration.started": ("loop", "in_progress"),
    "loop.iteration.done": ("loop", "success"),
    "loop.iteration.failed": ("loop", "error"),
    "loop.done": ("loop", "success"),
    "ctx.patched": ("workflow", "success"),
    "next.evaluated": ("next", "success"),
    "execution.paused": ("playbook", "paused"),
    "execution.resumed": ("playbook", "in_progress"),
    "execution.cancelled": ("playbook", "error"),
    "execution.restored": ("playbook", "success"),
    "execution.signalled": ("playbook", "success"),
    "execution.continued": ("playbook", "success"),
    "lease.granted": ("step", "in_progress"),
    "lease.returned": ("step", "paused"),
    "lease.expired": ("step", "error"),
    "lease.closed": ("step", "success"),
    "event.rejected": ("step", "error"),
}

# Task and iteration events tell what went on inside a run; `executor.spec.trace` may drop them after the end.
DETAIL = frozenset({"task.started", "task.done", "task.parked", "task.resumed"})
TERMINAL = frozenset({"step.done", "step.failed", "loop.done"})


def step_of(run: str) -> str:
    """The step a run id belongs to."""
    return run.rpartition(".")[0]


def task_run_id(event: Event) -> str | None:
    """The stable id of one visit of one task."""
    if event.label is None:
        return None
    return f"{event.run}{event.at or ''}/{event.label}.{event.visit or 1}"


def envelope(execution_id: str, seq: int, event: Event) -> EventEnvelope:
    """The event as readers see it: every field of the contract, absent ids left out."""
    entity, status = CATALOGUE[event.name]
    data = event.data or {}
    task_run = task_run_id(event)
    iteration = f"{event.run}{event.at}" if event.at and event.at.endswith("]") else None
    fields: dict[str, Any] = {
        "event_id": f"{execution_id}-{seq}",
        "execution_id": execution_id,
        "seq": seq,
        "ts": iso(event.ts),
        "source": _SOURCES[event.by],
        "name": event.name,
        "entity": entity,
        "entity_id": task_run or iteration or data.get("token") or event.run or execution_id,
        "status": status or _own_status(data),
    }
    optional = {
        "step": step_of(event.run) if event.run else data.get("step"),
        "step_run_id": event.run,
        "task_run_id": task_run,
        "iteration_id": iteration,
        "task_label": event.label,
        "visit": event.visit,
        "attempt": event.attempt,
        "index": index_of(event.at) if event.name.startswith("loop.iteration.") else None,
        "worker_id": data.get("worker"),
        "lease_epoch": data.get("epoch"),
        "trace_id": execution_id,
        "parent_id": (data.get("parent") or {}).get("execution_id") if event.run is None else None,
    }
    fields.update({key: value for key, value in optional.items() if value is not None})
    fields["data"] = data
    return cast(EventEnvelope, fields)


def index_of(address: str | None) -> int | list[int] | None:
    """The index of the iteration at an address: a number, a path of them in nested loops, None outside."""
    indexes = [int(part) for part in re.findall(r"\[(\d+)\]", address or "")]
    return indexes[0] if len(indexes) == 1 else indexes or None


def iso(ms: int) -> str:
    """Milliseconds since the epoch as ISO 8601 in UTC."""
    return f"{_second(ms // 1000)}.{ms % 1000:03d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """Events of one second share all but its last digits."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _own_status(data: dict[str, Any]) -> str:
    status = data.get("status") or (data.get("output") or {}).get("status") or "ok"
    return "success" if status in ("ok", "completed", "success") else "error"
