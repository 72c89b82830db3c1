"""Rules about the scopes templates read: what is not there, and what could not have been defined."""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from noetl.dsl import template_scope as at
from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.model import Block
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.dsl.net.routing import EVENT_FIELDS
from noetl.dsl.rules.name_resolution import after_loop
from noetl.dsl.rules.pipelines import title
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import TemplateSite, loops_of, set_sites
from noetl.dsl.templates.reads import Read

UNDEFINED_NAME = Code("undefined-name", "warning", "A template reads a name nothing defines")
SCOPE_NOT_HERE = Code("scope-not-here", "warning", "A scope is read where it does not exist")
ITER_OUTSIDE_LOOP = Code("iter-outside-loop", "warning", "iter is used in a step without loop")

WHERE_READABLE = {
    "event": "event is there where a step starts and ends, in its gate and its arcs; in a task read output",
    "output": "output is there in tasks, a step's set and arcs; read an earlier step by its name",
    "iter": "iter is there inside an iteration; after a loop read output.data, the list of its results",
    "step": "step is there in the step's tasks, its set and its arcs; use ctx for values of other steps",
    "args": "args is there in the step an arc leads to; pass values to a block with input",
    "input": "input is there after the step's input is rendered; read ctx or workload",
    "_prev": "_prev is there in tasks",
    "_task": "_task is there in tasks",
    "_attempt": "_attempt is there in tasks",
}
SLIP = 0.85  # how alike two names are when one is the other misspelt
BOUND = ("index", "count", "parent")  # what every iteration has beside its item


def scope_not_here(context: RuleContext) -> Iterator[Diagnostic]:
    """A scope is read at boundaries that have it."""
    for site, read in context.reads:
        scope = read.path[0]
        if scope in WHERE_READABLE and not _is_here(site, read):
            message = f"'{read.dotted}' is read in {site.description}, where there is no {scope}"
            yield SCOPE_NOT_HERE.at(site.mark, message, WHERE_READABLE[scope])


def _is_here(site: TemplateSite, read: Read) -> bool:
    scope = read.path[0]
    if isinstance(site.owner, Block) and scope in ("args", "event"):
        return False
    if scope == "iter" and after_loop(site):
        return _is_calling_iteration(site, read)
    return site.boundary.reads(scope)


def output_before_any(context: RuleContext) -> Iterator[Diagnostic]:
    """`output` is read after something has completed."""
    for site in context.sites:
        if site.task != 0 or site.owner is None or site.boundary not in at.BEFORE_TASK:
            continue
        if context.flow(site.owner).digraph.into[0]:
            continue
        for read in site.facts.reads:
            if read.path[0] == "output" and not read.soft:
                label = site.owner.tasks[0].label
                where = f"{site.description} of the first task '{label}'"
                message = f"'{read.dotted}' is read in {where}, when nothing has completed"
                yield SCOPE_NOT_HERE.at(site.mark, message, "read an earlier step by its name, or ctx")


def undefined_member(context: RuleContext) -> Iterator[Diagnostic]:
    """What is read of a scope is written somewhere; a workload key is not misspelt."""
    for site, read in context.reads:
        if len(read.path) > 1 and not read.soft and _is_here(site, read):
            yield from _member(context, site, read)


def _member(context: RuleContext, site: TemplateSite, read: Read) -> Iterator[Diagnostic]:
    scope, key = read.path[:2]
    names, workload = context.names, context.playbook.workload
    match scope:
        case "ctx" if not context.is_extended and key not in context.ctx_written:
            yield _undefined(site, read, "no set writes it", context.ctx_written)
        case "step" if key not in names.readable(site, "step"):
            readable = names.readable(site, "step")
            why = "before" if names.written(site.owner, "step") > readable else "of this step"
            yield _undefined(site, read, f"no set {why} writes it", readable)
        case "args" if key not in context.args_given:
            yield _undefined(site, read, "no arc passes it", context.args_given)
        case "input" if key not in names.inputs(site) and not _is_unknown_input(context, site):
            yield _undefined(site, read, "it is not in the input", names.inputs(site))
        case "workload" if key not in workload and _is_misspelt(key, workload):
            yield _undefined(site, read, "workload has no such default", workload)
        case "event" if key not in EVENT_FIELDS:
            yield _undefined(site, read, "an event has no such field", EVENT_FIELDS)
        case "iter":
            yield from _iteration(context, site, read)
        case _:
            return


