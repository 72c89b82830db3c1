"""Rules about names without a scope: what they mean, what hides them, and results read by name."""

from collections.abc import Iterator

from noetl.dsl import template_scope as at
from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.model import CLAIM
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.dsl.rules.name_resolution import ENGINE_NAME, STEP, TASK
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.rules.scopes import UNDEFINED_NAME
from noetl.dsl.template_site import TemplateSite
from noetl.dsl.templates.facts import STATUSES
from noetl.dsl.templates.operators import GLOBALS
from noetl.dsl.templates.reads import Read
from noetl.dsl.templates.values import ENVELOPE_FIELDS

PREFER_FULL_NAME = Code("prefer-full-name", "info", "A name is read without its scope")
SHADOWED_NAME = Code("shadowed-name", "warning", "A name hides another of the same name")
READ_TOO_EARLY = Code("read-too-early", "warning", "A result is read before it can exist")
FALL_THROUGH_FIELD = Code("fall-through-field", "info", "A payload field is read without data")
UNKNOWN_STATUS = Code("unknown-status", "warning", "A status is compared with a word it never is")

ENVELOPE = ENVELOPE_FIELDS - {"results"}
GOOD_WORDS = ("success", "succeeded", "done", "completed")
AFTER_STEP = (at.STEP_OUTPUT, at.STEP_SET, at.SYNTHESIZE, at.ARC)


def _bare(context: RuleContext) -> Iterator[tuple[TemplateSite, Read, list[str]]]:
    """Every read whose first part is no scope, with what it can mean there."""
    for site, read in context.reads:
        own = site.claim and read.path[0] == CLAIM
        if not own and read.path[0] not in at.SCOPES and read.path[0] not in GLOBALS:
            yield site, read, list(context.names.meanings(site, read.path[0]))


def undefined_name(context: RuleContext) -> Iterator[Diagnostic]:
    """A bare name means something where it is read."""
    for site, read, meanings in _bare(context):
        if not meanings and not read.soft and not context.names.any_input(site):
            name = read.path[0]
            message = f"'{name}' is read in {site.description}, but nothing there defines it"
            yield UNDEFINED_NAME.at(site.mark, message, _advice(context, site, name))


def _advice(context: RuleContext, site: TemplateSite, name: str) -> str | None:
    step = site.step
    if step is not None and name in context.names.labels(step):
        return f"a task's result is read after its step as {step.name}.results.{name}.data"
    item = next(context.names.inside(site.owner, name), None) if site.owner else None
    if item is not None:
        return f"'{name}' is a task inside '{item}', whose result is read as {item}.data"
    if name in context.step_names:
        return "pass the value of a step as input"
    close = nearest(name, context.names.all_names)
    if close == name:
        return f"'{name}' has a meaning elsewhere in the playbook, not here: hand it over as input"
    return f"did you mean '{close}'?" if close else f"if the request brings it, write workload.{name}"


def undefined_trigger_field(context: RuleContext) -> Iterator[Diagnostic]:
    """What is read of `trigger` is one of its fields."""
    for site, read, meanings in _bare(context):
        field = read.path[1] if len(read.path) > 1 else None
        if meanings[:1] == [ENGINE_NAME] and field not in (None, *at.TRIGGER_FIELDS) and not read.soft:
            message = f"'{read.dotted}' is read in {site.description}, but a trigger has no '{field}'"
            hint = did_you_mean(field or "", at.TRIGGER_FIELDS, None, "trigger.{}")
            yield UNDEFINED_NAME.at(site.mark, message, hint)


def undefined_result(context: RuleContext) -> Iterator[Diagnostic]:
    """What is read below `results` of a step is one of its tasks, and the step has no loop."""
    steps = {step.name: step for step in context.playbook.steps}
    for site, read, meanings in _bare(context):
        name, _, label = (*read.path[:3], "", "")[:3]
        if read.path[1:2] != ("results",) or read.soft or meanings[:1] != [STEP]:
            continue
        where = f"'{read.dotted}' is read in {site.description}"
        if steps[name].loop is not None:
            message = f"{where}, but '{name}' has a loop: it has no results by task"
            yield UNDEFINED_NAME.at(site.mark, message, f"read the list of its results: {name}.data")
        elif label and label not in context.names.labels(steps[name]):
            message = f"{where}, but step '{name}' has no task '{label}'"
            hint = did_you_mean(label, context.names.labels(steps[name]), None, f"{name}.results.{{}}")
            yield UNDEFINED_NAME.at(site.mark, message, hint)


