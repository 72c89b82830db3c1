"""Where the templates of a playbook stand: each with its text, its boundary, its owner and its position.

The one walk over them: whoever asks what a playbook reads goes through it. Nothing is judged here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from noetl.dsl import template_scope as at
from noetl.dsl.diagnostic import Mark
from noetl.dsl.model import Arc, Assign, Block, Claim, Loop, Playbook, Rule, Step, Task
from noetl.dsl.sugar.labels import is_generated
from noetl.dsl.template_scope import Boundary
from noetl.dsl.templates.facts import TemplateFacts, analyse
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json

CALLS = ("playbook", "workbook")
Owner = Step | Block
Texts: TypeAlias = Json | Mapping[str, Json]  # whatever templates stand in
STEP_PREFIX = "a step's"


@dataclass(frozen=True, slots=True)
class TemplateSite:
    """One template: its text, where it stands, at which boundary, and whose it is."""

    text: str
    mark: Mark
    boundary: Boundary
    owner: Owner | None = None
    task: int | None = None  # the position of the task in its owner's pipeline
    depth: int = 0  # how many loops stand around it
    claim: bool = False  # it is one of the task that claims the items of the owner's loop

    @property
    def facts(self) -> TemplateFacts:
        """What can be said of the template without rendering it."""
        return analyse(self.text)

    @property
    def description(self) -> str:
        """How a message calls where it stands."""
        label = self.owner.tasks[self.task].label if self.owner and self.task is not None else ""
        if self.boundary is at.BEFORE and is_generated(label):
            return f"the condition of '{label.rpartition('.')[0]}'"
        if not isinstance(self.owner, Block):
            return self.boundary.description
        described = self.boundary.description
        own = described.startswith(STEP_PREFIX)
        return described.replace(STEP_PREFIX, "a block's") if own else f"{described} of a block"

    @property
    def step(self) -> Step | None:
        """The step it belongs to; None in a block or the executor."""
        return self.owner if isinstance(self.owner, Step) else None


def template_sites(playbook: Playbook, kinds: Kinds) -> Iterator[TemplateSite]:
    """Every template of a playbook."""
    executor = playbook.executor
    yield from _spec(executor.spec, executor.node, at.EXECUTOR_SPEC)
    for step in playbook.steps:
        yield from _step(step, kinds)
    for block in playbook.workbook.values():
        yield from _sites(block.input, block.node.at("input"), at.BLOCK_INPUT, block)
        yield from _pipeline(block, kinds)


def then_of(rule: Rule) -> Map:
    """The `then` of a rule as written, with its positions."""
    inner = rule.node.get("else", rule.node)
    then = inner.get("then", inner) if isinstance(inner, dict) else None
    return then if isinstance(then, Map) else rule.node


def set_mark(node: Map, assign: Assign) -> Mark:
    """Where an entry of a node's `set` stands."""
    entries = node.get("set")
    return entries.at_key(assign.target) if isinstance(entries, Map) else node.at("set")


def set_sites(owner: Owner) -> Iterator[tuple[Assign, Mark, Boundary]]:
    """Every entry of every `set` of a step or block, with where it stands and at which boundary."""
    for task in owner.tasks:
        for assign in task.set:
            yield assign, set_mark(task.node, assign), at.TASK_SET
        for rule in (*task.before, *(task.rules or ())):
            for assign in rule.set:
                yield assign, set_mark(then_of(rule), assign), at.RULE
    for assign in owner.set:
        yield assign, set_mark(owner.node, assign), at.STEP_SET
    for arc in owner.next.arcs if isinstance(owner, Step) else ():
        for assign in arc.set:
            yield assign, set_mark(arc.node, assign), at.ARC


def value_mark(node: Map, *keys: str) -> Mark:
    """Where a value deep in a map stands, or the deepest part of the way to it that is there."""
    holder, key = _last_holder(node, keys)
    return holder.at(key)


def key_mark(node: Map, *keys: str) -> Mark:
    """Where a key deep in a map stands, or the deepest part of the way to it that is there."""
    holder, key = _last_holder(node, keys)
    return holder.at_key(key)


def _last_holder(node: Map, keys: tuple[str, ...]) -> tuple[Map, str]:
    for key in keys[:-1]:
        inner = node.get(key)
        if not isinstance(inner, Map):
            return node, key
        node = inner
    return node, keys[-1]


def loops_of(owner: Owner) -> Iterator[Loop]:
    """The loop of a step or block and the loops nested in it, the outer one first."""
    loop = owner.loop
    while loop is not None:
        yield loop
        loop = loop.inner


def _step(step: Step, kinds: Kinds) -> Iterator[TemplateSite]:
    node = step.node
    yield from _sites(step.whole_input or step.input, node.at("input"), at.STEP_INPUT, step)
    yield from _spec(step.spec, node, at.STEP_SPEC, step)
    for key, value in (("timeout_s", step.timeout_s), ("deadline_s", step.deadline_s)):
        yield from _sites(
            value, value_mark(node, "spec", "policy", "lifecycle", key), at.STEP_LIFECYCLE, step
        )
    for rule in step.admit:
        yield from _sites(rule.when, rule.node.at("when"), at.ADMIT, step)
    yield from _pipeline(step, kinds)
    if step.synthesize is not None:
        mark = value_mark(node, "spec", "synthesize", "from")
        yield from _sites(step.synthesize.source, mark, at.SYNTHESIZE, step)
    if step.continues is not None:
        mark = value_mark(node, "spec", "continue", "input")
        yield from _sites(step.continues.input, mark, at.CONTINUE, step)
    for arc in step.next.arcs:
        yield from _arc(arc, step)


