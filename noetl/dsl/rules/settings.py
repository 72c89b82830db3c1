"""Rules about settings that the language takes and that change nothing where playbooks run today."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.rules.loops import NO_EFFECT
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import loops_of
from noetl.dsl.yaml.tree import Map


def one_result_store(context: RuleContext) -> Iterator[Diagnostic]:
    """An installation has one result store; no executor, step or task chooses another."""
    specs = [context.playbook.executor.spec, *(step.spec for step in context.playbook.steps)]
    specs += [loop.spec for owner in context.owners for loop in loops_of(owner)]
    specs += [task.spec for _, task in context.tasks]
    for spec in specs:
        result = spec.get("result")
        if isinstance(result, Map) and "store" in result:
            message = "'result.store' changes nothing: large payloads go where the installation keeps them"
            yield NO_EFFECT.at(result.at_key("store"), message, "set NOETL_RESULTS instead")


def no_resources(context: RuleContext) -> Iterator[Diagnostic]:
    """Nothing measures or reserves what a task needs."""
    policy = context.playbook.executor.spec.get("policy")
    defaults = policy.get("defaults") if isinstance(policy, Map) else None
    if isinstance(defaults, Map) and "resources" in defaults:
        message = "'policy.defaults.resources' changes nothing: no kind of task reserves resources"
        hint = "choose workers that fit with spec.pool, or bound a task with spec.timeout"
        yield NO_EFFECT.at(defaults.at_key("resources"), message, hint)


RULES = (one_result_store, no_resources)
