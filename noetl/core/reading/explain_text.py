"""Recorded decisions in words: what a guard saw, which arcs were taken, what a task waits for. Pure text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from noetl.core.event import iso
from noetl.core.event_data import ArcRecord, GuardSeen, TaskDone, TaskParked
from noetl.core.shapes import ErrorObject, Failure, LoopTotals, ScopeValues
from noetl.core.values.error_details import is_error
from noetl.dsl.yaml.one_line import shortened

SHOWN_CHARS = 80
SAID_CHARS = 400
BODY_CHARS = 200
_encode = msgspec.json.encode


def value(item: object) -> str:
    """A value as a reader sees it in a sentence, cut where it is long."""
    return shortened(_encode(item).decode(), SHOWN_CHARS)


def seen(operands: ScopeValues) -> str:
    """What a guard read, in brackets; empty when it read nothing."""
    if not operands:
        return ""
    return f" ({', '.join(f'{path} = {value(item)}' for path, item in operands.items())})"


def arc(record: ArcRecord) -> str:
    """Why an arc was taken or not."""
    target, operands = record["step"], record.get("seen", {})
    if not record.get("asked", True):
        return f"the arc to '{target}' was not asked, because an arc before it was taken"
    if record["matched"]:
        why = f"its condition held{seen(operands)}" if operands else "it has no condition that could fail"
        return f"the arc to '{target}' was taken: {why}{_wrote(record)}"
    why = f"its condition did not hold{seen(operands)}" if operands else "its condition never holds"
    return f"the arc to '{target}' was not taken: {why}"


def _wrote(record: ArcRecord) -> str:
    writes = record.get("set", ())
    if not writes:
        return ""
    return "; it set " + ", ".join(f"ctx.{'.'.join(path)} = {value(item)}" for path, item in writes)


def admission(rule: int | str | None, guards: Sequence[GuardSeen], *, allowed: bool) -> str:
    """Which admission rule decided, and what the rules before it saw."""
    verdict = "lets it in" if allowed else "refuses it"
    if rule is None:
        return "there is no admission rule"
    if isinstance(rule, int):
        return f"admission rule {rule} {verdict}: its condition held{seen(guards[rule]['seen'])}"
    missed = "; ".join(
        f"rule {index} did not hold{seen(guard['seen'])}" for index, guard in enumerate(guards)
    )
    if rule == "else":
        return f"the `else` of its admission {verdict}" + (f": {missed}" if missed else "")
    return f"no admission rule held, which {verdict}" + (f": {missed}" if missed else "")


def error(item: Mapping[str, Any] | None) -> str:
    """An error as kind and message."""
    if not item:
        return "no error was given"
    kind, message = item.get("kind", "error"), str(item.get("message", "no message"))
    return message if message.startswith(f"{kind}: ") else f"{kind}: {message}"


def error_and_body(item: Mapping[str, Any] | None) -> str:
    """An error with the beginning of what was answered, on one line."""
    body = " ".join(str(((item or {}).get("details") or {}).get("body") or "").split())
    return f"{error(item)}: {shortened(body, BODY_CHARS)}" if body else error(item)


def details(item: Mapping[str, Any] | None) -> list[tuple[str, list[str]]]:
    """What an error says beside its message: a short name each, and its lines. A child's error speaks too."""
    rest = dict((item or {}).get("details") or {})
    sections = [(name, show(rest.pop(key))) for key, (name, show) in _DETAILS.items() if rest.get(key)]
    inner = rest.pop("error", None)
    if is_error(inner):
        own = {name for name, _ in sections}
        sections += [(name, lines) for name, lines in details(inner) if name not in own]
    sections += [(name, _said(rest[name])) for name in _SAID if rest.get(name)]
    return sections


def _said(item: object) -> list[str]:
    return _lines(shortened(item, SAID_CHARS)) if isinstance(item, str) else [value(item)]


def _lines(text: object) -> list[str]:
    return str(text).rstrip().splitlines()


def _position(place: Mapping[str, Any]) -> list[str]:
    """Where in the SQL: the place, its line, and a caret below it."""
    text = str(place.get("text", "")).replace("\t", " ")
    caret = " " * (place["column"] - place.get("text_from", 1)) + "^"
    return [f"line {place['line']}, column {place['column']}", text, caret]


def _input(own_input: object) -> list[str]:
    return [own_input if isinstance(own_input, str) else _encode(own_input).decode()]


_DETAILS: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "input": ("input", _input),
    "traceback": ("trace", _lines),
    "position": ("sql", _position),
    "body": ("body", _lines),
    "stderr": ("stderr", _lines),
    "log": ("log", list),
}
_SAID = ("detail", "hint", "context")  # what a database adds in words


def loop(counts: LoopTotals | None) -> str:
    """How the iterations of a loop went."""
    if not counts:
        return ""
    parts = f"{counts['done']} of {counts['total']} iterations went well"
    if counts["failed"]:
        parts += f", {counts['failed']} failed"
    if counts["skipped"]:
        parts += f", {counts['skipped']} never ran to an end"
    return parts


def failed(problem: ErrorObject | None) -> str:
    """How a run ended that did not end well; one that was called off did not fail."""
    if problem is None or problem.get("kind") != "cancelled":
        return f"failed: {error(problem)}"
    why = str(problem.get("message", "")).removeprefix("cancelled: ")
    return "was cut off" if why in ("", "cancelled") else f"was cut off: {why}"


def claimed(number: int, count: int) -> str:
    """What a claim brought."""
    if not count:
        return f"claim {number} brought no rows: nothing is left to claim"
    return f"claim {number} brought {'1 row' if count == 1 else f'{count:,} rows'}"


def failed_iterations(number: int) -> str:
    """What a completed execution went on without."""
    many = "1 iteration" if number == 1 else f"{number:,} iterations"
    return f"{many} of its best-effort loops failed; a retry runs those again"


def taken(failure: Failure) -> str:
    """What became of a failure that an arc took."""
    if failure.get("answered"):
        return f"the failure was answered by the arc to '{failure['taken_by']}', whose guard asks about it"
    return f"the failure was taken, but nothing asked about it: {_unasking(failure)}"


def unasked(failure: Failure) -> str:
    """Why a failure that an arc took fails the execution."""
    return f"step '{failure['step']}' failed and nothing asked about it ({_unasking(failure)})"


def _unasking(failure: Failure) -> str:
    return f"the arc to '{failure['taken_by']}' has no guard that reads event"


def again(why: str) -> str:
    """Why work that was out is to go out again."""
    return {
        "returned": "was handed back",
        "lost": "never came to a worker",
        "resume": "was taken from a process that is gone",
    }.get(why, "was taken from its worker, which fell silent,")


def waiting(data: TaskParked) -> str:
    """What a parked task waits for."""
    if data.get("approval") and data["approval"] != data.get("signal"):
        return f"the approval '{data['approval']}' (signal '{data['signal']}')"
    if data.get("signal"):
        return f"the signal '{data['signal']}'"
    if data.get("child"):
        path = (data.get("call") or {}).get("path", "a playbook")
        return f"the playbook {path} (execution {data['child']})"
    what = "its next attempt" if data.get("for") == "retry" else "its time"
    until = data.get("until")
    return what if until is None else f"{what}, {iso(until)}"


def rule(data: TaskDone, place: str = "rule") -> str:
    """Which policy rule chose a directive, and what it saw."""
    chosen = data.get(place)
    if chosen is None:
        return "no rule decided"
    name = "the `else` rule" if chosen == "else" else f"rule {chosen}"
    return f"{name} held{seen(data.get('seen', {}))}" if chosen != "else" else name
