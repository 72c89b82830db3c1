"""Task policy: which rule an output meets, and how long a retry waits. Acting on it is pipeline.py's."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import msgspec

from noetl.core.program.evaluator import EvaluationError, GuardResult, TemplateEvaluator, binding
from noetl.core.program.program import RuleProgram, TaskProgram
from noetl.core.shapes import Patch, ScopeValues
from noetl.core.values.scope import Scope
from noetl.dsl.templates.limits import TemplateError

RuleOptions: TypeAlias = Mapping[str, Any]  # attempts, delay, max_delay and message, as rendered
JITTER = 0.25
_NO_SET: Patch = []


class Choice(msgspec.Struct, frozen=True):
    """The directive chosen, the rule that chose it (index, `else`, None: default), and what it saw."""

    do: str
    rule: int | str | None = None
    program: RuleProgram | None = None
    seen: ScopeValues = {}


CONTINUE, FAIL = Choice("continue"), Choice("fail")


def choose(rules: Sequence[RuleProgram], scope: Scope, place: str) -> Choice | None:
    """The first rule that holds; None when none does. An error in a guard is never `no match`."""
    for index, rule in enumerate(rules):
        if rule.guard is None:
            return Choice(rule.do, "else", rule)
        judged = _holds(rule, scope, f"{place} rule {index}")
        if judged.value:
            return Choice(rule.do, index, rule, judged.seen)
    return None


def by_status(task: TaskProgram, status: str) -> Choice:
    """What happens when no rule decides."""
    if task.rules is not None and task.on_unmatched == "continue":
        return CONTINUE
    return CONTINUE if status == "ok" else FAIL


def _holds(rule: RuleProgram, scope: Scope, place: str) -> GuardResult:
    assert rule.guard is not None
    if rule.guard.template is None:
        return GuardResult(bool(rule.guard.literal))
    try:
        value = rule.guard.template.truth(binding(rule.guard.template, scope))
    except TemplateError as problem:
        raise EvaluationError("template", f"{place}: {problem.message}") from None
    except EvaluationError as wrong:
        raise EvaluationError(wrong.kind, f"{place}: {wrong.message}") from None
    return GuardResult(value, scope.seen(rule.guard.shown) if value else {})


def rendered_set(rule: RuleProgram, scope: Scope) -> Patch:
    """What the chosen rule writes."""
    if not rule.set:
        return _NO_SET
    return TemplateEvaluator().writes(("rule",), rule.set, scope).pairs


def options(rule: RuleProgram, scope: Scope, place: str) -> RuleOptions:
    """The rule's attempts, delay, max_delay and message, rendered."""
    try:
        rendered: RuleOptions = rule.options.render(binding(rule.options, scope))
        return rendered
    except TemplateError as problem:
        raise EvaluationError("template", f"{place}: {problem.message}") from None


def wait_s(
    rule: RuleProgram, knobs: RuleOptions, attempt: int, now: int, spread: Callable[[], float]
) -> float:
    """Seconds to wait after attempt n, capped, jitter only ever lengthening it."""
    delay = seconds(knobs.get("delay"), now)
    if rule.backoff == "linear":
        delay *= attempt
    elif rule.backoff == "exponential":
        delay *= 2.0 ** min(attempt - 1, 60)
    delay = min(delay, seconds(knobs.get("max_delay"), now))
    return delay * (1 + JITTER * spread()) if rule.jitter else delay


def seconds(value: Any, now: int) -> float:
    """A delay as written: a number, a numeric string or an HTTP date."""
    if isinstance(value, bool) or value is None:
        raise EvaluationError("template", f"a delay is a number of seconds or a date, not {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return _until(value, now)
    if not math.isfinite(number):
        raise EvaluationError("template", f"a delay is a number of seconds or a date, not {value!r}")
    return max(0.0, number)


def _until(value: object, now: int) -> float:
    try:
        moment = parsedate_to_datetime(str(value))
    except ValueError:
        raise EvaluationError(
            "template", f"a delay is a number of seconds or a date, not {value!r}"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(now / 1000, UTC)).total_seconds())
