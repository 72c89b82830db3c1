"""How a run ended, for a person: the tally, the task that failed and its input, what to do next."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from noetl.cli.options import there
from noetl.cli.render import Paint, Tone, counted
from noetl.core.event import index_of
from noetl.core.lines import address_of
from noetl.core.program import Program
from noetl.errors import NoetlError, PlaybookError
from noetl.ports.front import Front
from noetl.ports.store import PlaybookText

TONES: dict[str, Tone] = {"completed": "good", "paused": "warning", "interrupted": "warning"}
ENDED = ("completed", "failed", "cancelled")
SHOWN_INPUT = 600
SHOWN_FAILURES = 10
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a run failed and what the task was given."""

    error: dict[str, Any]
    input: Any = None
    logs: list[str] = field(default_factory=list)


async def failure_of(front: Front, result: dict[str, Any]) -> Failure:
    """Look the failed task up in the log."""
    error, started, logs = result["error"], None, []
    if error.get("step") and error.get("task"):
        async for shown in _told_of(front, result["execution_id"], error):
            if shown["name"] == "task.started":
                started = shown
            elif shown["name"] == "task.done":
                logs = shown["data"].get("logs", [])
    given = started["data"].get("input") if started is not None else None
    if given is None and started is not None:
        given = await _written_input(front, result["execution_id"], error)
    return Failure(error, given, logs)


async def _told_of(front: Front, execution_id: str, error: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The events of the task that failed."""
    first = 1
    while True:
        page = await front.events(execution_id, first=first, limit=PAGE, name="task.*", step=error["step"])
        for shown in page:
            if shown.get("task_label") == error["task"] and _is_at(shown, error.get("iteration")):
                yield shown
        if len(page) < PAGE:
            return
        first = page[-1]["seq"] + 1


def _is_at(shown: dict[str, Any], place: Any) -> bool:
    """Whether an event is of the iteration that an error names."""
    return place is None or index_of(address_of(shown)) == place


async def _written_input(front: Front, execution_id: str, error: dict[str, Any]) -> Any:
    """The input of a task that has no template: what the author wrote is what it was given."""
    try:
        program = compiled(await front.playbook_of(execution_id))
    except NoetlError:
        return None
    step = program.steps.get(error["step"])
    for task in step.pipeline.tasks if step else ():
        if task.label == error["task"] and task.input.static:
            return {key: value for key, value in task.input.render({}).items() if key != "code"} or None
    return None


def compiled(entry: PlaybookText) -> Program:
    """A playbook that was accepted once, ready to be asked; raises PlaybookError when it is not any more."""
    from noetl.core.program import compile_program
    from noetl.dsl.load import load
    from noetl.tools import kinds

    loaded = load(entry.text, kinds=kinds())
    if loaded.playbook is None or not loaded.ok:
        raise PlaybookError(loaded.diagnostics)
    return compile_program(loaded.playbook, kinds(), entry.hash)


def tally(result: dict[str, Any], paint: Paint) -> list[str]:
    """One line that says how it went, one for each failure that an unguarded arc took."""
    counts = result["counts"]
    parts = [counted(counts["steps"], "step"), counted(counts["tasks"], "task")]
    if counts["iterations"]:
        parts.append(counted(counts["iterations"], "iteration"))
    parts.append(counted(counts["events"], "event"))
    tone = TONES.get(result["status"], "error")
    word = "in" if result["status"] in ENDED else "after"
    head = f"{paint(result['status'], tone)} {word} {duration(result['duration_ms'])}: {', '.join(parts)}"
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
    lines.append(f"  {paint('=', 'info')} try: noetl execution why {execution_id}{step}{there()}")
    lines.append(f"         noetl execution retry {execution_id}{there()}")
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
    """A number with a comma between its thousands."""
    return f"{value:,}"
