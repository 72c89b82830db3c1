"""An execution on a time axis: runs with their tasks, attempts and waits, and the path that set its length.

One pass over the log, event by event. Loops are kept as counts over time, not task by task; loop_view.py has
each of them. What a run may hold here is bounded, and says how much was left out.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any

from noetl.core import event_data
from noetl.core.event import TERMINAL, Event, iso
from noetl.core.reading.views import RunLine, TaskBar, TimelineAnswer
from noetl.core.shapes import ErrorObject

RUNS_MOST = 5000  # of one execution; a cycle may have more, and the newest are kept
TASKS_MOST = 400  # of one run; a pagination may have thousands of visits


@dataclass(slots=True)
class _Line:
    """One step run; times are milliseconds since the first event."""

    run: str
    step: str
    scheduled: int
    sources: list[str]
    started: int | None = None
    ended: int | None = None
    status: str = "queued"
    worker: str | None = None
    total: int | None = None  # iterations, when the run is a loop's
    done: int = 0
    failed: int = 0
    bars: list[TaskBar] = field(default_factory=list)
    open: dict[tuple[str, str], TaskBar] = field(default_factory=dict)
    left_out: int = 0

    def add(self, bar: TaskBar) -> None:
        """Keep a bar, within bounds."""
        if len(self.bars) < TASKS_MOST:
            self.bars.append(bar)
        else:
            self.left_out += 1


class Timeline:
    """The reader of one log."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}
        self._tokens: dict[str, str | None] = {}  # token -> the run it came from
        self._first: int | None = None
        self._now = self._last = 0  # the event that is read, and the last one, since the first
        self._ended = False
        self._left_out = 0

    def read(self, seq: int, event: Event) -> None:
        """Take one more event in."""
        self._first = event.ts if self._first is None else self._first
        self._now = event.ts - self._first
        self._last = max(self._last, self._now)
        reader = READERS.get(event.name)
        in_view = event.run is None or event.run in self._lines or event.name == "step.scheduled"
        if reader is not None and in_view:
            reader(self, event, event.data or {})

    def _enqueued(self, event: Event, data: event_data.Enqueued) -> None:
        self._tokens[data["token"]] = data.get("from_run")

    def _scheduled(self, event: Event, data: event_data.Scheduled) -> None:
        sources = [self._tokens.pop(token, None) for token in data["tokens"]]
        runs = [source for source in dict.fromkeys(sources) if source in self._lines]
        run = event.run or ""
        line = self._lines[run] = _Line(run, data["step"], self._now, [source for source in runs if source])
        line.total = data.get("total", 0 if "claim" in data else None)
        if len(self._lines) > RUNS_MOST:
            self._left_out += 1
            del self._lines[next(iter(self._lines))]

    def _started(self, event: Event, data: event_data.StepStarted) -> None:
        line = self._lines[event.run or ""]
        line.started = self._now if line.started is None else line.started
        line.worker, line.status = data.get("worker"), "running"

    def _loop_started(self, event: Event, data: event_data.LoopStarted) -> None:
        if event.at is None and "total" in data:
            self._lines[event.run or ""].total = data["total"]

    def _claimed(self, event: Event, data: event_data.Claimed) -> None:
        line = self._lines[event.run or ""]
        line.total = (line.total or 0) + data["count"]

    def _iteration(self, event: Event, data: event_data.NoData) -> None:
        if (event.at or "").count("[") == 1:
            line = self._lines[event.run or ""]
            failed = event.name == "loop.iteration.failed"
            line.failed, line.done = line.failed + failed, line.done + (not failed)

    def _task_started(self, event: Event, data: event_data.NoData) -> None:
        line = self._lines[event.run or ""]
        if line.total is not None:
            return
        bar: TaskBar = {
            "task": event.label or "",
            "visit": event.visit or 1,
            "attempt": event.attempt or 1,
            "address": event.at or "",
            "started": self._now,
            "ended": None,
            "status": "running",
            "do": None,
            "what": "task",
        }
        line.open[bar["address"], bar["task"]] = bar
        line.add(bar)

    def _task_parked(self, event: Event, data: event_data.TaskParked) -> None:
        line = self._lines[event.run or ""]
        key = (event.at or "", event.label or "")
        if key in line.open and data.get("for") != "retry":
            line.open[key]["what"] = "child" if data.get("child") else "wait"

    def _task_done(self, event: Event, data: event_data.TaskDone) -> None:
        line = self._lines[event.run or ""]
        bar = line.open.pop((event.at or "", event.label or ""), None)
        if bar is None:
            return
        output = data.get("output") or {}
        ok = output.get("status", "ok") == "ok"
        bar["ended"], bar["do"] = self._now, data.get("do")
        bar["status"] = "skipped" if bar["do"] == "skip" else "done" if ok else _failed(output.get("error"))
        if bar["do"] == "retry":
            until = self._now + int((data.get("delay") or 0) * 1000)
            pause: TaskBar = {**bar, "started": self._now, "ended": until, "status": "waiting"}
            line.add({**pause, "do": None, "what": "delay"})

    def _line_ended(self, event: Event, data: event_data.RunEnded) -> None:
        line = self._lines[event.run or ""]
        line.ended = self._now
        line.status = _failed(data.get("error")) if event.name == "step.failed" else "done"
        line.started = self._now if line.started is None else line.started
        for bar in line.open.values():
            bar["ended"], bar["status"] = self._now, line.status
        line.open.clear()

    def _processed(self, event: Event, data: event_data.NoData) -> None:
        self._ended = True

    def critical(self) -> list[str]:
        """The runs that set the execution's length, from the first to the one that ended last."""
        ended = [line for line in self._lines.values() if line.ended is not None]
        chain: list[str] = []
        line = max(ended, key=_end, default=None)
        while line is not None and line.run not in chain:
            chain.append(line.run)
            before = [self._lines[run] for run in line.sources if run in self._lines]
            line = max(before, key=_end, default=None)
        return chain[::-1]

    def step_durations(self) -> list[tuple[str, int]]:
        """Each ended run's step and how long it took, without the time it waited for somebody or a moment."""
        return [
            (line.step, line.ended - line.scheduled - _waited(line))
            for line in self._lines.values()
            if line.ended is not None
        ]

    def view(self, waits: Set[str] = frozenset()) -> TimelineAnswer:
        """All runs in the order they were scheduled; `waits`: those that have not ended and wait."""
        first = self._first or 0
        return {
            "from": iso(first),
            "to": iso(first + self._last),
            "ended": self._ended,
            "critical": self.critical(),
            "left_out": self._left_out,
            "runs": [_line_view(line, line.run in waits) for line in self._lines.values()],
        }


