"""The parts of which fast closures are made: each gives the same value as Jinja does, or raises Deopt.

No node of a template is looked at here, and no error is reported: what is unusual, large or missing is Deopt.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Final

from noetl.dsl.templates.limits import TEXT_CHARS
from noetl.dsl.templates.values import ABSENT
from noetl.dsl.yaml.tree import Value

Scope = Mapping[str, Value]
Run = Callable[[Scope], Value]
Pair = Callable[[Run, Run], Run]

SHORT_TEXT = 4096
SHORT_LIST = 1000
LONG_LIST = 200_000
SMALL_INT = 2**63

SCALARS: Final = frozenset({str, int, float, bool, type(None)})
PLAIN: Final = SCALARS | {list, dict}
"""The types of a result that needs no second look."""
_NUMBERS: Final = frozenset({int, float})
_SIZED: Final = (list, dict, str)
_ORDERED: Final = frozenset({int, float, bool})


class Deopt(Exception):
    """This value is for the compiled template."""


# ---- comparing ------------------------------------------------------------------------------------------


def opposite(run: Run) -> Run:
    """`not a`."""
    return lambda scope: not run(scope)


def equal(left: Run, right: Run) -> Run:
    """`a == b` where one of them is no list and no mapping."""

    def run(scope: Scope) -> bool:
        a, b = left(scope), right(scope)
        if type(a) in SCALARS or type(b) in SCALARS:
            return bool(a == b)
        raise Deopt

    return run


def among(left: Run, constants: list[Value]) -> Run:
    """`a in [constants]`."""

    def run(scope: Scope) -> bool:
        value = left(scope)
        if type(value) in SCALARS or value is ABSENT:
            return value in constants
        raise Deopt

    return run


def inside(left: Run, right: Run) -> Run:
    """`a in b` of short texts and lists, and of mappings."""

    def run(scope: Scope) -> bool:
        item, owner = left(scope), right(scope)
        if owner is ABSENT:
            return False
        kind = type(owner)
        if type(item) is str and (kind is dict or (kind is str and len(owner) <= SHORT_TEXT)):
            return item in owner
        if type(item) in SCALARS and kind is list and len(owner) <= SHORT_LIST:
            return item in owner
        raise Deopt

    return run


def _ordering(compares: Callable[[Value, Value], bool]) -> Pair:
    def build(left: Run, right: Run) -> Run:
        def run(scope: Scope) -> bool:
            a, b = left(scope), right(scope)
            if type(a) in _ORDERED and type(b) in _ORDERED:
                return compares(a, b)
            if type(a) is str and type(b) is str:
                return compares(a, b)
            raise Deopt

        return run

    return build


ORDERINGS: Final[Mapping[str, Pair]] = {
    "lt": _ordering(operator.lt),
    "lteq": _ordering(operator.le),
    "gt": _ordering(operator.gt),
    "gteq": _ordering(operator.ge),
}


# ---- numbers and text -----------------------------------------------------------------------------------


def is_small(value: Value) -> bool:
    """Whether a number can be reckoned with without a look at its size."""
    return type(value) in _NUMBERS and -SMALL_INT < value < SMALL_INT


def _arithmetic(calculate: Callable[[Value, Value], Value]) -> Pair:
    def build(left: Run, right: Run) -> Run:
        def run(scope: Scope) -> Value:
            a, b = left(scope), right(scope)
            if not (is_small(a) and is_small(b)):
                raise Deopt
            try:
                return calculate(a, b)
            except ZeroDivisionError:
                raise Deopt from None

        return run

    return build


def _add(left: Run, right: Run) -> Run:
    def run(scope: Scope) -> Value:
        a, b = left(scope), right(scope)
        if is_small(a) and is_small(b):
            return a + b
        if type(a) is str and type(b) is str and len(a) <= SHORT_TEXT and len(b) <= SHORT_TEXT:
            return a + b
        if type(a) is list and type(b) is list and len(a) + len(b) <= LONG_LIST:
            return a + b
        raise Deopt

    return run


ARITHMETIC: Final[Mapping[str, Pair]] = {
    "+": _add,
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(operator.truediv),
    "//": _arithmetic(operator.floordiv),
    "%": _arithmetic(operator.mod),
}


def text(pieces: list[str | Run]) -> Run:
    """Fixed texts and values, one after another."""

    def run(scope: Scope) -> str:
        parts = [piece if isinstance(piece, str) else _spelled(piece(scope)) for piece in pieces]
        if sum(map(len, parts)) > TEXT_CHARS:
            raise Deopt
        return "".join(parts)

    return run


def _spelled(value: Value) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if is_small(value) or kind is bool or value is None:
        return str(value)
    raise Deopt


# ---- filters --------------------------------------------------------------------------------------------


def default(value: Run, fallback: Run) -> Run:
    """`a | default(b)`; as in Jinja, `b` is computed in any case."""

    def run(scope: Scope) -> Value:
        left, other = value(scope), fallback(scope)
        return other if left is ABSENT else left

    return run


def default_if_false(value: Run, fallback: Run) -> Run:
    """`a | default(b, true)`."""

    def run(scope: Scope) -> Value:
        left, other = value(scope), fallback(scope)
        return left or other

    return run


def whole_number(value: Run, fallback: Run) -> Run:
    """`a | int(b)`."""

    def run(scope: Scope) -> Value:
        number, other = value(scope), fallback(scope)
        kind = type(number)
        if kind is int and -SMALL_INT < number < SMALL_INT:
            return number
        if kind is bool:
            return int(number)
        if kind is str and len(number) < 19 and number.isascii() and number.isdecimal():
            return int(number)
        if number is ABSENT:
            return other
        raise Deopt

    return run


def _length(value: Value) -> int:
    if isinstance(value, _SIZED):
        return len(value)
    if value is ABSENT:
        return 0
    raise Deopt


def _string(value: Value) -> str:
    return "" if value is ABSENT else _spelled(value)


def _on_text(change: Callable[[str], str]) -> Callable[[Value], str]:
    def run(value: Value) -> str:
        if type(value) is not str or len(value) > SHORT_TEXT:
            raise Deopt
        return change(value)

    return run


def _at(position: int) -> Callable[[Value], Value]:
    def run(value: Value) -> Value:
        if type(value) is not list or not value:
            raise Deopt
        return value[position]

    return run


CONVERSIONS: Final[Mapping[str, Callable[[Value], Value]]] = {
    "length": _length,
    "count": _length,
    "string": _string,
    "lower": _on_text(str.lower),
    "upper": _on_text(str.upper),
    "trim": _on_text(str.strip),
    "first": _at(0),
    "last": _at(-1),
}

TESTS: Final[Mapping[str, Callable[[Value], bool]]] = {
    "defined": lambda value: value is not ABSENT,
    "undefined": lambda value: value is ABSENT,
    "none": lambda value: value is None,
    "string": lambda value: isinstance(value, str),
    "mapping": lambda value: isinstance(value, dict),
}
