"""Every operator of a template, each spending from the budget of the rendering before it does the work.

The functions named in OPERATORS are called by compiled templates in place of Python's own operators; their
names cannot be written by an author.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from noetl.dsl.templates.limits import (
    CHARS_PER_STEP,
    FORMAT_WIDTH,
    INT_BITS,
    RANGE_ITEMS,
    Budget,
    TemplateError,
    refuse_above,
    refuse_long,
)
from noetl.dsl.templates.values import (
    ABSENT,
    CONTAINERS,
    LISTS,
    NUMBERS,
    SEQUENCES,
    Missing,
    Owner,
    kind_of,
    measure,
    member,
    spell,
    text_of,
    walk,
)
from noetl.dsl.yaml.tree import Value

WALK, SUBSCRIPT, SLICE, CONCAT = "a.b", "a[b]", "a[b:c]", "a ~ b"
COMPARE, LOOP, FUNCTION, NO_ELSE = "a == b", "for a", "a()", "a if b"

_WIDTH = re.compile(r"\d+|\*")
_NESTED_KEY = re.compile(r"%\([^)]*\(")
_PERCENT = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%]*")
_FORMAT_SPEC_MAX = 32

Calculation = Callable[[Budget, Value, Value], Value]


class RunContext(Context):
    """The context of one rendering, with its budget."""

    def __init__(self, *args: Value, **kwargs: Value) -> None:
        super().__init__(*args, **kwargs)
        self.budget = Budget()
        self.strict = True
        """Whether a missing value in the middle of a text is an error."""


def budget_of(context: Context) -> Budget:
    """The budget of the rendering that is going on."""
    assert isinstance(context, RunContext)
    return context.budget


def settle(budget: Budget, value: Value) -> Value:
    """A value just made by an operation: counted, and without types that only Jinja knows."""
    match value:
        case Markup():
            return settle(budget, str(value))
        case str():
            budget.spend_text(len(value))
        case bool():
            budget.spend(1)
        case int():
            _check_bits(value.bit_length())
            budget.spend(1)
        case list() | tuple() | dict():
            budget.spend(1 + len(value))
        case Iterator():
            return counted(budget, value)
        case _:
            budget.spend(1)
    return value


def counted(budget: Budget, items: Iterable[Value], cost: int = 1) -> Iterator[Value]:
    """The items one by one, each spending its cost when it is taken."""
    for item in items:
        budget.spend(cost)
        yield item


def _check_bits(bits: int) -> None:
    if bits > INT_BITS:
        raise TemplateError(f"a number of {bits:,} bits is too large, at most {INT_BITS:,} are allowed")


# ---- arithmetic -----------------------------------------------------------------------------------------


def add(budget: Budget, left: Value, right: Value) -> Value:
    """`a + b` of numbers, texts or lists."""
    if isinstance(left, SEQUENCES) and isinstance(right, SEQUENCES):
        size = len(left) + len(right)
        if isinstance(left, str):
            budget.spend_text(size)
        else:
            budget.spend(size)
    return settle(budget, left + right)


def multiply(budget: Budget, left: Value, right: Value) -> Value:
    """`a * b` of numbers, or a text or list repeated."""
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    for repeated, times in ((left, right), (right, left)):
        if isinstance(repeated, SEQUENCES) and isinstance(times, int):
            _repeat(budget, repeated, max(times, 0))
    return settle(budget, left * right)


def _repeat(budget: Budget, repeated: str | list[Value] | tuple[Value, ...], times: int) -> None:
    if isinstance(repeated, str):
        budget.spend_text(len(repeated) * times)
        return
    before = budget.left
    measure(repeated, budget)
    budget.spend((before - budget.left) * times)


def power(budget: Budget, left: Value, right: Value) -> Value:
    """`a ** b` of numbers."""
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() * max(right, 0))
    result = left**right
    if isinstance(result, complex):
        raise TemplateError(f"{left} ** {right} is not a real number")
    return settle(budget, result)


def modulo(budget: Budget, left: Value, right: Value) -> Value:
    """`a % b` of numbers, or a text with places for values."""
    if not isinstance(left, str):
        return settle(budget, left % right)
    if _NESTED_KEY.search(left):
        raise TemplateError("a key in a format may not hold a bracket")
    for place in _PERCENT.findall(left):
        for width in _WIDTH.findall(re.sub(r"\(.*\)", "", place)):
            _check_width(width)
    return settle(budget, left % _printable(budget, right))


def _printable(budget: Budget, value: Value) -> Value:
    """What stands right of `%`, with everything that is no number as text already."""
    if isinstance(value, tuple):
        return tuple(_printable(budget, item) for item in value)
    if isinstance(value, dict):
        return {key: _printable(budget, item) for key, item in value.items()}
    return value if isinstance(value, NUMBERS) else text_of(value, budget)


def check_format_spec(spec: str) -> None:
    """An error when a format such as `>10` asks for too much."""
    if len(spec) > _FORMAT_SPEC_MAX:
        raise TemplateError(f"the format {spec[:_FORMAT_SPEC_MAX]!r}... is too long")
    for width in _WIDTH.findall(spec):
        _check_width(width)


def _check_width(width: str) -> None:
    if width == "*":
        raise TemplateError("a width of * is not allowed in a format: write the number")
    refuse_above(FORMAT_WIDTH, int(width[:20]), "a format width")


def _plain(calculate: Callable[[Value, Value], Value]) -> Calculation:
    def run(budget: Budget, left: Value, right: Value) -> Value:
        return settle(budget, calculate(left, right))

    return run


BINARY: Final[Mapping[str, Calculation]] = {
    "+": add,
    "-": _plain(operator.sub),
    "*": multiply,
    "/": _plain(operator.truediv),
    "//": _plain(operator.floordiv),
    "**": power,
    "%": modulo,
}


def calculate(budget: Budget, sign: str, left: Value, right: Value) -> Value:
    """One operator on two values that must be there."""
    refuse_missing(left, right)
    return BINARY[sign](budget, left, right)


def refuse_missing(*values: Value) -> None:
    """An error when a value that is needed to go on is missing."""
    for value in values:
        if isinstance(value, Missing):
            raise value.error()


# ---- comparing ------------------------------------------------------------------------------------------


def equals(budget: Budget, left: Value, right: Value) -> bool:
    """`a == b`; a missing value equals nothing but another missing one."""
    if isinstance(left, CONTAINERS) and isinstance(right, CONTAINERS):
        measure(left, budget)
        measure(right, budget)
    _spend_short(budget, left, right)
    return bool(left == right)


def contains(budget: Budget, item: Value, owner: Value) -> bool:
    """`a in b` of lists, mappings and texts; nothing is in a missing value."""
    if isinstance(owner, LISTS) and isinstance(item, CONTAINERS):
        measure(owner, budget)
        measure(item, budget)
    elif isinstance(owner, LISTS):
        budget.spend(len(owner))
    elif isinstance(owner, dict) and not isinstance(item, str):
        return False
    _spend_short(budget, item, owner)
    return item in owner


def _spend_short(budget: Budget, *values: Value) -> None:
    budget.spend(1 + sum(len(value) // CHARS_PER_STEP for value in values if isinstance(value, str)))


def _ordered(compares: Callable[[Value, Value], Value]) -> Calculation:
    def run(budget: Budget, left: Value, right: Value) -> bool:
        refuse_missing(left, right)
        measure(left, budget)
        measure(right, budget)
        return bool(compares(left, right))

    return run


COMPARISONS: Final[Mapping[str, Calculation]] = {
    "eq": equals,
    "ne": lambda budget, left, right: not equals(budget, left, right),
    "lt": _ordered(operator.lt),
    "lteq": _ordered(operator.le),
    "gt": _ordered(operator.gt),
    "gteq": _ordered(operator.ge),
    "in": contains,
    "notin": lambda budget, left, right: not contains(budget, left, right),
}


@pass_context
def _compare(context: Context, left: Value, how: str, right: Value) -> bool:
    return bool(COMPARISONS[how](budget_of(context), left, right))


# ---- reading, joining, looping --------------------------------------------------------------------------


@pass_context
def _subscript(context: Context, value: Value, key: Value, name: str) -> Value:
    if isinstance(value, Missing):
        return value
    if isinstance(key, Missing):
        return key
    inner = member(value, key)
    if inner is ABSENT:
        return Missing(obj=Owner(name, value), name=spell(name, (key,)))
    return inner


@pass_context
def _slice(context: Context, value: Value, start: Value, stop: Value, step: Value) -> Value:
    if isinstance(value, Missing):
        return value
    if not isinstance(value, str | list | tuple | range):
        raise TemplateError(f"{kind_of(value)} has no slices, only a text or a list has")
    result = value[start:stop:step]
    return settle(budget_of(context), list(result) if isinstance(result, range) else result)


def concat(budget: Budget, values: Iterable[Value], separator: str = "") -> str:
    """Values as one text."""
    parts = []
    size = 0
    for value in values:
        part = text_of(value, budget)
        size += len(part) + len(separator)
        refuse_long(size)
        parts.append(part)
    budget.spend_text(size)
    return separator.join(parts)


@pass_context
def _concat(context: Context, values: list[Value]) -> str:
    return concat(budget_of(context), values)


@pass_context
def _loop(context: Context, items: Iterable[Value], cost: int) -> Iterator[Value]:
    return counted(budget_of(context), items, cost)


def _no_else(value: Value) -> Missing:
    return Missing("the condition does not hold and there is no else")


# ---- functions ------------------------------------------------------------------------------------------


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    try:
        size = len(numbers)
    except OverflowError:
        size = RANGE_ITEMS + 1
    if size > RANGE_ITEMS:
        raise TemplateError(f"the range is longer than {RANGE_ITEMS:,} items")
    return numbers


GLOBALS: Final[Mapping[str, Callable[..., Value]]] = {"range": _range, "dict": dict}
"""The functions a template may call by name: pure ones, and nothing else."""


@pass_context
def _function(context: Context, name: str, *args: Value, **kwargs: Value) -> Value:
    budget = budget_of(context)
    for argument in (*args, *kwargs.values()):
        refuse_missing(argument)
    return settle(budget, GLOBALS[name](*args, **kwargs))


OPERATORS: Final[Mapping[str, Callable[..., Value]]] = {
    WALK: walk,
    SUBSCRIPT: _subscript,
    SLICE: _slice,
    CONCAT: _concat,
    COMPARE: _compare,
    LOOP: _loop,
    FUNCTION: _function,
    NO_ELSE: _no_else,
}
