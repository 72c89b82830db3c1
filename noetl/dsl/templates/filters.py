"""The filters and tests of templates: Jinja's own behind a count of their work, and the language's own.

Left out of Jinja's: `random` (not pure) and the test `callable` (nothing is). A filter here takes the context
first, spends what it will make, and gives plain values.
"""

from collections.abc import Callable, Mapping
from typing import Final

from jinja2 import filters as jinja_filters
from jinja2 import pass_context
from jinja2 import tests as jinja_tests
from jinja2.filters import make_attrgetter
from jinja2.runtime import Context

from noetl.dsl.templates import conversions, operators
from noetl.dsl.templates.limits import CHARS_PER_STEP, RANGE_ITEMS, Budget, TemplateError, refuse_above
from noetl.dsl.templates.methods import CHECKS
from noetl.dsl.templates.patterns import regex_replace, regex_search
from noetl.dsl.templates.selection import select_jmespath
from noetl.dsl.templates.values import Missing, kind_of, measure, text_of, walk
from noetl.dsl.yaml.tree import Value

Filter = Callable[..., Value]

MARKUP_CHARS = 16 * 1024
"""Jinja's tag strippers take time that grows with the square of the text."""
NUMBER_CHARS = 400
CALL_COST = 3
PRECISION_MAX = 20

# Which of Jinja's filters read their value as a text, and which look at all of it, inner values included.
_ON_TEXT = [
    "capitalize", "center", "e", "escape", "forceescape", "indent", "lower", "safe", "striptags",
    "title", "trim", "truncate", "upper", "urlize", "wordcount", "wordwrap",
]  # fmt: skip
_ON_ALL = [
    "dictsort", "groupby", "max", "min", "pprint", "sort", "unique", "urlencode", "xmlattr",
]  # fmt: skip
_ON_ITEMS = [
    "abs", "batch", "count", "d", "default", "filesizeformat", "first", "items", "last", "length",
    "list", "reject", "rejectattr", "reverse", "round", "select", "selectattr", "slice",
]  # fmt: skip
_GIVES_A_PART = frozenset({"d", "default", "first", "last", "max", "min"})


# ---- what a filter will make, counted before it makes it ------------------------------------------------


def _indent(budget: Budget, text: str, width: int | str = 4, *rest: Value, **options: Value) -> None:
    size = len(width) if isinstance(width, str) else width
    budget.spend_text(len(text) + (text.count("\n") + 1) * size)


