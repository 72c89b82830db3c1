"""Rules about steps at which a long execution goes on as another."""

from collections.abc import Iterator

from noetl.dsl import template_scope as at
from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.model import Step
from noetl.dsl.net.petri_net import Net
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import key_mark

CONTINUE_AT_JOIN = Code(
    "continue-at-join", "error", "A step that waits for a token from every source cannot continue"
)
CONTINUE_BESIDE_OTHERS = Code(
    "continue-beside-others", "warning", "Other tokens may be alive where an execution is to be continued"
)
CONTINUE_FORGETS = Code(
    "continue-forgets", "warning", "A step that continues reads what its successor does not have"
)

_AT_ENTRY = (at.STEP_INPUT, at.STEP_SPEC, at.STEP_LIFECYCLE, at.ADMIT, at.LOOP_IN)


def _continuing(context: RuleContext) -> Iterator[tuple[int, Step]]:
    for number, step in enumerate(context.net.steps):
        if step.continues is not None:
            yield number, step


def at_join(context: RuleContext) -> Iterator[Diagnostic]:
    """The successor begins with one token: a join of mode `all` would wait in vain."""
    for number, step in _continuing(context):
        if step.join == "all" and context.net.arcs_into[number] > 1:
            message = (
                f"step '{step.name}' has join: all, and the execution that goes on there has only one token"
            )
            hint = "write join: sync, or let the step behind it continue"
            yield CONTINUE_AT_JOIN.at(key_mark(step.node, "spec", "continue"), message, hint)


def beside_others(context: RuleContext) -> Iterator[Diagnostic]:
    """An execution is continued only while nothing else of it is alive."""
    net = context.net
    for number, step in _continuing(context):
        fork = next((split for split in sorted(net.reached) if _leaves_others(net, split, number)), None)
        if fork is not None:
            message = (
                f"when a token comes to '{step.name}', others from '{net.steps[fork].name}' may be alive; "
                "it is continued only when none is"
            )
            hint = "let the branches meet at this step, or at one before it, with join: sync"
            yield CONTINUE_BESIDE_OTHERS.at(key_mark(step.node, "spec", "continue"), message, hint)


def _leaves_others(net: Net, split: int, number: int) -> bool:
    """Whether a branch of a step that splits comes to another one, and its siblings need not have met it."""
    if not net.splits(split):
        return False
    targets = net.targets(split, net.routing[split].live)
    unmet = [target for target in targets if _comes_unmerged(net, target, number)]
    strays = [target for target in targets if target != number and number not in net.live.reachable([target])]
    return len(targets) > 1 and bool(unmet) and (not net.merges(number) or bool(strays))


def _comes_unmerged(net: Net, start: int, number: int) -> bool:
    """Whether a token comes from one step to another without a join between them."""
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        if here == number:
            return True
        if net.merges(here):
            continue
        for target in net.live.out[here]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return False


def forgets(context: RuleContext) -> Iterator[Diagnostic]:
    """What the successor enters the step with is ctx and the workload."""
    names = {step.name for _, step in _continuing(context)}
    for site, read in context.reads if names else ():
        name = read.path[0] if read.path else ""
        if site.boundary not in _AT_ENTRY or site.owner is None or site.owner.name not in names:
            continue
        if name == "event" or name in context.step_names:
            message = (
                f"step '{site.owner.name}' continues, and the execution that goes on there has no '{name}' "
                "of the one before it"
            )
            hint = f"write what it needs to ctx before, or give it with continue: {{input: …}} from '{name}'"
            yield CONTINUE_FORGETS.at(site.mark, message, hint)


RULES = (at_join, beside_others, forgets)
