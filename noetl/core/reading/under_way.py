"""Tasks that have begun and are not over, from the log: since when, on which worker. And what is said of one.

What the log cannot know (the time, what was printed, who was heard of, how long others took) is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noetl.core import event_data
from noetl.core.event import TERMINAL, Event, iso, step_of
from noetl.json_value import Json

OVER = frozenset({"task.done", "task.parked"})
AGAIN = frozenset(
    {"lease.expired", "lease.returned", *TERMINAL}
)  # what was begun of a run is over, or begins again


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that has begun."""

    seq: int
    run: str
    task: str
    at: str
    attempt: int
    since: int
    worker: str | None
    step_ends: int | None = None  # when the timeout or the deadline of its step does
    rendered: Mapping[str, Json] = field(default_factory=dict)  # of its input, what no literal says

    @property
    def step(self) -> str:
        """The step that it is a task of."""
        return step_of(self.run)


@dataclass(slots=True)
class UnderWay:
    """What is under way, read event by event; the longest first."""

    tasks: dict[tuple[str, str], RunningTask] = field(default_factory=dict)
    workers: dict[str, str] = field(default_factory=dict)  # by run, of which the last that took some of it

    def receive(self, seq: int, event: Event) -> None:
        """Read an event."""
        run, at = event.run or "", event.at or ""
        if event.name == "step.started":
            data: event_data.StepStarted = event.data or {}  # type: ignore[assignment]
            self.workers[run] = data.get("worker", "")
        elif event.name == "task.started":
            self.tasks[run, at] = RunningTask(
                seq,
                run,
                event.label or "",
                at,
                event.attempt or 1,
                event.ts,
                self.workers.get(run) or None,
                rendered=(event.data or {}).get("input", {}),
            )
        elif event.name in OVER:
            self.tasks.pop((run, at), None)
        elif event.name in AGAIN:
            for key in [key for key in self.tasks if key[0] == run]:
                del self.tasks[key]

    def of_run(self, run: str) -> list[RunningTask]:
        """The tasks of a run."""
        return [task for task in self.tasks.values() if task.run == run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is known of a running task beside the log."""

    now: int
    timeout_s: float | str | None = None  # a template that is no number yet, as it is written
    waits_until: int | None = None  # of a wait for a moment
    printed: tuple[int, str] | None = None
    heard_at: int | None = None  # when its worker was heard of
    usual_ms: int | None = None  # of its step
    counted: int = 0  # runs that this is the middle of


def sentences(task: RunningTask, signs: Signs) -> list[str]:
    """What can be said of a task that has not ended yet."""
    where = f" in iteration {task.at}" if task.at else ""
    again = f", attempt {task.attempt}" if task.attempt > 1 else ""
    worker = f" on {task.worker}" if task.worker else ""
    if task.worker and signs.heard_at is not None:
        worker += f", which was heard of {_span(signs.now - signs.heard_at)} ago"
    does = "running" if signs.waits_until is None else "waiting"
    took = _span(signs.now - task.since)
    first = f"task '{task.task}'{where} has been {does} for {took}, since {iso(task.since)}{again}{worker}"
    if signs.waits_until is not None:
        return [first, _end(task, signs)]  # a wait prints nothing, and others waited for another moment
    printed = "it has printed nothing"
    if signs.printed is not None:
        at, text = signs.printed
        printed = f"it printed last {_span(signs.now - at)} ago: {text}"
    said = [first, printed, _end(task, signs)]
    if signs.usual_ms is not None:
        middle = f"in the middle of {signs.counted} that ended well" if signs.counted > 1 else "the last time"
        said.append(f"step '{task.step}' took {_span(signs.usual_ms)} {middle}")
    return said


def _end(task: RunningTask, signs: Signs) -> str:
    ends = {}
    if isinstance(signs.timeout_s, int | float):
        ends[task.since + int(signs.timeout_s * 1000)] = f"its timeout of {signs.timeout_s:g} s"
    if task.step_ends is not None:
        ends[task.step_ends] = "the time that its step has"
    if signs.waits_until is not None and signs.waits_until < min(ends, default=signs.waits_until + 1):
        return f"it waits until {iso(signs.waits_until)}, for another {_span(signs.waits_until - signs.now)}"
    if ends:
        at = min(ends)
        left = at - signs.now
        return f"{ends[at]} ends it in {_span(left)}" if left > 0 else f"{ends[at]} is over"
    if signs.timeout_s is not None:
        return f"its timeout is {signs.timeout_s}"
    return "it has no timeout and may go on for ever; with `spec: {timeout: 60}` it fails after 60 s"


def _span(ms: int) -> str:
    seconds = max(0, ms) / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
