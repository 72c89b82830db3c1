"""Selecting from a value with JMESPath, counted: the filter, `select=` of a result and `kind: resolve`.

An expression is bounded in length and nesting before it is read. Evaluating it spends a step for what it
visits and for all that it puts together, because `[@,@]|[@,@]` doubles a value with every pipe. The library
is loaded when an expression is first used.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from noetl.dsl.templates import limits
from noetl.dsl.templates.conversions import wanted_text
from noetl.dsl.templates.operators import refuse_missing
from noetl.dsl.templates.values import CONTAINERS, measure, to_json
from noetl.dsl.yaml.tree import Value

if TYPE_CHECKING:
    from jmespath.visitor import _TreeNode as Ast


class Interpreter(Protocol):
    """What evaluates an expression."""

    def visit(self, node: "Ast", value: Value) -> Value:
        """What a node gives for a value."""


EXPRESSION_CHARS = 1_000
VISIT_COST = 4
STEPS_PER_BYTE = 4
STEPS_MAX = 20_000_000
"""Steps of one selection, however large the value is."""

UNUSABLE: Final = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""What the library raises for an expression that does not fit the value; its own errors are ValueErrors."""
_OPENING = frozenset({"lbracket", "lbrace", "lparen", "flatten", "filter"})
_CLOSING = frozenset({"rbracket", "rbrace", "rparen"})
_PREFIX = frozenset({"not", "expref"})
_BY_ITEM = frozenset({"projection", "filter_projection", "flatten"})
_COPYING = frozenset({"multi_select_list", "multi_select_dict", "flatten", "function_expression"})


def select_jmespath(budget: limits.Budget, value: Value, expression: str) -> Value:
    """What a JMESPath expression selects from a value of a template."""
    refuse_missing(value)
    expression = wanted_text(expression)
    return _searched(to_json(value, budget), expression, budget)


def select_from(value: Value, expression: str, size: int) -> Value:
    """What a JMESPath expression selects from a payload of so many bytes; raises TemplateError."""
    budget = limits.Budget(min(limits.WORK + STEPS_PER_BYTE * size, STEPS_MAX), "the selection")
    return _searched(value, expression, budget)


class BatchSelection:
    """A selection that gives of a list, part by part, what it gives of all; `key`: where the list is."""

    def __init__(self, expression: str, parsed: "Ast", key: str | None) -> None:
        self.key = key
        self._expression, self._parsed = expression, parsed
        self._budget = limits.Budget(limits.WORK, "the selection")

    def of(self, items: list[Value], size: int) -> list[Value]:
        """What is selected from the next items, which have so many bytes; raises TemplateError."""
        total = min(self._budget.total + STEPS_PER_BYTE * size, STEPS_MAX)
        self._budget.left += total - self._budget.total
        self._budget.total = total
        try:
            selected: list[Value] = _interpreter()(self._budget).visit(self._parsed, items)
        except UNUSABLE as error:
            raise _unusable(self._expression, error) from None
        return selected


def batch_selection(expression: str) -> BatchSelection | None:
    """The selection part by part; None for an expression that has to see the whole. Raises TemplateError."""
    place, path = _parsed(expression), []
    while place["type"] in _BY_ITEM:
        path.append(place)
        place = place["children"][0]
    if place["type"] not in ("field", "identity"):
        return None
    key = place["value"] if place["type"] == "field" else None
    parsed: Ast = {"type": "identity", "value": None, "children": []}
    for node in reversed(path):
        children = [parsed, *node["children"][1:]]
        parsed = {"type": node["type"], "value": node.get("value"), "children": children}
    return BatchSelection(expression, parsed, key)


def _searched(value: Value, expression: str, budget: limits.Budget) -> Value:
    parsed = _parsed(expression)
    try:
        return _interpreter()(budget).visit(parsed, value)
    except UNUSABLE as error:
        raise _unusable(expression, error) from None


