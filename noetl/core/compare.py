"""How two executions differ: the path they took, how long each step needed, ctx, outputs and inputs. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from noetl.core.event import TERMINAL, Event
from noetl.core.fold import evolve
from noetl.core.state import State

Change = dict[str, Any]
_ABSENT: Any = object()


@dataclass(slots=True)
class Course:
    """What one execution did, as far as it is compared."""

    state: State
    path: list[str] = field(default_factory=list)  # each run's end and the arcs it took
    duration_ms: dict[str, int] = field(default_factory=dict)  # per step, over all its runs
    outputs: dict[str, Any] = field(default_factory=dict)
    _scheduled: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, execution_id: str, events: Iterable[Event]) -> "Course":
        """Read a log."""
        course = cls(State(execution_id))
        for event in events:
            course._read(event, event.data or {})
            evolve(course.state, event)
        return course

    def _read(self, event: Event, data: dict[str, Any]) -> None:
        run = event.run or ""
        if event.name == "step.scheduled":
            self._scheduled[run] = event.ts
        elif event.name in TERMINAL:
            step = self.state.runs[run].step
            self.duration_ms[step] = self.duration_ms.get(step, 0) + event.ts - self._scheduled[run]
            self.outputs[step] = _told(data.get("output") or {})
            self.path.append(f"{run} {'failed' if event.name == 'step.failed' else 'done'}")
        elif event.name == "next.evaluated" and data.get("taken"):
            self.path.append(f"{run} to {', '.join(data['taken'])}")
        elif event.name == "token.refused":
            self.path.append(f"{data['step']} refused a token")


def _told(output: dict[str, Any]) -> Any:
    """The payload of an output, or what identifies it when it rests elsewhere."""
    ref = output.get("ref")
    if output.get("data") is None and isinstance(ref, dict):
        return {"sha256": (ref.get("meta") or {}).get("sha256")}
    return output.get("data") if output.get("status") == "ok" else {"error": output.get("error")}


def compare(first: Course, second: Course) -> dict[str, Any]:
    """Everything in which two executions differ; `same` when they took one path to one result."""
    a, b = first.state, second.state
    found: dict[str, Any] = {
        "status": _pair(a.status, b.status),
        "playbook": _pair(a.hash, b.hash),
        "workload": list(changes(a.workload, b.workload)),
        "path": list(_path_changes(first.path, second.path)),
        "ctx": list(changes(a.ctx, b.ctx)),
        "outputs": list(changes(first.outputs, second.outputs)),
        "error": _pair(a.error, b.error),
    }
    same = not any(found.values())
    steps = dict.fromkeys([*first.duration_ms, *second.duration_ms])
    timing = {step: [first.duration_ms.get(step), second.duration_ms.get(step)] for step in steps}
    return {"a": a.execution_id, "b": b.execution_id, "same": same, **found, "timing_ms": timing}


def _path_changes(a: list[str], b: list[str]) -> Iterator[str]:
    for tag, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (f"- {line}" for line in a[a_from:a_to])
            yield from (f"+ {line}" for line in b[b_from:b_to])


def _pair(a: Any, b: Any) -> list[Any] | None:
    return [a, b] if a != b else None


def changes(a: Any, b: Any, path: str = "") -> Iterator[Change]:
    """The places at which two values differ: {path, a?, b?}."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            below = f"{path}.{key}" if path else str(key)
            yield from changes(a.get(key, _ABSENT), b.get(key, _ABSENT), below)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from changes(one, other, f"{path}[{index}]")
    elif a is _ABSENT or b is _ABSENT or a != b:
        sides = {"a": a, "b": b}
        yield {"path": path, **{side: value for side, value in sides.items() if value is not _ABSENT}}
