"""A value as one line of YAML, for messages and for hints that show what to write; not whole documents."""

import json
import re

LENGTH_MAX = 600
SEEN_MAX = 60
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


def shortened(text: str, limit: int) -> str:
    """The text, cut with an ellipsis when it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def flow(value: object) -> str:
    """The value in flow style, cut where it would fill a screen."""
    text = _flow(value)
    return text if len(text) <= LENGTH_MAX else f"{text[:LENGTH_MAX]} …"


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def seen(value: object) -> str:
    """A value as a message names it: short, on one line."""
    text = _flow(value) if not isinstance(value, str) else f"'{value}'"
    text = " ".join(text.split())
    return shortened(text, SEEN_MAX)


def described(value: object) -> str:
    """The type of a value, and the value itself when it is short enough to be one word."""
    detail = "" if isinstance(value, dict | list) or value is None else f" {seen(value)}"
    return f"{type_name(value)}{detail}"


def type_name(value: object) -> str:
    """What a message calls the type of a value that the grammar looks at: it tells whole numbers apart."""
    if value is None:
        return "nothing"
    return "an integer" if type(value) is int else json_type(value)


def json_type(value: object) -> str:
    """What a message calls the type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return f"a {type(value).__name__}"
