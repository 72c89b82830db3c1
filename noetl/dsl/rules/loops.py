"""Rules about loops: writes of parallel iterations, reducers, and settings that do nothing."""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.model import CLAIM, CLAIM_FIELDS, Assign, Loop, Step
from noetl.dsl.nearest import did_you_mean
from noetl.dsl.row_changes import changes_rows
from noetl.dsl.rules.pipelines import title
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.rules.scopes import UNDEFINED_NAME
from noetl.dsl.template_scope import ARC, STEP_SET
from noetl.dsl.template_site import Owner, key_mark, leaves, loops_of, set_sites
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml.tree import Map

PARALLEL_CTX_WRITE = Code("parallel-ctx-write", "warning", "Parallel iterations write one ctx path")
UNUSED_REDUCER = Code("unused-reducer", "warning", "A reducer is declared for a path nobody writes")
CLAIM_NOT_HERE = Code("claim-not-here", "error", "Items are claimed where they cannot be")
CLAIM_DECISION = Code("claim-decision", "error", "A claim decides what only a task can")
CLAIM_WITHOUT_KEY = Code(
    "claim-without-key", "warning", "A claim that changes rows does not say under which key it took them"
)
CLAIM_DIRECTIVES = ("continue", "retry", "fail")
NO_EFFECT = Code("setting-without-effect", "info", "A setting has no effect here")


def parallel_ctx_write(context: RuleContext) -> Iterator[Diagnostic]:
    """Parallel iterations write `ctx` through a reducer."""
    for owner in context.owners:
        loops = list(loops_of(owner))
        if any(loop.mode == "parallel" for loop in loops):
            reduced = {key for loop in loops for key in loop.reduce}
            for assign, mark, writer in _iteration_writes(context, owner):
                if assign.scope == "ctx" and _varies(assign) and not _covered(assign, reduced):
                    yield _conflict(owner, writer, assign, mark)


def _conflict(owner: Owner, writer: Owner, assign: Assign, mark: Mark) -> Diagnostic:
    way = f" through block '{writer.name}'" if writer is not owner else ""
    message = f"parallel iterations of {title(owner)} may write different values to {assign.target}{way}"
    hint = f"declare how they combine: loop: {{spec: {{policy: {{reduce: {{{assign.target}: last}}}}}}}}"
    return PARALLEL_CTX_WRITE.at(mark, message, hint)


def _iteration_writes(context: RuleContext, owner: Owner) -> Iterator[tuple[Assign, Mark, Owner]]:
    """What one iteration writes: its tasks' sets, and those of the blocks its tasks call."""
    for writer in _writers(context, owner):
        for assign, mark, boundary in set_sites(writer):
            if writer is not owner or boundary not in (STEP_SET, ARC):
                yield assign, mark, writer


def _writers(context: RuleContext, owner: Owner) -> list[Owner]:
    owners: list[Owner] = [owner]
    for caller in owners:
        for task in caller.tasks:
            block = context.playbook.workbook.get(task.block or "")
            if block is not None and all(block is not other for other in owners):
                owners.append(block)
    return owners


def _varies(assign: Assign) -> bool:
    """Whether the value is rendered: a constant is the same in every iteration."""
    return any(is_template(text) for text, _ in leaves(assign.value, Mark()))


def _covered(assign: Assign, reduced: set[str]) -> bool:
    segments = assign.target.split(".")
    return any(".".join(segments[:n]) in reduced for n in range(1, len(segments) + 1))


def unused_reducer(context: RuleContext) -> Iterator[Diagnostic]:
    """A reducer belongs to a path that iterations write."""
    for owner in context.owners:
        loops = [loop for loop in loops_of(owner) if loop.reduce]
        written = {assign.target for assign, _, _ in _iteration_writes(context, owner)} if loops else set()
        for loop in loops:
            for key in loop.reduce:
                if not any(f"{target}.".startswith(f"{key}.") for target in written):
                    hint = did_you_mean(key, written, "remove it, or write the path in a task's set")
                    message = f"reduce names '{key}', which no task of {title(owner)} writes"
                    mark = key_mark(loop.node, "spec", "policy", "reduce", key)
                    yield UNUSED_REDUCER.at(mark, message, hint)


