"""The class of the Jinja environment: a sandbox sealed further. Its one instance is made in syntax.py.

Compiled templates read, compute and call through the operators of this folder only; what is overridden here
is what Jinja's own filters use, and a second wall behind the first.
"""

from typing import NoReturn

from jinja2 import pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl.dsl.templates.filters import FILTERS, TESTS
from noetl.dsl.templates.methods import METHOD_OPERATOR
from noetl.dsl.templates.operators import OPERATORS, RunContext, calculate, refuse_missing
from noetl.dsl.templates.values import ABSENT, Missing, Owner, member, text_of
from noetl.dsl.yaml.tree import Value


@pass_context
def _finalize(context: Context, value: Value) -> str:
    """A value in the middle of a text."""
    assert isinstance(context, RunContext)
    if context.strict:
        refuse_missing(value)
    text = text_of(value, context.budget)
    context.budget.spend_text(len(text))
    return text


class SealedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which values have members only, nothing can be called and operators are counted."""

    context_class = RunContext
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    intercepted_unops = frozenset({"+", "-"})

    def __init__(self) -> None:
        # Without the optimizer nothing of a template is computed before its rendering is counted.
        super().__init__(
            undefined=Missing, finalize=_finalize, optimized=False, keep_trailing_newline=True, cache_size=0
        )
        self.globals.clear()
        self.filters = {**FILTERS, **OPERATORS, **METHOD_OPERATOR}
        self.tests = dict(TESTS)

    def getattr(self, obj: object, attribute: str) -> Value:
        """A member, never an attribute."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: object, argument: str | int) -> Value:
        """A member, or a Missing that knows where it was looked for."""
        if isinstance(obj, Missing):
            return obj
        value = member(obj, argument)
        return Missing(obj=Owner("the value", obj), name=str(argument)) if value is ABSENT else value

    def call_binop(self, context: Context, operator: str, left: Value, right: Value) -> Value:
        """A counted operator."""
        assert isinstance(context, RunContext)
        return calculate(context.budget, operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Value) -> Value:
        """A sign in front of a number."""
        refuse_missing(arg)
        return super().call_unop(context, operator, arg)

    def call(__self, __context: Context, __obj: object, *args: object, **kwargs: object) -> NoReturn:
        """Compiled templates hold no calls, so this is never reached by a template that was accepted."""
        raise SecurityError(f"{__obj!r} cannot be called in a template")
