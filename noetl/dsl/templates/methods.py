"""The functions of values that a template may call, as in `name.split(',')`: an allow-list by type.

Each is Python's own, called only after what it would make has been counted. A function is never a value:
`{{ name.split }}` is missing, and a field that has the name of a function is the field.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from string import Formatter
from typing import Final

from jinja2 import pass_context
from jinja2.runtime import Context, LoopContext

from noetl.dsl.templates.limits import Budget, TemplateError
from noetl.dsl.templates.operators import budget_of, check_format_spec, concat, refuse_missing, settle
from noetl.dsl.templates.values import ABSENT, LISTS, kind_of, measure, member, text_of
from noetl.dsl.yaml.tree import Value

METHOD = "a.b()"
NEEDLE_MAX = 256
DATE_FORMAT_MAX = 256

_TEXT_METHODS = frozenset({
    "capitalize", "casefold", "center", "count", "endswith", "find", "format", "index", "isalnum",
    "isalpha", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "join",
    "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rjust",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title",
    "upper", "zfill",
})  # fmt: skip

METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: _TEXT_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
    float: frozenset({"is_integer"}),
    datetime: frozenset({"isoformat", "isoweekday", "strftime", "timestamp", "weekday"}),
    timedelta: frozenset({"total_seconds"}),
    LoopContext: frozenset({"cycle"}),
}
METHOD_NAMES: Final = frozenset().union(*METHODS.values())

Check = Callable[..., None]


def _width(budget: Budget, text: str, width: int, *rest: Value) -> None:
    budget.spend_text(max(len(text), width))


def _replaced(budget: Budget, text: str, old: str, new: str, count: int = -1) -> None:
    times = text.count(old)
    times = times if count < 0 else min(times, count)
    budget.spend_text(len(text) + times * max(len(new) - len(old), 0))


def _parts(budget: Budget, text: str, separator: str | None = None, maxsplit: int = -1) -> None:
    budget.spend(len(text) // 2 if separator is None else text.count(separator))
    _needle(budget, text, separator or "")


def _needle(budget: Budget, text: str, needle: str | None = None, *rest: Value) -> None:
    """Python searches from the right, and strips, in time that grows with both lengths."""
    if needle and len(needle) > NEEDLE_MAX:
        size = f"{len(needle):,} characters, at most {NEEDLE_MAX}"
        raise TemplateError(f"the text to look for has {size} are allowed")


def _date_format(budget: Budget, value: datetime, pattern: str) -> None:
    if len(pattern) > DATE_FORMAT_MAX or re.search(r"%[^a-zA-Z%]*\d", pattern):
        raise TemplateError(f"the date format {pattern[:40]!r} is too long or has a width")


CHECKS: Final[Mapping[str, Check]] = {
    "center": _width,
    "ljust": _width,
    "rjust": _width,
    "zfill": _width,
    "replace": _replaced,
    "split": _parts,
    "rsplit": _parts,
    "rfind": _needle,
    "rpartition": _needle,
    "strip": _needle,
    "lstrip": _needle,
    "rstrip": _needle,
    "strftime": _date_format,
}


class _Format(Formatter):
    """`str.format` that reads members as templates do and counts what it makes."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def get_field(
        self, field_name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> tuple[Value, str]:
        """A numbered or named value, followed by members."""
        if len(field_name) > NEEDLE_MAX:
            raise TemplateError("a place in a format is too long")
        first, *rest = re.split(r"\.|\[|\]\.?", field_name)
        value = self.get_value(int(first) if first.isdecimal() else first, args, kwargs)
        for key in filter(None, rest):
            value = member(value, int(key) if key.isdecimal() and not isinstance(value, dict) else key)
            if value is ABSENT:
                raise TemplateError(f"{{{field_name}}} is missing")
        return value, first

    def convert_field(self, value: Value, conversion: str | None) -> Value:
        """`!s` and the like: always the text of the value."""
        return text_of(value, self.budget) if conversion else value

    def format_field(self, value: Value, format_spec: str) -> str:
        """One value in its width."""
        check_format_spec(format_spec)
        plain = value if isinstance(value, int | float | str | datetime) else text_of(value, self.budget)
        text = format(plain, format_spec)
        self.budget.spend_text(len(text))
        return text


def _join(budget: Budget, separator: str, items: Value) -> str:
    return concat(budget, items, separator)


def _format(budget: Budget, text: str, *args: Value, **kwargs: Value) -> str:
    return _Format(budget).vformat(text, args, kwargs)


def _get(budget: Budget, value: Value, key: Value, default: Value = None) -> Value:
    inner = member(value, key)
    return default if inner is ABSENT else inner


def _list_of(name: str) -> Callable[..., Value]:
    def run(budget: Budget, value: dict[str, Value]) -> list[Value]:
        budget.spend(len(value))
        return list(getattr(value, name)())

    return run


OWN: Final[Mapping[str, Callable[..., Value]]] = {
    "join": _join,
    "format": _format,
    "get": _get,
    "items": _list_of("items"),
    "keys": _list_of("keys"),
    "values": _list_of("values"),
}


@pass_context
def _method(context: Context, value: Value, name: str, *args: Value, **kwargs: Value) -> Value:
    budget = budget_of(context)
    refuse_missing(value, *args, *kwargs.values())
    allowed = next((names for kind, names in METHODS.items() if isinstance(value, kind)), frozenset())
    if isinstance(value, dict) and name in value:
        raise TemplateError(f"{name} is a field here, not a function", hint=f"read it without (): .{name}")
    if name not in allowed:
        hint = f"it has: {', '.join(sorted(allowed))}" if allowed else None
        raise TemplateError(f"{kind_of(value)} has no function {name!r} in a template", hint=hint)
    for argument in (*args, *kwargs.values()):
        measure(argument, budget)
    if name in OWN:
        return settle(budget, OWN[name](budget, value, *args, **kwargs))
    if isinstance(value, LISTS):
        measure(value, budget)
    if name in CHECKS:
        CHECKS[name](budget, value, *args, **kwargs)
    return settle(budget, getattr(value, name)(*args, **kwargs))


METHOD_OPERATOR: Final = {METHOD: _method}
