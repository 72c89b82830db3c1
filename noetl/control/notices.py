"""What the events of a commit say that somebody may want to know: ends of steps, and when one is late."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.core.event import Event
from noetl.core.program.program import Program
from noetl.core.state import State
from noetl.dsl.model import Emit
from noetl.json_value import JsonObject
from noetl.ports.notification import Notice

TEXT_LENGTH = 1000  # of an error's text
BODY_LENGTH = 300  # of what an address answered
_CODE_LINE = re.compile(r'^ *File "[^"]*", line (\d+)', re.MULTILINE)


def notices_of(program: Program | None, state: State, before: int, events: list[Event]) -> list[Notice]:
    """The notices of events behind `before`. One that goes on from another is late as that one is."""
    if program is None:
        return []
    notices = _late(program, state, events[0]) if before == 0 and state.before is None else []
    for seq, event in enumerate(events, before + 1) if program.emits else ():
        name = (event.run or "").rpartition(".")[0]
        emit = program.emits.get(name)
        if emit is not None and event.name in emit.events:
            notices.append(_ended(name, emit, seq, event))
    return notices


def _late(program: Program, state: State, first: Event) -> list[Notice]:
    expected_s = program.playbook.executor.expected_s
    if expected_s is None or state.ended:
        return []
    expected_ms = int(expected_s * 1000)
    detail = msgspec.json.encode({"expected_ms": expected_ms}).decode()
    at = first.ts + expected_ms
    return [Notice("late", state.seq, at, detail=detail, due_at=at)]


def _ended(name: str, emit: Emit, seq: int, event: Event) -> Notice:
    data = event.data or {}
    error = data.get("error") or (data.get("output") or {}).get("error")
    said: dict[str, object] = {"step": name}
    if isinstance(error, dict):
        said["error"] = told_error({**error, "step": name})
    return Notice(event.name, seq, event.ts, list(emit.to), msgspec.json.encode(said).decode())


def told_error(error: Mapping[str, Any]) -> JsonObject:
    """What went wrong and where; of an answer its beginning, of a traceback the last line of the author's."""
    details: dict[str, Any] = error.get("details") or {}
    lines = _CODE_LINE.findall(str(details.get("traceback") or ""))
    known = {
        "task": error.get("task") if error.get("task") != f"{error.get('step')}_task" else None,
        "iteration": error.get("iteration"),
        "line": int(lines[-1]) if lines else None,
        "body": str(details.get("body") or "")[:BODY_LENGTH] or None,
    }
    return {
        "kind": error.get("kind"),
        "message": str(error.get("message") or "")[:TEXT_LENGTH],
        "step": error.get("step"),
        **{name: value for name, value in known.items() if value is not None},
    }
