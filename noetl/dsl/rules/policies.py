"""Rules about the policy of one task: what is matched, what falls through, how often it is tried again."""

from collections.abc import Iterator, Sequence

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.model import AdmitRule, Rule, Task
from noetl.dsl.net.pipeline_graph import always_decides
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.sugar.labels import is_generated
from noetl.dsl.template_site import then_of
from noetl.dsl.templates.facts import ERROR, verdict
from noetl.dsl.yaml.tree import Map

ERROR_FALLS_THROUGH = Code("error-falls-through", "warning", "A policy can swallow an error")
MISSING_ELSE = Code("missing-else", "warning", "A policy does not say what happens otherwise")
RETRY_WITHOUT_CAP = Code("retry-without-cap", "warning", "A retry does not say how often")
RULE_NEVER_APPLIES = Code("rule-never-applies", "warning", "A rule can never be chosen")

UNFAILING = ("noop",)  # kinds whose output is always ok
ATTEMPTS_PRACTICAL_MAX = 1_000  # above this a number of attempts is no bound anyone waits for


def unmatched(context: RuleContext) -> Iterator[Diagnostic]:
    """A policy decides every output, errors above all."""
    for _, task in context.tasks:
        rules = task.rules or ()
        if rules and task.on_unmatched == "continue" and not always_decides(rules):
            caught = task.kind in UNFAILING or any(verdict(rule.when, ERROR) for rule in rules)
            yield _missing_else(task) if caught else _falls_through(task)


def _falls_through(task: Task) -> Diagnostic:
    message = f"an error of task '{task.label}' that no rule matches is swallowed: the policy has no else"
    hint = (
        "write on_unmatched: by_status beside rules, or add a rule for every error: "
        """- {when: "{{ output.status == 'error' }}", then: {do: fail}}"""
    )
    return ERROR_FALLS_THROUGH.at(_at_rules(task), message, hint)


def _missing_else(task: Task) -> Diagnostic:
    message = f"the rules of task '{task.label}' have no else: an output that no rule matches continues"
    return MISSING_ELSE.at(_at_rules(task), message, "end the rules with - else: {then: {do: continue}}")


def _at_rules(task: Task) -> Mark:
    policy = task.node.get("spec", {}).get("policy")
    return policy.at_key("rules") if isinstance(policy, Map) else task.node.mark


def retry_without_cap(context: RuleContext) -> Iterator[Diagnostic]:
    """A retry says how many attempts are made in total."""
    retries = ((task, rule) for _, task in context.tasks for rule in task.rules or () if rule.do == "retry")
    for task, rule in retries:
        then = then_of(rule)
        if "attempts" not in then:
            message = f"the retry of task '{task.label}' names no cap; the default is 3 attempts"
            yield RETRY_WITHOUT_CAP.at(then.at("do"), message, "write how many: attempts: 3")
        elif isinstance(rule.attempts, int) and rule.attempts > ATTEMPTS_PRACTICAL_MAX:
            message = f"the retry of task '{task.label}' has no real cap: {rule.attempts} attempts"
            yield RETRY_WITHOUT_CAP.at(then.at("attempts"), message, "write a number you would wait for")


def rule_never_applies(context: RuleContext) -> Iterator[Diagnostic]:
    """No rule is tried after one that always holds, or has a guard that never does; `else` is tried last."""
    for _, task in context.tasks:
        for rules in (task.before, task.rules or ()) if not is_generated(task.label) else ():
            yield from _never(rules, f"task '{task.label}'")
    for step in context.playbook.steps:
        yield from _never(step.admit, f"the admission of '{step.name}'")


def _never(rules: Sequence[Rule | AdmitRule], whose: str) -> Iterator[Diagnostic]:
    always: Mark | None = None
    for rule in rules:
        holds = verdict(rule.when)
        if always is not None:
            message = f"a rule of {whose} never applies: the one at line {always.line} always holds"
            yield RULE_NEVER_APPLIES.at(rule.node.mark, message, "remove it, or change the other guard")
            return
        elif holds is False:
            message = f"a rule of {whose} never applies: its guard is always false"
            yield RULE_NEVER_APPLIES.at(rule.node.at("when"), message, "remove the rule or change its guard")
        if holds:
            always = rule.node.mark


RULES = (unmatched, retry_without_cap, rule_never_applies)
