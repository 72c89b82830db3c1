"""What comes from outside and is kept: every store takes it, or it is refused here. Nothing is kept here."""

import unicodedata

import msgspec

from noetl.core.values.nesting import TOO_DEEP, is_too_deep
from noetl.errors import RequestError
from noetl.json_value import Json
from noetl.ports.values import ValueProblem, to_json

NUL = b"\\u0000"
NOT_SHOWN = ("Cc", "Cs")  # characters that control a terminal, and halves of characters
SHOWN = 80


def storable_json(value: Json, name: str) -> bytes:
    """A value that comes from outside, as JSON; raises RequestError for what the log does not keep."""
    if is_too_deep(value):
        raise RequestError(f"{name}: {TOO_DEEP}", hint="make it flatter, or send it as a text")
    try:
        text = msgspec.json.encode(value)
        if NUL in text:  # or a backslash before those letters: only a look at every text tells
            to_json(value, name)
    except (ValueProblem, UnicodeEncodeError) as problem:
        raise RequestError(str(problem), hint="remove it") from None
    return text


def require_plain(text: str | None, name: str) -> None:
    """Refuse a name or a path with a character that nobody sees; `name` says which of them it is."""
    for place, character in enumerate(text or "", 1):
        if unicodedata.category(character) in NOT_SHOWN:
            shown = repr(text)[:SHOWN]
            message = f"{name} has the control character U+{ord(character):04X} at character {place}: {shown}"
            raise RequestError(message, hint="remove it")
