"""What an error says beside its message, within bounds: an error stands in several events of its log.

The names are the contract (docs/reference/error-kinds.md). Secrets are taken out before anything is cut.
"""

from collections.abc import Sequence
from typing import TypeGuard

from noetl.core.shapes import ErrorObject, ScopeValues
from noetl.core.values.output import bounded, size_of
from noetl.json_value import Json

MESSAGE_CHARS = 4_000
TRACEBACK_CHARS = 4_000
LINE_CHARS = 400
TEXT_CHARS = 2_000
DETAILS_BYTES = 16 * 1024
# What is worth its room once: where many errors stand together, all but the first go without.
LONG = frozenset({"traceback", "body", "stderr", "position", "input", "log"})
LOG_LINES = 5


def fitted(error: ErrorObject) -> ErrorObject:
    """An error as it is recorded: message and details cut where they are long."""
    details, message = error.get("details"), error.get("message")
    fit: ErrorObject = {**error}
    if isinstance(message, str) and len(message) > MESSAGE_CHARS:
        fit["message"] = ends(message, MESSAGE_CHARS)
    if details:
        fitting = {name: _fitted(name, value) for name, value in details.items()}
        while size_of(fitting) > DETAILS_BYTES:
            del fitting[max(fitting, key=lambda name: size_of(fitting[name]))]
        fit["details"] = fitting
    return fit


def with_place(error: ErrorObject, own_input: ScopeValues, log: Sequence[str]) -> ErrorObject:
    """An error that also says what its task was given, and what it printed last."""
    own: dict[str, object] = {}
    if own_input:
        own["input"] = bounded(dict(own_input), TEXT_CHARS)
    if log:
        own["log"] = [_line(line) for line in log[-LOG_LINES:]]
    # Inside a block the task that failed has said so already.
    return {**error, "details": {**own, **(error.get("details") or {})}}


def short(error: ErrorObject) -> ErrorObject:
    """An error as one of many: without what takes room."""
    details = error.get("details") or {}
    if LONG.isdisjoint(details):
        return {**error}
    return {**error, "details": {name: value for name, value in details.items() if name not in LONG}}


def _fitted(name: str, value: Json) -> object:
    if isinstance(value, str):
        cut = {"traceback": _lines, "stderr": _end}.get(name, _beginning)
        return cut(value)
    if name == "error" and is_error(value):
        return fitted(value)
    return bounded(value, TEXT_CHARS)


def is_error(value: object) -> TypeGuard[ErrorObject]:
    """Whether a detail of an error is an error itself: that of a child."""
    return isinstance(value, dict)


def ends(text: str, chars: int) -> str:
    """A text without its middle when it is long."""
    return text if len(text) <= chars else f"{text[: chars // 2]}\n…\n{text[-chars // 2 :]}"


def _beginning(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}…"


def _end(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else f"…{text[-TEXT_CHARS:]}"


def _lines(text: str) -> str:
    """A traceback in whole lines: a few from its beginning, as many as fit from its end."""
    if len(text) <= TRACEBACK_CHARS:
        return text
    lines = [_line(line) for line in text.splitlines()]
    head = _fitting(lines, TRACEBACK_CHARS // 4)
    tail = _fitting(lines[:head:-1], TRACEBACK_CHARS * 3 // 4)
    left_out = len(lines) - head - tail
    return "\n".join([*lines[:head], f"  … {left_out} lines left out …", *lines[len(lines) - tail :]])


def _line(text: str) -> str:
    return text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…"


def _fitting(lines: list[str], chars: int) -> int:
    """How many of the first lines fit."""
    for count, line in enumerate(lines):
        chars -= len(line) + 1
        if chars < 0:
            return count
    return len(lines)