def _wordwrap(
    budget: Budget,
    text: str,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> None:
    lines = len(text) // max(width, 1) + text.count("\n") + 1
    budget.spend_text(len(text) + lines * len(wrapstring or "\n"))
    budget.spend(lines * len(text) // 64)


def _batch(budget: Budget, value: Value, linecount: int, fill_with: Value = None) -> None:
    refuse_above(RANGE_ITEMS, linecount, "a batch")


def _slice(budget: Budget, value: Value, slices: int, fill_with: Value = None) -> None:
    refuse_above(RANGE_ITEMS, slices, "a slice")


def _round(budget: Budget, value: Value, precision: int = 0, method: str = "common") -> None:
    operators.refuse_missing(value)
    if not isinstance(value, int | float):
        raise TemplateError(f"{kind_of(value)} cannot be rounded", hint="convert it first: | float | round")
    refuse_above(PRECISION_MAX, precision, "a precision")


def _number(budget: Budget, value: Value, *args: Value, **kwargs: Value) -> None:
    operators.refuse_missing(value)


def _center(budget: Budget, text: str, width: int = 80) -> None:
    CHECKS["center"](budget, text, width)


def _trim(budget: Budget, text: str, chars: str | None = None) -> None:
    CHECKS["strip"](budget, text, chars)


def _markup(budget: Budget, text: str, *args: Value, **kwargs: Value) -> None:
    if len(text) > MARKUP_CHARS:
        raise TemplateError(f"a text of {len(text):,} characters is too long here, at most {MARKUP_CHARS:,}")


_CHECKS: Final[Mapping[str, Callable[..., None]]] = {
    "abs": _number,
    "batch": _batch,
    "filesizeformat": _number,
    "center": _center,
    "indent": _indent,
    "round": _round,
    "slice": _slice,
    "striptags": _markup,
    "trim": _trim,
    "urlize": _markup,
    "wordwrap": _wordwrap,
}


def _jinja(name: str, look: Callable[[Value, Budget], Value]) -> Filter:
    """Jinja's filter behind a look at its value and the check of what it will make."""
    function = jinja_filters.FILTERS[name]
    check = _CHECKS.get(name)

    @pass_context
    def run(context: Context, value: Value, *args: Value, **kwargs: Value) -> Value:
        budget = operators.budget_of(context)
        budget.spend(CALL_COST)
        value = look(value, budget)
        if name not in ("d", "default"):
            for argument in (*args, *kwargs.values()):
                measure(argument, budget)
        if check:
            check(budget, value, *args, **kwargs)
        result = function(*_first(function, context), value, *args, **kwargs)
        return result if name in _GIVES_A_PART else operators.settle(budget, result)

    return run


def _first(function: Filter, context: Context) -> tuple[object, ...]:
    """What Jinja hands a filter before the value, as the filter was marked."""
    match getattr(getattr(function, "jinja_pass_arg", None), "name", None):
        case "context":
            return (context,)
        case "eval_context":
            return (context.eval_ctx,)
        case "environment":
            return (context.environment,)
        case _:
            return ()


def _as_text(value: Value, budget: Budget) -> Value:
    text = text_of(value, budget)
    budget.spend(1 + len(text) // CHARS_PER_STEP)
    return text


def _whole(value: Value, budget: Budget) -> Value:
    whole = value if isinstance(value, dict | str | Missing) else list(value) if _is_lazy(value) else value
    measure(whole, budget)
    return whole


def _is_lazy(value: Value) -> bool:
    return hasattr(value, "__next__")


def _as_is(value: Value, budget: Budget) -> Value:
    budget.spend(1)
    return value


# ---- Jinja's filters that are done again here, because they cannot be counted from outside ---------------


def _own(function: Callable[..., Value], *, gives_a_part: bool = False) -> Filter:
    """A filter of ours: the budget comes first instead of the context."""

    @pass_context
    def run(context: Context, value: Value, *args: Value, **kwargs: Value) -> Value:
        budget = operators.budget_of(context)
        budget.spend(CALL_COST)
        for argument in (*args, *kwargs.values()):
            measure(argument, budget)
        result = function(budget, value, *args, **kwargs)
        return result if gives_a_part else operators.settle(budget, result)

    return run


def _int(budget: Budget, value: Value, default: Value = 0, base: int = 10) -> Value:
    return default if _is_no_number(value) else jinja_filters.do_int(value, default, base)


def _float(budget: Budget, value: Value, default: Value = 0.0) -> Value:
    return default if _is_no_number(value) else jinja_filters.do_float(value, default)


def _is_no_number(value: Value) -> bool:
    """What must give the default: a missing value, and a text that cannot be a number."""
    return isinstance(value, Missing) or (isinstance(value, str) and len(value) > NUMBER_CHARS)


@pass_context
def _join(context: Context, value: Value, d: str = "", attribute: str | int | None = None) -> str:
    budget = operators.budget_of(context)
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    return operators.concat(budget, value, text_of(d, budget))


@pass_context
def _sum(context: Context, value: Value, attribute: str | int | None = None, start: Value = 0) -> Value:
    budget = operators.budget_of(context)
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    total = start
    for item in operators.counted(budget, value):
        operators.refuse_missing(item)
        total = operators.BINARY["+"](budget, total, item)
    return total


@pass_context
def _map(context: Context, value: Value, *args: Value, **kwargs: Value) -> Value:
    if args and args[0] not in FILTERS:
        raise TemplateError(f"there is no filter {args[0]!r} to map with")
    return operators.settle(
        operators.budget_of(context), jinja_filters.FILTERS["map"](context, value, *args, **kwargs)
    )


def _replace(budget: Budget, value: Value, old: Value, new: Value, count: int | None = None) -> str:
    text, old, new = (text_of(part, budget) for part in (value, old, new))
    limit = -1 if count is None else count
    CHECKS["replace"](budget, text, old, new, limit)
    return text.replace(old, new, limit)


def _format(budget: Budget, value: Value, *args: Value, **kwargs: Value) -> Value:
    if args and kwargs:
        raise TemplateError("format takes values by position or by name, not both")
    return operators.modulo(budget, text_of(value, budget), kwargs or args)


def _string(budget: Budget, value: Value) -> str:
    return text_of(value, budget)


def _attr(budget: Budget, value: Value, name: str) -> Value:
    return walk(value, "the value", (name,))


# ---- tests ----------------------------------------------------------------------------------------------


def _comparing(how: str) -> Filter:
    @pass_context
    def run(context: Context, value: Value, other: Value) -> bool:
        return bool(operators.COMPARISONS[how](operators.budget_of(context), value, other))

    return run


def _jinja_test(name: str) -> Filter:
    test: Filter = jinja_tests.TESTS[name]  # type: ignore[assignment]
    return test


def _of_number(name: str) -> Filter:
    test = _jinja_test(name)

    @pass_context
    def run(context: Context, value: Value, *args: Value) -> bool:
        operators.refuse_missing(value, *args)
        for number in (value, *args):
            if not isinstance(number, int | float):
                raise TemplateError(f"{kind_of(number)} cannot be {name}, only a number can")
        return bool(test(value, *args))

    return run


def _of_text(name: str) -> Filter:
    test = _jinja_test(name)

    @pass_context
    def run(context: Context, value: Value) -> bool:
        return bool(test(text_of(value, operators.budget_of(context))))

    return run


_COMPARING = {
    "eq": ("==", "eq", "equalto"),
    "ne": ("!=", "ne"),
    "lt": ("<", "lt", "lessthan"),
    "lteq": ("<=", "le"),
    "gt": (">", "gt", "greaterthan"),
    "gteq": (">=", "ge"),
    "in": ("in",),
}
_SIMPLE = [
    "boolean", "defined", "escaped", "false", "filter", "float", "integer", "iterable", "mapping",
    "none", "number", "sameas", "sequence", "string", "test", "true", "undefined",
]  # fmt: skip

TESTS: Final[Mapping[str, Filter]] = {
    **{name: _jinja_test(name) for name in _SIMPLE},
    **{name: _comparing(how) for how, names in _COMPARING.items() for name in names},
    **{name: _of_number(name) for name in ("odd", "even", "divisibleby")},
    **{name: _of_text(name) for name in ("lower", "upper")},
}

FILTERS: Final[Mapping[str, Filter]] = {
    **{name: _jinja(name, _as_text) for name in _ON_TEXT},
    **{name: _jinja(name, _whole) for name in _ON_ALL},
    **{name: _jinja(name, _as_is) for name in _ON_ITEMS},
    "attr": _own(_attr, gives_a_part=True),
    "b64decode": _own(conversions.b64decode),
    "b64encode": _own(conversions.b64encode),
    "float": _own(_float),
    "format": _own(_format),
    "fromjson": _own(conversions.fromjson),
    "int": _own(_int),
    "jmespath": _own(select_jmespath, gives_a_part=True),
    "join": _join,
    "map": _map,
    "regex_replace": _own(regex_replace),
    "regex_search": _own(regex_search),
    "replace": _own(_replace),
    "sha256": _own(conversions.sha256),
    "sql_literal": _own(conversions.sql_literal),
    "string": _own(_string),
    "sum": _sum,
    "to_datetime": _own(conversions.to_datetime),
    "tojson": _own(conversions.tojson),
}