@lru_cache(256)
def _parsed(expression: str) -> "Ast":
    from jmespath.lexer import Lexer
    from jmespath.parser import Parser

    if len(expression) > EXPRESSION_CHARS:
        raise limits.TemplateError(
            f"a JMESPath expression must be a text of at most {EXPRESSION_CHARS:,} characters"
        )
    try:
        _refuse_nested(token["type"] for token in Lexer().tokenize(expression))
        parsed = Parser().parse(expression).parsed
    except UNUSABLE as error:
        raise _unusable(expression, error) from None
    _refuse_deep({"type": "expression", "value": None, "children": [parsed]})
    return parsed


def _refuse_nested(types: Iterable[str]) -> None:
    """An error for brackets and signs inside one another, which the parser follows by recursion."""
    brackets = signs = 0
    for kind in types:
        brackets += (kind in _OPENING) - (kind in _CLOSING)
        signs = signs + 1 if kind in _PREFIX else 0
        if brackets + signs > limits.BRACKETS:
            raise limits.TemplateError(
                f"the JMESPath expression has more than {limits.BRACKETS} brackets inside one another"
            )


def _refuse_deep(parsed: "Ast") -> None:
    level, depth = [parsed], 0
    while level:
        depth += 1
        if depth > limits.DEPTH:
            raise limits.TemplateError(f"the JMESPath expression is more than {limits.DEPTH} levels deep")
        level = [child for node in level for child in _children(node)]


def _children(node: "Ast") -> list["Ast"]:
    # Not only nodes stand there, whatever the library's types say.
    children = [child for child in node.get("children", ()) if isinstance(child, dict)]  # type: ignore[redundant-expr]
    if node["type"] != "function_expression" and any(child["type"] == "expref" for child in children):
        raise limits.TemplateError(
            "&… of a JMESPath expression stands for itself only as an argument of a function"
        )
    return children


def _unusable(expression: str, error: Exception) -> limits.TemplateError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return limits.TemplateError(f"the JMESPath expression {expression!r} cannot be used: {reason}")


@lru_cache(1)
def _interpreter() -> Callable[[limits.Budget], Interpreter]:
    """The interpreter of one selection, to be made with its budget."""
    from jmespath.functions import Functions
    from jmespath.visitor import Options, TreeInterpreter

    class CountedFunctions(Functions):
        """Spends for the arguments of a function before it is called."""

        def __init__(self, budget: limits.Budget) -> None:
            self._budget = budget

        def call_function(self, function_name: str, resolved_args: Iterable[Value]) -> Value:
            for argument in resolved_args:
                if isinstance(argument, str):
                    self._budget.spend(len(argument) // limits.CHARS_PER_STEP)
                elif isinstance(argument, CONTAINERS):
                    self._budget.spend(len(argument))
            if function_name == "join":
                _refuse_long_join(resolved_args)
            return super().call_function(function_name, resolved_args)

    class Counting(TreeInterpreter):
        """Spends for every visit, and for all of a value that a visit has put together or looked through."""

        def __init__(self, budget: limits.Budget) -> None:
            super().__init__(Options(custom_functions=CountedFunctions(budget)))
            self._budget = budget

        def visit(self, node: "Ast", *args: Value, **kwargs: Value) -> Value:
            self._budget.spend(VISIT_COST)
            result = super().visit(node, *args, **kwargs)
            if node["type"] in _COPYING:
                measure(result, self._budget)
            elif node["type"] == "slice" and result is not None:
                self._budget.spend(len(result))
            return result

        def visit_comparator(self, node: "Ast", value: Value) -> Value:
            sides = [self.visit(child, value) for child in node["children"]]
            if all(isinstance(side, CONTAINERS) for side in sides):
                measure(sides[0], self._budget)
            literals: list[Ast] = [{"type": "literal", "value": side, "children": []} for side in sides]
            compared: Ast = {"type": "comparator", "value": node["value"], "children": literals}
            return super().visit_comparator(compared, value)

    return Counting


def _refuse_long_join(arguments: Iterable[Value]) -> None:
    """An error before a separator is repeated into a text that no template may make."""
    if [type(argument) for argument in arguments] == [str, list]:
        separator, items = arguments
        inner = sum(len(item) for item in items if isinstance(item, str))
        limits.refuse_long(inner + len(separator) * len(items))
