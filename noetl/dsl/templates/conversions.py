"""The language's own filters that turn a value into another form of it: JSON, base64, hashes, dates, SQL.

Each takes the budget first and is pure: no clock is read here.
"""

import base64
import hashlib
import json
import math
from datetime import UTC, datetime

from noetl.dsl.templates.limits import CHARS_PER_STEP, Budget, TemplateError, refuse_above
from noetl.dsl.templates.operators import refuse_missing
from noetl.dsl.templates.values import kind_of, text_of, to_json
from noetl.dsl.yaml.tree import Value

JSON_INDENT_MAX = 16


def tojson(budget: Budget, value: Value, indent: int | None = None) -> str:
    """A value as JSON text, keys in their order."""
    refuse_above(JSON_INDENT_MAX, indent, "an indent")
    return json.dumps(to_json(value, budget), ensure_ascii=False, indent=indent)


def fromjson(budget: Budget, value: Value) -> Value:
    """The value that a JSON text says."""
    text = wanted_text(value)
    budget.spend(len(text) // CHARS_PER_STEP)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TemplateError(f"the text is not JSON: {error}") from None


def _refuse_constant(word: str) -> Value:
    raise TemplateError(f"the text is not JSON: {word} is not a number that JSON knows")


def _bytes(budget: Budget, value: Value) -> bytes:
    """A text in UTF-8; any other value as its JSON."""
    refuse_missing(value)
    text = value if isinstance(value, str) else tojson(budget, value)
    budget.spend(len(text) // CHARS_PER_STEP)
    return text.encode()


def b64encode(budget: Budget, value: Value) -> str:
    """A value as base64 text."""
    return base64.b64encode(_bytes(budget, value)).decode()


def b64decode(budget: Budget, value: Value) -> str:
    """The text that was put into base64."""
    text = wanted_text(value)
    budget.spend(len(text) // CHARS_PER_STEP)
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        hint = "decode bytes in a python task"
        raise TemplateError("the text is not base64 of UTF-8 text", hint=hint) from None


def sha256(budget: Budget, value: Value) -> str:
    """The SHA-256 of a value, in hexadecimal."""
    return hashlib.sha256(_bytes(budget, value)).hexdigest()


def to_datetime(budget: Budget, value: Value, format: str | None = None) -> datetime:  # noqa: A002
    """ISO 8601 text, text in a format, or seconds since 1970; UTC where no zone is given."""
    refuse_missing(value)
    try:
        return _moment(value, format)
    except (ValueError, OverflowError, OSError):
        excerpt = value if isinstance(value, int | float) else repr(str(value)[:60])
        hint = None if format else "give its format: to_datetime('%d/%m/%Y')"
        raise TemplateError(f"{excerpt} is not a date", hint=hint) from None


def _moment(value: Value, pattern: str | None) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    read = datetime.strptime(value, pattern) if pattern else datetime.fromisoformat(value)  # noqa: DTZ007
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def sql_literal(budget: Budget, value: Value) -> str:
    """A value as it stands in SQL text; lists and mappings as their JSON."""
    refuse_missing(value)
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case float():
            raise TemplateError(f"{value} has no SQL literal")
        case str() | datetime():
            text = text_of(value, budget)
        case _:
            text = tojson(budget, value)
    if "\0" in text:
        raise TemplateError("a text with a NUL character has no SQL literal")
    return "'" + text.replace("'", "''") + "'"


def wanted_text(value: Value) -> str:
    """The value itself when it is a text, else an error."""
    refuse_missing(value)
    if not isinstance(value, str):
        raise TemplateError(f"{kind_of(value)} was given where a text is needed")
    return value
