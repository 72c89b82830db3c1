"""Rules about single arcs. Whether arcs can fire together is for the net."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.net.routing import EVENTS
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_scope import ADMIT, ARC

UNKNOWN_STEP = Code("unknown-step", "error", "An arc leads to a step that does not exist")
UNKNOWN_EVENT = Code("unknown-event", "warning", "A guard compares event.name with a name no event has")

STARTED = "workflow.started"
SEEN = {ARC: EVENTS, ADMIT: (*EVENTS, STARTED)}


def unknown_step(context: RuleContext) -> Iterator[Diagnostic]:
    """An arc leads to a step of the workflow."""
    for step in context.playbook.steps:
        for arc in step.next.arcs:
            if arc.step not in context.step_names:
                add = f"add the step: - {{step: {arc.step}, tool: …}}"
                hint = did_you_mean(arc.step, context.step_names, add)
                message = f"the arc from '{step.name}' leads to the unknown step '{arc.step}'"
                yield UNKNOWN_STEP.at(arc.node.at("step"), message, hint)


def unknown_event(context: RuleContext) -> Iterator[Diagnostic]:
    """`event.name` is compared with names that events have."""
    for site in context.sites:
        names = SEEN.get(site.boundary)
        for path, name in site.facts.comparisons if names else ():
            if path == ("event", "name") and isinstance(name, str) and names and name not in names:
                where = site.boundary.description
                hint = did_you_mean(name, names, f"{where} sees {', '.join(names)}")
                yield UNKNOWN_EVENT.at(site.mark, f"event.name is never '{name}' in {where}", hint)


RULES = (unknown_step, unknown_event)
