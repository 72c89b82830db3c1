"""How two executions differ: the path they took, how long each step needed, ctx, outputs and inputs. Pure.

What is told is bounded, however many items two loops have; what goes beyond is counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from noetl.core.event import TERMINAL, Event, step_of
from noetl.core.fold import evolve
from noetl.core.state import State

Change = dict[str, Any]
_ABSENT: Any = object()
PLACES_MOST = 100  # that are told of one step's output or one key
LINES_MOST = 1000  # of each path, from where they part


@dataclass(slots=True)
class Course:
    """What one execution did, as far as it is compared."""

    state: State
    path: list[str] = field(default_factory=list)  # each run's end and the arcs it took
    duration_ms: dict[str, int] = field(default_factory=dict)  # per step, over all its runs
    outputs: dict[str, Any] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)  # steps that an execution before it had done
    _scheduled: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, execution_id: str, events: Iterable[Event]) -> "Course":
        """Read a log."""
        course = cls(State(execution_id))
        course.take(events)
        return course

    def take(self, events: Iterable[Event]) -> None:
        """Take more events of the log in."""
        for event in events:
            self._read(event, event.data or {})
            evolve(self.state, event)

    def _read(self, event: Event, data: dict[str, Any]) -> None:
        run = event.run or ""
        if event.name == "step.scheduled":
            self._scheduled[run] = event.ts
        elif event.name in TERMINAL:
            step = self.state.runs[run].step
            self.duration_ms[step] = self.duration_ms.get(step, 0) + event.ts - self._scheduled[run]
            self.outputs[step] = _told(data.get("output") or {})
            self.path.append(f"{run} {_ending(event.name, data)}")
        elif event.name == "next.evaluated" and data.get("taken"):
            self.path.append(f"{run} to {', '.join(data['taken'])}")
        elif event.name == "token.refused":
            self.path.append(f"{data['step']} refused a token")
        elif event.name == "execution.restored":
            self.kept.update(data.get("steps") or ())

    def without(self, steps: set[str]) -> "Course":
        """The same as if some steps had not run."""
        return replace(
            self,
            path=[line for line in self.path if step_of(line.partition(" ")[0]) not in steps],
            duration_ms={step: took for step, took in self.duration_ms.items() if step not in steps},
            outputs={step: output for step, output in self.outputs.items() if step not in steps},
        )


def _told(output: dict[str, Any]) -> Any:
    """The payload of an output, or what identifies it when it rests elsewhere."""
    ref = output.get("ref")
    if output.get("data") is None and isinstance(ref, dict):
        return {"sha256": (ref.get("meta") or {}).get("sha256")}
    return output.get("data") if output.get("status") == "ok" else {"error": output.get("error")}


def compare(first: Course, second: Course) -> dict[str, Any]:
    """Everything in which two executions differ; `same` when they took one path to one result.

    What one of them kept from an execution before it and did not do again differs in nothing.
    """
    kept = [second.kept - second.duration_ms.keys(), first.kept - first.duration_ms.keys()]
    first, second = first.without(kept[0]), second.without(kept[1])
    a, b = first.state, second.state
    left_out: dict[str, int] = {}
    differences: dict[str, Any] = {
        "status": _pair(a.status, b.status),
        "playbook": _pair(a.hash, b.hash),
        "workload": _told_changes("workload", a.workload, b.workload, left_out),
        "path": _path_changes(first.path, second.path, left_out),
        "ctx": _told_changes("ctx", a.ctx, b.ctx, left_out),
        "outputs": _told_changes("outputs", first.outputs, second.outputs, left_out),
        "error": _pair(a.error, b.error),
    }
    sides = {"a": a.execution_id, "b": b.execution_id, "same": not any(differences.values())}
    steps = dict.fromkeys([*first.duration_ms, *second.duration_ms])
    timing = {step: [first.duration_ms.get(step), second.duration_ms.get(step)] for step in steps}
    return {
        **sides,
        **differences,
        "timing_ms": timing,
        "left_out": left_out,
        "kept": sorted(kept[0] | kept[1]),
    }


def _path_changes(a: list[str], b: list[str], left_out: dict[str, int]) -> list[str]:
    """The lines that only one path has, from where they part to where they meet for good."""
    shorter = min(len(a), len(b))
    start = next((index for index in range(shorter) if a[index] != b[index]), shorter)
    rest = shorter - start
    end = next((index for index in range(rest) if a[-1 - index] != b[-1 - index]), rest)
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    beyond = max(len(a), len(b)) - LINES_MOST
    if beyond > 0:
        left_out["path"] = beyond
    # To match lines takes time by the square of their number.
    return list(_line_changes(a[:LINES_MOST], b[:LINES_MOST]))


def _line_changes(a: list[str], b: list[str]) -> Iterator[str]:
    for tag, a_from, a_to, b_from, b_to in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (f"- {line}" for line in a[a_from:a_to])
            yield from (f"+ {line}" for line in b[b_from:b_to])


def _pair(a: Any, b: Any) -> list[Any] | None:
    return [a, b] if a != b else None


def _told_changes(section: str, a: Any, b: Any, left_out: dict[str, int]) -> list[Change]:
    """The first places at which values differ, of each key by itself; how many more there are is counted."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return list(changes(a, b))
    listed: list[Change] = []
    for key in dict.fromkeys([*a, *b]):
        places = changes(a.get(key, _ABSENT), b.get(key, _ABSENT), str(key))
        listed += islice(places, PLACES_MOST)
        if more := sum(1 for _ in places):
            left_out[f"{section}.{key}"] = more
    return listed


def changes(a: Any, b: Any, path: str = "") -> Iterator[Change]:
    """The places at which two values differ: {path, a?, b?}."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            below = f"{path}.{key}" if path else str(key)
            yield from changes(a.get(key, _ABSENT), b.get(key, _ABSENT), below)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (item, other) in enumerate(zip(a, b, strict=True)):
            yield from changes(item, other, f"{path}[{index}]")
    elif a is _ABSENT or b is _ABSENT or a != b:
        sides = {"a": a, "b": b}
        yield {"path": path, **{side: value for side, value in sides.items() if value is not _ABSENT}}


def _ending(name: str, data: dict[str, Any]) -> str:
    if name != "step.failed":
        return "done"
    return "cut off" if (data.get("error") or {}).get("kind") == "cancelled" else "failed"