def prefer_full_name(context: RuleContext) -> Iterator[Diagnostic]:
    """A bare name that means a scope's value is written with the scope; one that hides a result is a trap."""
    for site, read, meanings in _bare(context):
        if not meanings or meanings[0] in (TASK, STEP, ENGINE_NAME):
            continue
        name, full = read.path[0], meanings[0]
        hidden = next((meaning for meaning in meanings if meaning in (TASK, STEP)), None)
        if hidden:
            message = f"'{read.dotted}' in {site.description} means {full}, not {hidden} of that name"
            yield SHADOWED_NAME.at(site.mark, message, f"write {full}, or give {hidden} another name")
        else:
            yield PREFER_FULL_NAME.at(site.mark, f"'{name}' is {full} here", f"write {full}")


def hidden_trigger(context: RuleContext) -> Iterator[Diagnostic]:
    """A field of what started the execution is not read of a step or task that hides it."""
    for site, read, meanings in _bare(context):
        if meanings[:1] not in ([TASK], [STEP]) or ENGINE_NAME not in meanings:
            continue
        if len(read.path) > 1 and read.path[1] in at.TRIGGER_FIELDS - ENVELOPE_FIELDS:
            message = (
                f"'{read.dotted}' in {site.description} means {meanings[0]} of that name, "
                "not what started the execution"
            )
            full = ".".join(("trigger", "data", *read.path[1:]))
            hint = f"give {meanings[0]} another name, or write {full} if that is meant"
            yield SHADOWED_NAME.at(site.mark, message, hint)


def read_too_early(context: RuleContext) -> Iterator[Diagnostic]:
    """A task or step is read where it can have finished."""
    is_split = any(context.net.splits(number) for number in context.net.reached)
    for site, read, meanings in _bare(context):
        if read.soft:
            continue
        if meanings[:1] == [TASK] and not _task_finished(context, site, read.path[0]):
            message = f"'{read.dotted}' is read in {site.description}, but that task cannot have run yet"
            yield READ_TOO_EARLY.at(site.mark, message, "read it in a task after it")
        elif meanings[:1] == [STEP] and not is_split and not _step_finished(context, site, read.path[0]):
            message = f"'{read.dotted}' is read in {site.description}, but no path leads here from that step"
            yield READ_TOO_EARLY.at(site.mark, message, "read it in a step after it")


def _task_finished(context: RuleContext, site: TemplateSite, name: str) -> bool:
    if site.task is None or site.owner is None:
        return True
    flow = context.flow(site.owner)
    positions = context.names.tasks(site, name)
    own = site.boundary in at.AFTER_TASK and site.task in positions
    return own or any(flow.precedes(position, site.task) for position in positions)


def _step_finished(context: RuleContext, site: TemplateSite, name: str) -> bool:
    graph = context.net.whole
    reader = site.step
    if reader is None or graph.number.get(reader.name) not in context.net.reached:
        return True
    return (reader.name == name and site.boundary in AFTER_STEP) or graph.can_reach(name, reader.name)


def fall_through_field(context: RuleContext) -> Iterator[Diagnostic]:
    """A field of a payload is read through `data`."""
    for site, read in context.reads:
        root = read.path[0]
        fields = ENVELOPE_FIELDS if root in context.step_names else ENVELOPE
        if len(read.path) > 1 and read.path[1] not in fields and is_result(context, site, root):
            full = ".".join((root, "data", *read.path[1:]))
            message = f"'{read.dotted}' is {full}: a field of the payload, not of the output itself"
            yield FALL_THROUGH_FIELD.at(site.mark, message, f"write {full}")


def is_result(context: RuleContext, site: TemplateSite, root: str) -> bool:
    """Whether a name means an output envelope at a place."""
    return root == "output" or next(context.names.meanings(site, root), None) in (TASK, STEP)


def unknown_status(context: RuleContext) -> Iterator[Diagnostic]:
    """A status is compared with `ok` and `error`."""
    for site in context.sites:
        for path, word in site.facts.comparisons:
            is_status = len(path) == 2 and path[1] == "status" and is_result(context, site, path[0])
            if is_status and isinstance(word, str) and word not in STATUSES:
                message = f"'{'.'.join(path)}' is compared with '{word}', but a status is 'ok' or 'error'"
                hint = "write 'ok'" if word.lower() in GOOD_WORDS else "write 'ok' or 'error'"
                yield UNKNOWN_STATUS.at(site.mark, message, hint)


RULES = (
    undefined_name,
    undefined_trigger_field,
    undefined_result,
    prefer_full_name,
    hidden_trigger,
    read_too_early,
    fall_through_field,
    unknown_status,
)
