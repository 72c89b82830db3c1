"""Where a run is: its steps and loops, kept up to date event by event with constant work for each.

Only counting is here; drawing it is progress_tree.py's, telling it in lines watches.py's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, cast

from noetl.core.event import Event, step_of
from noetl.core.reading import explain_text
from noetl.core.shapes import ErrorObject, RetainedBatch
from noetl.ports.answers import StepStanding

StepState = Literal["queued", "running", "waiting", "held", "done", "failed", "cancelled", "refused"]


class LoopCounts(TypedDict):
    """How the iterations of a loop ended."""

    done: int
    failed: int


class LoopOutput(TypedDict, total=False):
    """The output of a step, as far as it is looked at."""

    loop: LoopCounts
    error: ErrorObject | None


class CallFields(TypedDict, total=False):
    """The playbook that a task called."""

    path: str


# What events say, as far as it is looked at; `for` is a word of Python, so it has no class.
EventFields = TypedDict(
    "EventFields",
    {
        "step": str,
        "steps": dict[str, StepStanding],
        "total": int,
        "claim": dict[str, int | None],
        "count": int,
        "batch": RetainedBatch,
        "kept": bool,
        "iterations": list[int],
        "waits_for": list[str],
        "signal": str,
        "approval": str,
        "child": str,
        "call": CallFields | None,
        "for": str,
        "output": LoopOutput | None,
        "error": ErrorObject | None,
    },
    total=False,
)


@dataclass(slots=True)
class LoopProgress:
    """One run of a loop."""

    total: int
    began: int
    claiming: bool = False  # more items may come
    kept: int = 0  # iterations that an earlier execution finished
    started: int = 0
    done: int = 0
    failed: int = 0
    error: str | None = None  # of the first iteration that failed

    @property
    def over(self) -> int:
        return self.done + self.failed

    @property
    def running(self) -> int:
        return max(0, self.started - self.over + self.kept)

    def rate(self, now: int) -> float | None:
        """Iterations per second; None while nothing can be said."""
        elapsed = (now - self.began) / 1000
        worked = self.over - self.kept
        return worked / elapsed if worked and elapsed > 0 else None

    def left_s(self, now: int) -> float | None:
        """Seconds until it is through, if it goes on like this and there is an end in sight."""
        rate = self.rate(now)
        return (self.total - self.over) / rate if rate and not self.claiming else None


@dataclass(slots=True)
class StepProgress:
    """All runs of one step."""

    name: str
    state: StepState = "queued"
    runs: int = 0
    active: int = 0
    began: int = 0
    ended: int | None = None
    task: str | None = None
    attempt: int = 1
    why: str = ""  # what it waits for
    loop: LoopProgress | None = None

    def elapsed(self, now: int) -> int:
        """Milliseconds its latest run has taken so far, or took."""
        return max(0, (self.ended or now) - self.began)


@dataclass(slots=True)
class Progress:
    """A run as it stands."""

    steps: dict[str, StepProgress] = field(default_factory=dict)
    changed: list[StepProgress] = field(default_factory=list)  # steps that ended or ask, not yet told of
    seq: int = 0
    now: int = 0

    def receive(self, first: int, events: list[Event]) -> None:
        """Take in events; those that were heard before are passed over."""
        for seq, event in enumerate(events, first):
            if seq > self.seq:
                self.seq, self.now = seq, event.ts
                handler = HANDLERS.get(event.name)
                if handler is not None:
                    handler(self, event, cast(EventFields, event.data or {}))

    def flawed(self) -> dict[str, LoopProgress]:
        """The loops of steps that ended well without some of their iterations."""
        loops = {step.name: step.loop for step in self.steps.values() if step.state == "done"}
        return {name: loop for name, loop in loops.items() if loop is not None and loop.failed}

    def _step(self, name: str) -> StepProgress:
        step = self.steps.get(name)
        if step is None:
            step = self.steps[name] = StepProgress(name)
        return step

    def _of(self, event: Event) -> StepProgress:
        return self._step(step_of(event.run or ""))

    def _scheduled(self, event: Event, data: EventFields) -> None:
        step = self._step(data["step"])
        step.state, step.began, step.ended, step.why = "queued", event.ts, None, ""
        step.runs += 1
        step.active += 1
        step.task, step.attempt = None, 1
        if "total" in data or "claim" in data:
            loop = step.loop if data.get("kept") else None
            step.loop = loop or LoopProgress(data.get("total", 0), event.ts)
            step.loop.began, step.loop.claiming = event.ts, "claim" in data

    def _claimed(self, event: Event, data: EventFields) -> None:
        loop = self._of(event).loop
        if loop is not None:
            loop.total += data["count"]
            loop.claiming = data["count"] > 0

    def _loop_restored(self, event: Event, data: EventFields) -> None:
        step = self._step(data["step"])
        loop = step.loop = step.loop or LoopProgress(data["total"], event.ts)
        loop.kept += len(data["iterations"])
        loop.done += len(data["iterations"])

    def _execution_restored(self, event: Event, data: EventFields) -> None:
        for name, count in data.get("steps", {}).items():
            step = self._step(name)
            step.runs, step.began, step.ended = count["runs"], event.ts, event.ts
            step.state, step.why = ("failed" if count["status"] == "failed" else "done"), "kept"

    def _started(self, event: Event, data: EventFields) -> None:
        self._of(event).state = "running"

    def _task_started(self, event: Event, data: EventFields) -> None:
        step = self._of(event)
        if step.loop is None:
            step.state, step.task, step.attempt, step.why = "running", event.label, event.attempt or 1, ""

    def _parked(self, event: Event, data: EventFields) -> None:
        step = self._of(event)
        if step.loop is None:
            step.state, step.why = "waiting", waits_for(data)
            if data.get("signal"):  # somebody has to do something
                self.changed.append(replace(step))

    def _resumed(self, event: Event, data: EventFields) -> None:
        step = self._of(event)
        step.state, step.why = "running", ""
        self._answered(step)

    def _iteration_started(self, event: Event, data: EventFields) -> None:
        loop = self._of(event).loop
        if loop is not None and event.at and event.at.rfind("[") == 0:
            loop.started += 1

    def _iteration_done(self, event: Event, data: EventFields) -> None:
        loop = self._of(event).loop
        if loop is not None and event.at and event.at.rfind("[") == 0:
            loop.done += 1

    def _iteration_failed(self, event: Event, data: EventFields) -> None:
        loop = self._of(event).loop
        if loop is not None and event.at and event.at.rfind("[") == 0:
            loop.failed += 1
            loop.error = loop.error or explain_text.error_and_body(data.get("error"))

    def _handed_back(self, event: Event, data: EventFields) -> None:
        loop = self._of(event).loop
        if loop is not None:
            loop.started = loop.over - loop.kept

    def _held(self, event: Event, data: EventFields) -> None:
        step = self._step(data["step"])
        if not step.active:
            step.state, step.began, step.ended = "held", event.ts, None
            step.why = f"for {', '.join(data.get('waits_for', ()))}"

    def _refused(self, event: Event, data: EventFields) -> None:
        step = self._step(data["step"])
        if not step.active:
            step.state, step.ended, step.why = "refused", event.ts, ""
            step.began = step.began or event.ts

    def _ended(self, event: Event, data: EventFields) -> None:
        step = self._of(event)
        step.active -= 1
        step.ended = event.ts
        step.state = "done" if event.name != "step.failed" else "cancelled" if _cut_off(data) else "failed"
        if step.active:
            step.state, step.ended = "running", None
        counts = (data.get("output") or {}).get("loop")
        if counts and step.loop is not None:
            step.loop.done, step.loop.failed = counts["done"], counts["failed"]
            step.loop.started, step.loop.claiming = step.loop.over - step.loop.kept, False
        self._answered(step)
        self.changed.append(replace(step))  # it may begin again before it is told

    def _answered(self, step: StepProgress) -> None:
        """What was asked needs not be told any more: the log is read from its beginning."""
        self.changed = [one for one in self.changed if one.name != step.name or one.state != "waiting"]


def waits_for(data: EventFields) -> str:
    """What a parked task waits for, in a few words."""
    if data.get("signal"):
        waiting_for = data.get("approval", data["signal"])
        return f"for the signal {data['signal']}" + (
            "" if waiting_for == data["signal"] else f": {waiting_for}"
        )
    if data.get("child"):
        return f"for the playbook {(data.get('call') or {}).get('path', data['child'])}"
    return "to try again" if data.get("for") == "retry" else "for its time"


HANDLERS: dict[str, Callable[[Progress, Event, EventFields], None]] = {
    "execution.restored": Progress._execution_restored,
    "loop.restored": Progress._loop_restored,
    "step.scheduled": Progress._scheduled,
    "step.started": Progress._started,
    "task.started": Progress._task_started,
    "task.parked": Progress._parked,
    "task.resumed": Progress._resumed,
    "loop.claimed": Progress._claimed,
    "loop.iteration.started": Progress._iteration_started,
    "loop.iteration.done": Progress._iteration_done,
    "loop.iteration.failed": Progress._iteration_failed,
    "lease.expired": Progress._handed_back,
    "lease.returned": Progress._handed_back,
    "token.held": Progress._held,
    "token.refused": Progress._refused,
    "step.done": Progress._ended,
    "step.failed": Progress._ended,
    "loop.done": Progress._ended,
}


def _cut_off(data: EventFields) -> bool:
    """Whether a step failed only because its execution was cancelled."""
    error = (data.get("output") or {}).get("error")
    return error is not None and error["kind"] == "cancelled"