def _pipeline(owner: Owner, kinds: Kinds) -> Iterator[TemplateSite]:
    for depth, loop in enumerate(loops_of(owner)):
        outer = at.LOOP_IN if isinstance(owner, Step) else at.BLOCK_LOOP_IN
        boundary = outer if depth == 0 else at.INNER_IN
        yield from _sites(loop.collection, loop.node.at("in"), boundary, owner, depth=depth)
        for key, value in (("max_in_flight", loop.max_in_flight), ("chunk", loop.chunk)):
            yield from _sites(value, value_mark(loop.node, "spec", key), boundary, owner, depth=depth)
        if loop.claim is not None:
            yield from _claim(loop.claim, boundary, owner, kinds)
        yield from _spec(loop.spec, loop.node, at.STEP_SPEC, owner)
    loops = len(list(loops_of(owner)))
    for position, task in enumerate(owner.tasks):
        for site in _task(task, kinds):
            yield replace(site, owner=owner, task=position, depth=loops)
    if owner.has_output:
        yield from _sites(owner.output, owner.node.at("output"), at.STEP_OUTPUT, owner)
    yield from _assigns(owner.set, owner.node, at.STEP_SET, owner)


def _claim(claim: Claim, boundary: Boundary, owner: Owner, kinds: Kinds) -> Iterator[TemplateSite]:
    for key in ("batch", "prefetch", "max_batches"):
        yield from _sites(getattr(claim, key), claim.node.at(key), boundary, owner)
    for site in _task(claim.task, kinds):
        yield replace(site, owner=owner, claim=True)


def _task(task: Task, kinds: Kinds) -> Iterator[TemplateSite]:
    boundary = at.CALL_INPUT if task.kind in CALLS else at.TASK_INPUT
    plain = kinds[task.kind].untemplated if task.kind in kinds else ()
    yield from _sites(task.whole_input, task.node.at("input"), boundary)
    for key, value in task.input.items():
        if key not in plain:
            yield from _sites(value, _inside(task.input, key, task.node.at("input")), boundary)
    for key, value in task.call.items():
        yield from _sites(value, task.node.at(key), at.CALL)
    yield from _sites(task.auth, task.node.at("auth"), at.AUTH)
    yield from _spec(task.spec, task.node, at.TASK_SPEC)
    for rule in task.before:
        yield from _rule(rule, at.BEFORE)
    if task.has_output:
        yield from _sites(task.output, task.node.at("output"), at.TASK_OUTPUT)
    yield from _assigns(task.set, task.node, at.TASK_SET)
    for rule in task.rules or ():
        yield from _rule(rule, at.RULE)


def _spec(
    spec: Mapping[str, Json], node: Map, boundary: Boundary, owner: Owner | None = None
) -> Iterator[TemplateSite]:
    written = node.get("spec")
    for key, value in spec.items():
        mark = _inside(written, key, node.at("spec")) if isinstance(written, Map) else node.at("spec")
        yield from _sites(value, mark, boundary, owner)


def _rule(rule: Rule, boundary: Boundary) -> Iterator[TemplateSite]:
    then = then_of(rule)
    yield from _sites(rule.when, rule.node.at("when"), boundary)
    for key in ("attempts", "delay", "max_delay", "message"):
        yield from _sites(getattr(rule, key), then.at(key), boundary)
    yield from _assigns(rule.set, then, boundary)


def _arc(arc: Arc, step: Step) -> Iterator[TemplateSite]:
    yield from _sites(arc.when, arc.node.at("when"), at.ARC, step)
    yield from _assigns(arc.set, arc.node, at.ARC, step)
    yield from _sites(arc.args, arc.node.at("args"), at.ARC, step)


def _assigns(
    assigns: tuple[Assign, ...], node: Map, boundary: Boundary, owner: Owner | None = None
) -> Iterator[TemplateSite]:
    entries = node.get("set")
    for assign in assigns:
        mark = entries.at(assign.target) if isinstance(entries, Map) else node.at("set")
        yield from _sites(assign.value, mark, boundary, owner)


def _sites(
    value: Texts,
    mark: Mark,
    boundary: Boundary,
    owner: Owner | None = None,
    *,
    depth: int = 0,
) -> Iterator[TemplateSite]:
    """The templates inside one value, each at its own mark where the value carries marks."""
    for text, where in leaves(value, mark):
        if is_template(text):
            yield TemplateSite(text, where, boundary, owner, None, depth)


def leaves(value: Texts, mark: Mark) -> Iterator[tuple[str, Mark]]:
    """Every text inside a value, with its mark or the nearest one known."""
    stack = [(value, mark)]
    while stack:
        item, where = stack.pop()
        if isinstance(item, str):
            yield item, where
        elif isinstance(item, Mapping):
            stack += [(item[key], _inside(item, key, where)) for key in item]
        elif isinstance(item, list):
            stack += [(part, item.at(n) if isinstance(item, Seq) else where) for n, part in enumerate(item)]


def _inside(node: Mapping[str, Json], key: str, otherwise: Mark) -> Mark:
    return node.at(key) if isinstance(node, Map) else otherwise
