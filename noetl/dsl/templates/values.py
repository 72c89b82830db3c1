"""What a template reads and what it gives: members of JSON values, what is missing, and results as JSON.

A name after a dot is a key of a mapping and nothing else; no attribute of a Python object is ever read, but
for the few listed below. Nothing is computed here.
"""

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from jinja2 import ChainableUndefined
from jinja2.runtime import LoopContext

from noetl.dsl.templates.limits import CHARS_PER_STEP, VALUE_DEPTH, Budget, TemplateError
from noetl.dsl.yaml.one_line import json_type, shortened
from noetl.dsl.yaml.tree import Value

ENVELOPE_FIELDS: Final = frozenset(
    {"status", "data", "ref", "error", "meta", "http", "pg", "py", "loop", "results"}
)
KEYS_SHOWN = 8

# Named once: `a | b` inside a function is made anew at every call.
NUMBERS: Final = (int, float)
LISTS: Final = (list, tuple)
SEQUENCES: Final = (str, list, tuple)
CONTAINERS: Final = (dict, list, tuple)
_INDEXED: Final = (str, list, tuple, range)
_KEYS: Final = (str, int, float)
_ATOMS: Final = frozenset({int, bool, type(None)})


class Absent:
    """Nothing; counts as false."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


ABSENT: Final[Value] = Absent()
"""What `member` answers when there is nothing under a key."""

_LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)
_DATE_FIELDS = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})
_SPAN_FIELDS = frozenset({"days", "seconds", "microseconds"})


class Envelope(dict[str, Value]):
    """An output envelope: a name that is no field of it is looked for in its `data`."""

    __slots__ = ()


class Excerpt(dict[str, Value]):
    """Those entries of a scope that are read; what else it has is not known but for the names `declared`."""

    __slots__ = ("declared",)

    def __init__(self, entries: Mapping[str, Value], declared: Mapping[str, Value] | None = None) -> None:
        super().__init__(entries)
        self.declared = declared or {}


@dataclass(frozen=True, slots=True)
class Owner:
    """The value in which something was looked for in vain, and how the template calls it."""

    name: str
    value: Value


class Missing(ChainableUndefined):
    """A value that is not there; it remembers its dotted path and what was there instead."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """The dotted path as far as it is missing."""
        return str(self._undefined_name or "")

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return self._undefined_hint
        if isinstance(self._undefined_obj, Owner):
            return f"{self.path} is missing; {_describe(self._undefined_obj)}"
        return f"{self.path} is missing; nothing here has that name"

    def error(self) -> TemplateError:
        """The error of needing this value."""
        hint = "give it a default, as in {{ a.b | default(0) }}, or correct the name"
        return TemplateError(self._undefined_message, hint=hint, missing=self.path or None)


def _describe(owner: Owner) -> str:
    value = owner.value
    if isinstance(value, Envelope) and isinstance(value.get("data"), dict):
        return f"{_keys(owner.name, value)}; {_keys(f'{owner.name}.data', value['data'])}"
    if isinstance(value, Excerpt):
        declared = _keys(f"the playbook's {owner.name}", value.declared)
        return declared if value.declared else f"{owner.name} has nothing of that name"
    if isinstance(value, Mapping):
        return _keys(owner.name, value)
    return f"{owner.name} is {kind_of(value)}"


def _keys(name: str, value: Mapping[str, Value]) -> str:
    if not value:
        return f"{name} is empty"
    keys = ", ".join(str(key) for key, _ in zip(value, range(KEYS_SHOWN), strict=False))
    more = len(value) - KEYS_SHOWN
    return f"{name} has: {keys}" + (f" and {more} more" if more > 0 else "")


def kind_of(value: Value) -> str:
    """What a value is, in the words of the language."""
    match value:
        case list() | tuple() | range():
            return f"a list of {len(value)}"
        case datetime():
            return "a date"
        case Missing():
            return "missing"
        case _:
            return json_type(value)


# ---- reading --------------------------------------------------------------------------------------------


def member(value: Value, key: Value) -> Value:
    """What stands under a key or an index; ABSENT when nothing does."""
    if isinstance(value, dict):
        return _entry(value, key)
    if type(key) is int and isinstance(value, _INDEXED):
        return value[key] if -len(value) <= key < len(value) else ABSENT
    if isinstance(value, LoopContext):
        return getattr(value, key) if key in _LOOP_FIELDS else ABSENT
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", ())
        return value[fields.index(key)] if key in fields else ABSENT
    if isinstance(value, datetime):
        return getattr(value, key) if key in _DATE_FIELDS else ABSENT
    if isinstance(value, timedelta):
        return getattr(value, key) if key in _SPAN_FIELDS else ABSENT
    return ABSENT


def _entry(value: dict[str, Value], key: Value) -> Value:
    if not isinstance(key, _KEYS):
        return ABSENT
    entry = value.get(key, ABSENT)  # type: ignore[arg-type]
    if entry is not ABSENT or not isinstance(key, str):
        return entry
    if isinstance(value, Envelope) and key not in ENVELOPE_FIELDS:
        return member(value.get("data"), key)
    return _statement(value, key) if key.startswith("command_") else ABSENT


def _statement(value: dict[str, Value], key: str) -> Value:
    """The n-th statement of an SQL result as `command_<n>`, the spelling of older playbooks."""
    number = key.removeprefix("command_")
    if not (number.isdecimal() and number.isascii()):
        return ABSENT
    statements = value.get("statements", [value] if "rows" in value and "columns" in value else [])
    position = int(number[:9])
    return statements[position] if position < len(statements) else ABSENT


def walk(value: Value, name: str, keys: tuple[str | int, ...]) -> Value:
    """Follow constant keys; a Missing that names the first key that leads nowhere."""
    for position, key in enumerate(keys):
        if isinstance(value, Missing):
            return value
        inner = member(value, key)
        if inner is ABSENT:
            owner = spell(name, keys[:position])
            return Missing(obj=Owner(owner, value), name=spell(owner, (key,)))
        value = inner
    return value


def spell(name: str, keys: Iterable[Value]) -> str:
    """A path as an author writes it: `ctx.rows[0].id`."""
    for key in keys:
        name += f".{key}" if isinstance(key, str) else f"[{key}]"
    return name


# ---- results --------------------------------------------------------------------------------------------


def to_json(value: Value, budget: Budget, depth: int = 0) -> Value:
    """The same value made of JSON types only; the very same object when it was so already."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is str:
        return _text(value, budget)
    if kind is float:
        return _finite(value)
    if depth > VALUE_DEPTH:
        raise TemplateError(f"the value is nested deeper than {VALUE_DEPTH} levels")
    if isinstance(value, dict):
        return _mapping(value, budget, depth)
    return _list(value, budget, depth) if kind is list else _other(value, budget, depth)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise TemplateError(f"the value is {value}, which is not a number that JSON knows")
    return value


