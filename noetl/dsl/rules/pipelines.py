"""Rules about the order of tasks in a pipeline: labels, jumps, what can run and what never stops."""

from collections.abc import Iterable, Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.model import Rule, Task
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.net.pipeline_graph import TaskFlow
from noetl.dsl.rules.rule_context import RuleContext, repeated
from noetl.dsl.sugar.labels import is_generated, name_of
from noetl.dsl.template_site import Owner, then_of

DUPLICATE_LABEL = Code("duplicate-label", "error", "Two tasks of one pipeline have one name")
UNKNOWN_LABEL = Code("unknown-label", "error", "A jump leads to a task that does not exist")
UNREACHABLE_TASK = Code("unreachable-task", "warning", "A task can never run")
ENDLESS_JUMP = Code("endless-jump", "warning", "A cycle of jumps has no exit")


def title(owner: Owner) -> str:
    """How a message calls a step or block."""
    return f"{type(owner).__name__.lower()} '{owner.name}'"


def duplicate_label(context: RuleContext) -> Iterator[Diagnostic]:
    """Task names are unique in their step or block."""
    for owner in context.owners:
        for label, mark, line in repeated((task.label, task.node.at("name")) for task in owner.tasks):
            message = f"task '{label}' in {title(owner)} is a duplicate of line {line}"
            yield DUPLICATE_LABEL.at(mark, message, "rename one of the two")


def unknown_label(context: RuleContext) -> Iterator[Diagnostic]:
    """A jump leads to a task of the same pipeline."""
    for owner in context.owners:
        labels = {task.label: None for task in owner.tasks}
        for rule in _jumps(owner.tasks):
            if rule.to is not None and rule.to not in labels:
                hint = _where_to(rule.to, labels)
                message = f"jump to the unknown task '{rule.to}' in {title(owner)}"
                yield UNKNOWN_LABEL.at(then_of(rule).at("to"), message, hint)


def _where_to(target: str, labels: Iterable[str]) -> str:
    """What a jump to an unknown task may have meant."""
    names = [label for label in labels if not is_generated(label)]
    item = next((label for label in names if name_of(label) == target), "").rpartition(".")[0]
    if item:
        return f"'{target}' stands inside '{item}': jump to '{item}', which begins there"
    reachable = dict.fromkeys(label.partition(".")[0] for label in names)
    return did_you_mean(target, reachable, f"the tasks here are: {', '.join(reachable)}")


def _jumps(tasks: tuple[Task, ...]) -> Iterator[Rule]:
    return (rule for task in tasks for rule in (*task.before, *(task.rules or ())) if rule.do == "jump")


def unreachable_task(context: RuleContext) -> Iterator[Diagnostic]:
    """Every task can run; of several in a row only the first is named."""
    for owner in context.owners:
        if not owner.tasks:
            continue
        flow = context.flow(owner)
        reached = flow.digraph.reachable([0])
        for position, task in enumerate(owner.tasks):
            is_first = position - 1 in reached or not flow.digraph.into[position]
            if position not in reached and is_first and not is_generated(task.label):
                before = owner.tasks[position - 1].label
                passed = "nothing goes" if is_generated(before) else f"'{before}' never goes"
                message = f"task '{task.label}' can never run: {passed} on to it and nothing jumps to it"
                yield UNREACHABLE_TASK.at(_at_name(task), message, "jump to it, or remove it")


def _at_name(task: Task) -> Mark:
    return task.node.at("name") if "name" in task.node else task.node.mark


def endless_jump(context: RuleContext) -> Iterator[Diagnostic]:
    """Every cycle of jumps can be left by something else than an error."""
    for owner in context.owners:
        if not owner.tasks:
            continue
        flow = context.flow(owner)
        lasting = flow.digraph.reachable([0]) - flow.digraph.reaching([flow.end])
        for members in flow.digraph.components:
            if members[0] in lasting and flow.digraph.is_cycle(members):
                yield from _endless(flow, members)


def _endless(flow: TaskFlow, members: tuple[int, ...]) -> Iterator[Diagnostic]:
    inside = {flow.tasks[m].label for m in members}
    back = [(m, rule) for m in members for rule in _jumps((flow.tasks[m],)) if rule.to in inside]
    for position, rule in back[-1:]:
        label = flow.tasks[position].label
        if is_generated(label):
            message = f"'{label.rpartition('.')[0]}' must repeat until a task fails or max is reached"
            hint = "let its condition depend on a value, or let a task inside break"
        else:
            path = flow.digraph.path(position, position, set(members))
            names = " -> ".join(flow.tasks[m].label for m in path)
            message = f"the jump to '{rule.to}' must repeat for ever, until a task fails: {names}"
            hint = "let a rule of the cycle break, fail or continue past it"
        yield ENDLESS_JUMP.at(then_of(rule).at("to"), message, hint)


RULES = (duplicate_label, unknown_label, unreachable_task, endless_jump)