def _failed(error: ErrorObject | None) -> str:
    """How something ended that is no success: what was called off has not failed of itself."""
    return "cancelled" if error is not None and error.get("kind") == "cancelled" else "failed"


def _waited(line: _Line) -> int:
    """The time that tasks one after another waited; those of a loop are not kept."""
    return sum(
        bar["ended"] - bar["started"]
        for bar in line.bars
        if bar["what"] == "wait" and bar["ended"] is not None
    )


def _end(line: _Line) -> int:
    return line.scheduled if line.ended is None else line.ended


def _line_view(line: _Line, waits: bool) -> RunLine:
    fields: RunLine = {
        "run": line.run,
        "step": line.step,
        "from": line.sources,
        "status": "waiting" if waits else line.status,
        "worker": line.worker,
        "scheduled": line.scheduled,
        "started": line.started,
        "ended": line.ended,
        "tasks": line.bars,
        "left_out": line.left_out,
    }
    if line.total is not None:
        fields["loop"] = {"total": line.total, "done": line.done, "failed": line.failed}
    return fields


READERS: dict[str, Callable[[Timeline, Event, Any], None]] = {
    "token.enqueued": Timeline._enqueued,
    "step.scheduled": Timeline._scheduled,
    "step.started": Timeline._started,
    "loop.started": Timeline._loop_started,
    "loop.claimed": Timeline._claimed,
    "loop.iteration.done": Timeline._iteration,
    "loop.iteration.failed": Timeline._iteration,
    "task.started": Timeline._task_started,
    "task.parked": Timeline._task_parked,
    "task.done": Timeline._task_done,
    **dict.fromkeys(TERMINAL, Timeline._line_ended),
    "playbook.processed": Timeline._processed,
}