def setting_without_effect(context: RuleContext) -> Iterator[Diagnostic]:
    """Settings of a loop that its mode or placement ignores."""
    for owner in context.owners:
        for loop in loops_of(owner):
            yield from _idle_settings(loop, owner)
        if isinstance(owner, Step) and owner.loop is None and owner.failure_mode == "best_effort":
            mark = key_mark(owner.node, "spec", "policy", "failure", "mode")
            message = f"failure.mode: best_effort has no effect: {title(owner)} has no loop"
            yield NO_EFFECT.at(mark, message, "remove it; a failure is taken by an arc")


def _idle_settings(loop: Loop, owner: Owner) -> Iterator[Diagnostic]:
    if loop.chunk is not None and loop.placement == "local":
        message = f"chunk has no effect: the loop of {title(owner)} runs as one lease"
        hint = "write policy: {exec: distributed}, or remove it"
        yield NO_EFFECT.at(key_mark(loop.node, "spec", "chunk"), message, hint)
    written = loop.node.get("spec")
    if loop.mode == "sequential" and isinstance(written, Map) and "max_in_flight" in written:
        message = f"max_in_flight has no effect: the loop of {title(owner)} is sequential"
        yield NO_EFFECT.at(written.at_key("max_in_flight"), message, "write mode: parallel, or remove it")


def claim_place(context: RuleContext) -> Iterator[Diagnostic]:
    """The server hands out what was claimed, so only the outer loop of a step can claim."""
    for owner in context.owners:
        for depth, loop in enumerate(loops_of(owner)):
            if loop.claim is not None and (depth or not isinstance(owner, Step)):
                where = "an inner loop" if depth else f"the loop of {title(owner)}"
                message = f"{where} cannot claim its items: only the outer loop of a step can"
                hint = "claim in a step's loop, or read the rows in a task and loop over them"
                yield CLAIM_NOT_HERE.at(loop.node.at("in"), message, hint)


def claim_decisions(context: RuleContext) -> Iterator[Diagnostic]:
    """A claim is one task: it can be tried again or fail, and has nowhere else to go or to write."""
    for owner in context.owners:
        for loop in loops_of(owner):
            task = loop.claim.task if loop.claim is not None else None
            for rule in (*task.before, *(task.rules or ())) if task is not None else ():
                if rule.do not in CLAIM_DIRECTIVES or rule.set:
                    what = f"do: {rule.do}" if rule.do not in CLAIM_DIRECTIVES else "set"
                    message = f"a rule of the claim of {title(owner)} says '{what}', which a claim cannot do"
                    hint = f"write do: {', '.join(CLAIM_DIRECTIVES)}; write values in the tasks of the step"
                    yield CLAIM_DECISION.at(rule.node.mark, message, hint)


def claim_member(context: RuleContext) -> Iterator[Diagnostic]:
    """What a claim's templates read of `claim` is there."""
    for site, read in context.reads:
        if site.claim and read.path[0] == CLAIM and len(read.path) > 1 and read.path[1] not in CLAIM_FIELDS:
            message = f"'{read.dotted}' is read in {site.description}, but a claim has no '{read.path[1]}'"
            hint = did_you_mean(read.path[1], CLAIM_FIELDS, f"it has {', '.join(CLAIM_FIELDS)}", "claim.{}")
            yield UNDEFINED_NAME.at(site.mark, message, hint)


def claim_without_key(context: RuleContext) -> Iterator[Diagnostic]:
    """A claim that changes rows finds those again that it took before its worker was lost."""
    keyed = {
        id(site.owner)
        for site, read in context.reads
        if site.claim and read.path[0] == CLAIM and read.path[1:2] in ((), ("key",))
    }
    for owner in context.owners:
        claim = owner.loop.claim if owner.loop is not None else None
        if claim is None or id(owner) in keyed or not isinstance(claim.task.input, Map):
            continue
        for key in getattr(context.kinds.get(claim.task.kind), "sql_text", ()):
            sql = claim.task.input.get(key)
            if isinstance(sql, str) and changes_rows(sql):
                message = (
                    f"the claim of {title(owner)} changes rows and never reads claim.key: "
                    "rows that a lost worker took stay taken, and nobody works on them"
                )
                hint = "let it note the key, and first take rows that have it: how-to/work-through-a-table.md"
                yield CLAIM_WITHOUT_KEY.at(claim.task.input.at(key), message, hint)


RULES = (
    parallel_ctx_write,
    unused_reducer,
    setting_without_effect,
    claim_place,
    claim_decisions,
    claim_member,
    claim_without_key,
)
