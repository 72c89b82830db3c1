"""How a run ended, for a person: the tally, the task that failed and its input, what to do next."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from noetl.cli.render import Paint, Tone, counted
from noetl.control.history import events
from noetl.core.event import Event, step_of
from noetl.core.program import Program
from noetl.errors import NoetlError
from noetl.wiring.embedded import Embedded

TONES: dict[str, Tone] = {"completed": "good", "paused": "warning", "interrupted": "warning"}
SHOWN_INPUT = 600
SHOWN_FAILURES = 10


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a run failed and what the task was given."""

    error: dict[str, Any]
    input: Any = None
    logs: list[str] = field(default_factory=list)


async def failure_of(made: Embedded, result: dict[str, Any]) -> Failure:
    """Look the failed task up in the log."""
    error, started, logs = result["error"], None, []
    if error.get("step") and error.get("task"):
        async for _, event in events(made.store, result["execution_id"]):
            if _is_of(event, error):
                if event.name == "task.started":
                    started = event
                elif event.name == "task.done":
                    logs = (event.data or {}).get("logs", [])
    given = (started.data or {}).get("input") if started is not None else None
    if given is None and started is not None:
        given = await _written_input(made, result["playbook"]["hash"], error)
    return Failure(error, given, logs)


def _is_of(event: Event, error: dict[str, Any]) -> bool:
    if event.label != error["task"] or event.run is None or step_of(event.run) != error["step"]:
        return False
    place = error.get("iteration")
    return place is None or event.at == (f"[{place}]" if isinstance(place, int) else place)


async def _written_input(made: Embedded, digest: str, error: dict[str, Any]) -> Any:
    """The input of a task that has no template: what the author wrote is what it was given."""
    try:
        program: Program = await made.catalog.program(digest)
    except NoetlError:
        return None
    step = program.steps.get(error["step"])
    for task in step.pipeline.tasks if step else ():
        if task.label == error["task"] and task.input.static:
            return {key: value for key, value in task.input.render({}).items() if key != "code"} or None
    return None


def tally(result: dict[str, Any], paint: Paint) -> list[str]:
    """One line that says how it went, one for each failure that an unguarded arc took."""
    counts = result["counts"]
    parts = [counted(counts["steps"], "step"), counted(counts["tasks"], "task")]
    if counts["iterations"]:
        parts.append(counted(counts["iterations"], "iteration"))
    parts.append(counted(counts["events"], "event"))
    tone = TONES.get(result["status"], "error")
    head = f"{paint(result['status'], tone)} in {duration(result['duration_ms'])}: {', '.join(parts)}"
    return [head, *_taken(result["failures"], paint)]


def _taken(failures: list[dict[str, Any]], paint: Paint) -> list[str]:
    lines = [
        f"  {paint('failed', 'warning')}  {item['step']}, taken by the unguarded arc to {item['taken_by']}: "
        f"{(item['error'] or {}).get('message', 'no error was given')}"
        for item in failures[:SHOWN_FAILURES]
    ]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"  … and {counted(len(failures) - SHOWN_FAILURES, 'more failure')}")
    return lines


def explained(failure: Failure, execution_id: str, paint: Paint) -> list[str]:
    """Where it failed: step, task, input, error, and the commands that show more."""
    error = failure.error
    names = {"step": "step", "task": "task", "iteration": "iteration", "attempt": "attempt"}
    place = [f"{name} {error[key]}" for key, name in names.items() if error.get(key) is not None]
    lines = [f"{paint('error', 'error')}[{error['kind']}]: {error['message']}"]
    if place:
        lines.append(f"  in     {', '.join(place)}")
    if failure.input is not None:
        lines.append(f"  input  {brief(failure.input)}")
    lines += [f"  log    {line}" for line in failure.logs[-5:]]
    step = f" --step {error['step']}" if error.get("step") else ""
    lines.append(f"  {paint('=', 'info')} try: noetl execution why {execution_id}{step}")
    lines.append(f"         noetl execution retry {execution_id}")
    return lines


def brief(value: Any, limit: int = SHOWN_INPUT) -> str:
    """A value as one line of JSON, cut where it is long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def pretty(value: Any) -> str:
    """A value as indented JSON text."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def duration(ms: float) -> str:
    """A span of time as a person reads it."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def number(value: int) -> str:
    """A number with a space between its thousands."""
    return f"{value:,}".replace(",", " ")
