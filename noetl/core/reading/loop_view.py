"""The iterations of loops, one mark and two numbers each, so that ten thousand of them fit one answer.

One pass over the log, event by event. Only the outer loop of a run is kept; inner ones belong to an
iteration.
"""

from dataclasses import dataclass, field
from typing import Any

from noetl.core.event import TERMINAL, Event, iso, step_of
from noetl.core.fold import outer_index
from noetl.core.reading.views import IterationError, LoopAnswer

ERRORS_MOST = 500
LOOPS_MOST = 100  # a workflow may loop in a cycle; the newest are kept
PENDING, RUNNING, DONE, FAILED, KEPT = "prdfk"


@dataclass(slots=True)
class _Loop:
    """One run's iterations. Times are milliseconds after the run was scheduled; -1 is unknown."""

    scheduled: int
    marks: list[str]
    started: list[int]
    took: list[int]
    retries: dict[int, int] = field(default_factory=dict)
    errors: dict[int, IterationError] = field(default_factory=dict)
    ended: bool = False
    batches: int | None = None  # of a loop that claims its items

    def grow(self, count: int) -> None:
        """There are more iterations."""
        self.marks += [PENDING] * count
        self.started += [-1] * count
        self.took += [-1] * count


class LoopView:
    """The reader of one log."""

    def __init__(self) -> None:
        self._loops: dict[str, _Loop] = {}
        self._kept: dict[str, list[int]] = {}  # token -> iterations that an earlier execution did

    def read(self, seq: int, event: Event) -> None:
        """Take one more event in."""
        data = event.data or {}
        if event.name == "loop.restored":
            self._kept.setdefault(data["token"], []).extend(map(int, data["iterations"]))
        elif event.name == "step.scheduled" and (data.get("total") is not None or "claim" in data):
            self._begin(event, data)
        elif event.run in self._loops:
            self._move(self._loops[event.run], event, data)

    def _begin(self, event: Event, data: dict[str, Any]) -> None:
        total = int(data.get("total", 0))
        loop = _Loop(event.ts, [PENDING] * total, [-1] * total, [-1] * total)
        loop.batches = 0 if "claim" in data else None
        for token in data["tokens"]:
            for index in self._kept.get(token, ()):
                loop.marks[index] = KEPT
        self._loops[event.run or ""] = loop
        if len(self._loops) > LOOPS_MOST:
            del self._loops[next(iter(self._loops))]

    def _move(self, loop: _Loop, event: Event, data: dict[str, Any]) -> None:
        if event.name in TERMINAL:
            loop.ended = True
            return
        index = outer_index(event.at)
        if index is not None and event.name.startswith("loop.iteration."):
            _mark(loop, index, event, data)
        elif event.name == "loop.claimed" and data["count"]:
            loop.grow(data["count"])
            loop.batches = (loop.batches or 0) + 1
        elif event.name == "task.done" and data.get("do") == "retry" and event.at:
            place = int(event.at[1:].partition("]")[0])
            loop.retries[place] = loop.retries.get(place, 0) + 1

    def runs(self) -> list[str]:
        """The runs that are loops."""
        return list(self._loops)

    def view(self, run: str) -> LoopAnswer | None:
        """One run's iterations; None when it is no loop's run."""
        loop = self._loops.get(run)
        if loop is None:
            return None
        view: LoopAnswer = {
            "run": run,
            "step": step_of(run),
            "scheduled_at": iso(loop.scheduled),
            "total": len(loop.marks),
            "ended": loop.ended,
            "counts": {name: loop.marks.count(mark) for name, mark in COUNTED.items()},
            "marks": "".join(loop.marks),
            "started": loop.started,
            "took": loop.took,
            "retries": loop.retries,
            "errors": loop.errors,
        }
        if loop.batches is not None:
            view["batches"] = loop.batches
        return view


COUNTED = {"queued": PENDING, "running": RUNNING, "done": DONE, "failed": FAILED, "kept": KEPT}


def _mark(loop: _Loop, index: int, event: Event, data: dict[str, Any]) -> None:
    offset = event.ts - loop.scheduled
    if event.name == "loop.iteration.started":
        loop.marks[index], loop.started[index] = RUNNING, offset
        return
    failed = event.name == "loop.iteration.failed"
    loop.marks[index] = FAILED if failed else DONE
    loop.took[index] = offset - max(loop.started[index], 0)
    if failed and len(loop.errors) < ERRORS_MOST:
        error = data.get("error") or {}
        loop.errors[index] = {
            "kind": error.get("kind"),
            "message": error.get("message"),
            "task": error.get("task"),
            "attempt": error.get("attempt"),
        }
