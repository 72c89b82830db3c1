"""Looking into text and values by pattern: RE2 for text, JMESPath for values, both bounded.

RE2 takes time linear in the text, so no pattern can hang a rendering; it has no look-around and no
back-references inside a pattern. Both libraries are loaded when a template first needs them.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from noetl.dsl.rendering.conversions import wanted_text
from noetl.dsl.rendering.limits import Budget, TemplateError, refuse_long
from noetl.dsl.rendering.operators import refuse_missing
from noetl.dsl.rendering.values import measure, to_json
from noetl.dsl.tree import Value

if TYPE_CHECKING:
    from jmespath.visitor import TreeInterpreter

PATTERN_CHARS = 1_000
MATCH_COST = 16
VISIT_COST = 4


def regex_search(
    budget: Budget, value: Value, pattern: str, group: int | str = 0, ignorecase: bool = False
) -> str | None:
    """The first match, or one group of it; null when there is none."""
    text = wanted_text(value)
    budget.spend_text(len(text))
    found = _compiled(pattern, ignorecase).search(text)
    try:
        return found.group(group) if found else None
    except (IndexError, KeyError):
        raise TemplateError(f"the pattern {pattern!r} has no group {group!r}") from None


def regex_replace(
    budget: Budget,
    value: Value,
    pattern: str,
    replacement: str = "",
    count: int = 0,
    ignorecase: bool = False,
) -> str:
    """The text with every match, or the first `count`, replaced; `\\1` in the replacement is a group."""
    text = wanted_text(value)
    budget.spend_text(len(text))
    parts: list[str] = []
    size = end = 0
    for number, found in enumerate(_compiled(pattern, ignorecase).finditer(text)):
        if count and number >= count:
            break
        budget.spend(MATCH_COST)
        new = _expanded(found, replacement)
        size += found.start() - end + len(new)
        refuse_long(size)
        parts += (text[end : found.start()], new)
        end = found.end()
    return "".join([*parts, text[end:]])


def _expanded(found: Any, replacement: str) -> str:
    if "\\" not in replacement:
        return replacement
    try:
        return str(found.expand(replacement))
    except (IndexError, KeyError, ValueError):
        raise TemplateError(f"the replacement {replacement!r} names a group that is not there") from None


@lru_cache(256)
def _compiled(pattern: str, ignorecase: bool) -> Any:
    import re2

    _check_size(pattern)
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignorecase
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "unknown reason"
        hint = "patterns follow RE2: no look-around and no back-references"
        raise TemplateError(f"the pattern {pattern!r} cannot be used: {reason}", hint=hint) from None


def _check_size(pattern: object) -> None:
    if not isinstance(pattern, str) or len(pattern) > PATTERN_CHARS:
        raise TemplateError(f"a pattern must be a text of at most {PATTERN_CHARS:,} characters")


def select_jmespath(budget: Budget, value: Value, expression: str) -> Value:
    """What a JMESPath expression selects from a value."""
    refuse_missing(value)
    document = to_json(value, budget)
    from jmespath.exceptions import JMESPathError

    try:
        return _interpreter(budget).visit(_parsed(expression), document)
    except JMESPathError as error:
        raise _unusable(expression, error) from None


@lru_cache(256)
def _parsed(expression: str) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    _check_size(expression)
    try:
        return jmespath.compile(expression).parsed
    except JMESPathError as error:
        raise _unusable(expression, error) from None


def _unusable(expression: str, error: ValueError) -> TemplateError:
    reason = str(error).splitlines()[0]
    return TemplateError(f"the JMESPath expression {expression!r} cannot be used: {reason}")


def _interpreter(budget: Budget) -> "TreeInterpreter":
    from jmespath.visitor import TreeInterpreter

    class Counting(TreeInterpreter):
        """Spends for every visit, and for all of a value that a visit has put together."""

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            result = super().visit(node, *args, **kwargs)
            if node["type"] in ("multi_select_list", "multi_select_dict", "flatten", "function_expression"):
                measure(result, budget)
            budget.spend(VISIT_COST)
            return result

    return Counting()
