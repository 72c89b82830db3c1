"""The rule about failures that arcs take without asking: such an execution ends failed, whatever comes after.

Silent about steps that cannot fail: those without a tool, and those whose tasks go on after every error.
"""

import re
from collections.abc import Iterable, Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.model import Arc, Rule, Step, Task
from noetl.dsl.net.routing import Routing, asks
from noetl.dsl.rules.policies import UNFAILING
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.templates.facts import ERROR, OK, Facts, analyse, verdict
from noetl.dsl.templates.syntax import is_whole

LOOSER = re.compile(r"\b(?:or|if)\b")  # what binds less than `and`
FAILURE_NOT_ASKED = Code(
    "failure-not-asked", "info", "A failure can take an arc whose guard does not ask about it"
)


def failure_not_asked(context: RuleContext) -> Iterator[Diagnostic]:
    """An arc that a failure can take asks how the step ended."""
    for step, routing in zip(context.net.steps, context.net.routing, strict=True):
        if not _is_answered(step, routing) and can_fail(step):
            for position in routing.ill.may:
                arc = step.next.arcs[position]
                if not _asks(arc, step):
                    yield _finding(step, arc)


def _is_answered(step: Step, routing: Routing) -> bool:
    """Whether some arc that asks takes every failure, whatever other arcs do."""
    arcs = step.next.arcs
    return step.next.mode == "inclusive" and any(_asks(arcs[n], step) for n in routing.ill.must)


def _asks(arc: Arc, step: Step) -> bool:
    reads = analyse(arc.when).reads if isinstance(arc.when, str) else ()
    return asks((read.path for read in reads), step.name)


def _finding(step: Step, arc: Arc) -> Diagnostic:
    message = (
        f"when '{step.name}' fails, the arc to '{arc.step}' can take the failure without asking about it; "
        "the execution then ends failed"
    )
    hint = f'write when: "{{{{ {_guard(arc)} }}}}", or ask for event.failed where the failure is dealt with'
    return FAILURE_NOT_ASKED.at(_mark(arc), message, hint)


def _guard(arc: Arc) -> str:
    """The guard to write: the arc's own, for a step that went well."""
    if not isinstance(arc.when, str) or not is_whole(arc.when):
        return "event.ok"
    own = arc.when.strip()[2:-2].strip(" -+")
    return f"event.ok and ({own})" if LOOSER.search(own) else f"event.ok and {own}"


def _mark(arc: Arc) -> Mark:
    return arc.node.at("when") if "when" in arc.node else arc.node.mark


def can_fail(step: Step) -> bool:
    """Whether a step can end in a failure that its author did not rule out."""
    bounded = step.timeout_s is not None or step.deadline_s is not None
    if bounded or step.synthesize is not None or step.validate:
        return True
    if step.loop is not None and step.loop.claim is not None and _task_can_fail(step.loop.claim.task):
        return True
    if step.loop is not None and step.failure_mode == "best_effort":
        return False
    return any(_task_can_fail(task) for task in step.tasks)


def _task_can_fail(task: Task) -> bool:
    if any(rule.do == "fail" and verdict(rule.when) is not False for rule in task.before):
        return True
    rules = task.rules or ()
    if task.kind in UNFAILING:
        return _fails(rules, OK)
    if task.rules is None or _fails(rules, OK) or _fails(rules, ERROR):
        return True
    return task.on_unmatched == "by_status" and not any(verdict(rule.when, ERROR) for rule in rules)


def _fails(rules: Iterable[Rule], facts: Facts) -> bool:
    """Whether a rule may fail the task; a retry does when its attempts are used up."""
    for rule in rules:
        holds = verdict(rule.when, facts)
        if holds is not False and rule.do in ("fail", "retry"):
            return True
        if holds:
            return False
    return False


RULES = (failure_not_asked,)