def _text(value: str, budget: Budget) -> str:
    budget.spend(len(value) // CHARS_PER_STEP)
    if "\0" in value:
        raise TemplateError("the text holds a NUL character", hint="remove it, as in replace('\\x00', '')")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            lone = f"U+{ord(value[error.start]):04X}"
            raise TemplateError(f"the text holds half of a surrogate pair ({lone})") from None
    return value


def _mapping(value: dict[str, Value], budget: Budget, depth: int) -> Value:
    budget.spend(1 + len(value))
    result = {}
    same = type(value) is dict
    for key, item in value.items():
        if type(key) is not str:
            raise TemplateError(f"a key of a mapping is {kind_of(key)}, it must be a text: {key!r}")
        converted = item if type(item) in _ATOMS else to_json(item, budget, depth + 1)
        result[_text(key, budget)] = converted
        same = same and converted is item
    return value if same else result


def _list(value: list[Value], budget: Budget, depth: int) -> Value:
    budget.spend(1 + len(value))
    converted = [item if type(item) in _ATOMS else to_json(item, budget, depth + 1) for item in value]
    same = all(map(operator.is_, converted, value))
    return value if same else converted


def _other(value: Value, budget: Budget, depth: int) -> Value:
    """Values that only templates and Python make, as the JSON that says the same."""
    match value:
        case Missing():
            raise value.error()
        case str():
            return _text(str.__str__(value), budget)
        case float():
            return _finite(float(value))
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case set() | frozenset():
            return _list(sorted(value, key=str), budget, depth)
        case range():
            budget.spend(len(value))
            return list(value)
        case list() | tuple() | Iterator() if not isinstance(value, LoopContext):
            return _list(list(value), budget, depth)
        case _:
            allowed = "text, a number, a boolean, null, a list or a mapping"
            raise TemplateError(f"the value is a {type(value).__name__}, it must be {allowed}")


def text_of(value: Value, budget: Budget) -> str:
    """A value as it stands in a text: Jinja's spelling, so `True`, `None` and Python's lists."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Missing):
        return ""
    if isinstance(value, NUMBERS) or value is None:
        return str(value)
    return str(to_json(value, budget))


def measure(value: Value, budget: Budget) -> None:
    """Spend what it takes to look through a value once, all of it."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            budget.spend(1 + len(item) // CHARS_PER_STEP)
        elif isinstance(item, CONTAINERS):
            budget.spend(1 + len(item))
            pending.extend(item.values() if isinstance(item, dict) else item)
        elif isinstance(item, range):
            budget.spend(1 + len(item))


def truth_of(value: Value) -> bool:
    """Whether a guard holds: a missing value does not, a text must say true or false."""
    if isinstance(value, str):
        verdict = {"true": True, "false": False, "": False}.get(value.strip().lower())
        if verdict is None:
            raise TemplateError(
                f"a guard must be a boolean, but this one is the text {shortened(value, 60)!r}",
                hint="compare it, as in {{ x == 'yes' }}, or ask {{ x != '' }} or {{ x is defined }}",
            )
        return verdict
    if isinstance(value, Iterator) and not isinstance(value, LoopContext):
        return any(True for _ in value)
    return bool(value)
