"""Rules about single steps and the executor's choice of them."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.rules.rule_context import RuleContext, repeated

DUPLICATE_STEP = Code("duplicate-step", "error", "Two steps have one name")
EMPTY_STEP = Code("empty-step", "warning", "A step has neither tool nor next")
UNKNOWN_ENTRY_STEP = Code("unknown-entry-step", "error", "The entry step does not exist")
UNKNOWN_FINAL_STEP = Code("unknown-final-step", "error", "The final step does not exist")
SYNTHESIZE_IN_LOOP = Code("synthesize-in-loop", "error", "A loop step cannot extend the workflow")
ADMIT_WITHOUT_ELSE = Code("admit-without-else", "warning", "Admission rules have no else")
ADMIT_NEVER_ALLOWS = Code("admit-never-allows", "warning", "Admission refuses every token")


def duplicate_step(context: RuleContext) -> Iterator[Diagnostic]:
    """Step names are unique."""
    for name, mark, line in repeated((step.name, step.node.at("step")) for step in context.playbook.steps):
        message = f"step '{name}' is a duplicate: the name is taken at line {line}"
        yield DUPLICATE_STEP.at(mark, message, "rename one of the two")


def empty_step(context: RuleContext) -> Iterator[Diagnostic]:
    """A step does something or leads somewhere."""
    for step in context.playbook.steps:
        if not step.tasks and not step.next.arcs:
            message = f"step '{step.name}' has neither tool nor next, so it only marks an end"
            hint = "give it a tool or next, or write: tool: {kind: noop}"
            yield EMPTY_STEP.at(step.node.mark, message, hint)


def unknown_executor_step(context: RuleContext) -> Iterator[Diagnostic]:
    """`entry_step` and `final_step` name steps."""
    executor = context.playbook.executor
    spec = executor.node.get("spec", executor.node)
    for key, code, name in (
        ("entry_step", UNKNOWN_ENTRY_STEP, executor.entry_step),
        ("final_step", UNKNOWN_FINAL_STEP, executor.final_step),
    ):
        if name is not None and name not in context.step_names:
            hint = did_you_mean(name, context.step_names, "name a step of the workflow")
            yield code.at(spec.at(key), f"{key} names the unknown step '{name}'", hint)


def synthesize_in_loop(context: RuleContext) -> Iterator[Diagnostic]:
    """`spec.synthesize` stands on a step without loop."""
    for step in context.playbook.steps:
        if step.synthesize is not None and step.loop is not None:
            spec = step.node.get("spec", step.node)
            message = f"step '{step.name}' has a loop, and a loop step cannot synthesize steps"
            hint = "return the plan from the loop and synthesize in a step after it"
            yield SYNTHESIZE_IN_LOOP.at(spec.at_key("synthesize"), message, hint)


def admission(context: RuleContext) -> Iterator[Diagnostic]:
    """Admission rules say what happens otherwise, and can let a token in."""
    for step in context.playbook.steps:
        if not step.admit:
            continue
        has_else = any(rule.when is None for rule in step.admit)
        mark = step.admit[0].node.mark
        if has_else and not any(rule.allow for rule in step.admit):
            message = f"step '{step.name}' can never run: every admission rule refuses"
            yield ADMIT_NEVER_ALLOWS.at(mark, message, "let one rule say then: {allow: true}")
        elif not has_else:
            default = "refused" if any(rule.allow for rule in step.admit) else "allowed"
            message = f"the admission of '{step.name}' has no else: a token that no rule takes is {default}"
            hint = f"write the default out: - else: {{then: {{allow: {str(default == 'allowed').lower()}}}}}"
            yield ADMIT_WITHOUT_ELSE.at(mark, message, hint)


RULES = (duplicate_step, empty_step, unknown_executor_step, synthesize_in_loop, admission)