def _is_misspelt(key: str, names: Iterable[str]) -> bool:
    """Whether a key looks like a known one with a slip; one that is only similar may come by request."""
    close = nearest(key, names)
    if close is None:
        return False
    return sorted(close) == sorted(key) or SequenceMatcher(None, key, close).ratio() >= SLIP


def _is_unknown_input(context: RuleContext, site: TemplateSite) -> bool:
    """Whether the keys of the input cannot be known: a template gives it, or no task calls the block."""
    uncalled = isinstance(site.owner, Block) and site.owner.name not in context.calls
    return uncalled or context.names.any_input(site)


def _undefined(site: TemplateSite, read: Read, why: str, names: Iterable[str]) -> Diagnostic:
    scope, key = read.path[:2]
    message = f"'{scope}.{key}' is read in {site.description}, but {why}"
    return UNDEFINED_NAME.at(site.mark, message, did_you_mean(key, names, None, f"{scope}.{{}}"))


def _iteration(context: RuleContext, site: TemplateSite, read: Read) -> Iterator[Diagnostic]:
    """What is read of an iteration: its item, its number, what it wrote, or an enclosing one."""
    outward = 0
    while read.path[1 + outward : 2 + outward] == ("parent",):
        outward += 1
    iterators = context.names.iterators(site)
    if isinstance(site.owner, Block) and outward >= max(1, len(iterators)):
        return
    if iterators and outward >= len(iterators):
        where = f"'{read.dotted}' is read in {site.description}"
        message = f"{where}, but only {len(iterators)} loops are around it"
        yield UNDEFINED_NAME.at(site.mark, message, f"the loops are over {', '.join(iterators)}")
        return
    key = read.path[1 + outward] if len(read.path) > 1 + outward else None
    written = context.names.readable(site, "iter") if outward == 0 else frozenset()
    bound = {*(BOUND if iterators else BOUND[2:] if isinstance(site.owner, Block) else ())}
    if iterators and _is_claimed(site, outward, iterators):
        bound.discard("count")
    names = {*written, *bound, *iterators[len(iterators) - 1 - outward :][:1]}
    if key is not None and key not in names:
        yield _unknown_item(site, read, key, iterators, names)


def _is_claimed(site: TemplateSite, outward: int, iterators: tuple[str, ...]) -> bool:
    """Whether an iteration is one of a loop that claims its items: nobody knows how many there will be."""
    loop = site.owner.loop if site.owner is not None else None
    return loop is not None and loop.claim is not None and outward == len(iterators) - 1


def _unknown_item(
    site: TemplateSite, read: Read, key: str, iterators: tuple[str, ...], names: Iterable[str]
) -> Diagnostic:
    hint = did_you_mean(key, names, None, "iter.{}")
    if key in iterators:
        outward = len(iterators) - 1 - iterators.index(key)
        hint = f"write: {'.'.join(['iter', *['parent'] * outward, key])}"
    message = f"'{read.dotted}' is read in {site.description}, but the iteration has no '{key}'"
    return UNDEFINED_NAME.at(site.mark, message, hint)


def iter_outside_loop(context: RuleContext) -> Iterator[Diagnostic]:
    """`iter` belongs to loops; said once for each step or block without one."""
    uses = {
        id(site.owner): site
        for site in reversed(context.sites)
        for read in site.facts.reads
        if read.path[0] == "iter" and site.boundary.reads("iter") and not _is_calling_iteration(site, read)
    }
    for owner in context.owners:
        writes = [mark for assign, mark, _ in set_sites(owner) if assign.scope == "iter"]
        if any(loops_of(owner)) or any(key.startswith("_") for key in context.names.written(owner, "iter")):
            continue
        marks = [*writes, *([uses[id(owner)].mark] if id(owner) in uses else [])]
        if marks:
            message = f"iter is used in {title(owner)}, which has no loop: it lasts the whole run"
            mark = min(marks, key=lambda mark: (mark.line, mark.column))
            yield ITER_OUTSIDE_LOOP.at(mark, message, "use step.… instead, or give the step a loop")


def _is_calling_iteration(site: TemplateSite, read: Read) -> bool:
    return isinstance(site.owner, Block) and read.path[1:2] == ("parent",)


RULES = (scope_not_here, output_before_any, undefined_member, iter_outside_loop)
