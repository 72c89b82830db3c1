"""What a name can mean at the place where a template reads it. Nothing here makes a finding.

A bare name is looked for in this order: iterators, input, args, ctx, step, iter, workload, tasks, steps,
what started the execution.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from noetl.dsl import template_scope as at
from noetl.dsl.model import Block, Step
from noetl.dsl.rules.playbook_facts import PlaybookFacts
from noetl.dsl.sugar.labels import inner, merged, name_of, scopes
from noetl.dsl.template_site import Owner, TemplateSite, loops_of, set_sites

TASK = "a task"
STEP = "a step"
ENGINE_NAME = "what started the execution"


def after_loop(site: TemplateSite) -> bool:
    """Whether a template stands where the iterations of its step or block are over."""
    is_after = site.boundary in (*at.AFTER_PIPELINE, at.ARC)
    return is_after and site.owner is not None and site.owner.loop is not None


class NameResolution:
    """The names of one playbook by where they are defined."""

    def __init__(self, facts: PlaybookFacts) -> None:
        self.facts = facts
        self._written: dict[int, Mapping[str, frozenset[str]]] = {}
        self._labels: dict[int, Mapping[str, int]] = {}

    def readable(self, site: TemplateSite, scope: str) -> frozenset[str]:
        """The keys of `step` or `iter` that can have been written where a template reads them."""
        before = site.boundary in at.BEFORE_PIPELINE
        hidden = before or (scope == "iter" and after_loop(site))
        return frozenset() if hidden else self.written(site.owner, scope)

    def written(self, owner: Owner | None, scope: str) -> frozenset[str]:
        """The first segments of the `step` or `iter` paths that a step or block writes."""
        if owner is None:
            return frozenset()
        if id(owner) not in self._written:
            targets: dict[str, set[str]] = {"step": set(), "iter": set(), "ctx": set()}
            for assign, _, _ in set_sites(owner):
                targets[assign.scope].update(assign.path[:1])
            self._written[id(owner)] = {name: frozenset(keys) for name, keys in targets.items()}
        return self._written[id(owner)][scope]

    def inputs(self, site: TemplateSite) -> frozenset[str]:
        """The keys of `input` at a boundary."""
        owner = site.owner
        if owner is None or not site.boundary.reads("input"):
            return frozenset()
        keys = set(owner.input)
        if isinstance(owner, Block):
            keys |= {key for _, task in self.facts.calls.get(owner.name, ()) for key in task.input}
        if site.task is not None and site.boundary in at.AFTER_TASK:
            keys |= set(owner.tasks[site.task].input)
        if site.claim and owner.loop is not None and owner.loop.claim is not None:
            keys |= set(owner.loop.claim.task.input)
        return frozenset(keys)

    def any_input(self, site: TemplateSite) -> bool:
        """Whether `input` at a place can have any key: one template gives all of it."""
        owner = site.owner
        if owner is None or not site.boundary.reads("input"):
            return False
        if isinstance(owner, Block):
            calls = self.facts.calls.get(owner.name, ())
            return any(task.whole_input is not None for _, task in calls)
        own = site.task is not None and site.boundary in at.AFTER_TASK and owner.tasks[site.task].whole_input
        return bool(own) or owner.whole_input is not None

    def iterators(self, site: TemplateSite) -> tuple[str, ...]:
        """The iterators of the loops around a boundary, the outer one first."""
        if site.owner is None or not (site.task is not None or site.boundary is at.INNER_IN):
            return ()
        return tuple(loop.iterator for loop in loops_of(site.owner))[: site.depth]

    def labels(self, owner: Owner) -> Mapping[str, int]:
        """The labels of a pipeline with their positions, and the items of sugar with those of their ends."""
        if id(owner) not in self._labels:
            positions = {task.label: position for position, task in reversed(list(enumerate(owner.tasks)))}
            for task in owner.tasks:
                item = merged(task.label)
                if item is not None:
                    positions.setdefault(item, positions[task.label])
            self._labels[id(owner)] = positions
        return self._labels[id(owner)]

    def tasks(self, site: TemplateSite, name: str) -> tuple[int, ...]:
        """The positions of the tasks that a bare name can mean at a boundary; a claim precedes them all."""
        if site.owner is None or site.claim:
            return ()
        labels = self.labels(site.owner)
        reader = site.owner.tasks[site.task].label if site.task is not None else ""
        candidates = [*(inner(scope, name) for scope in scopes(reader)), name]
        return tuple(labels[label] for label in candidates if label in labels)

    def inside(self, owner: Owner, name: str) -> Iterator[str]:
        """The outermost items of sugar that have a task of that name inside."""
        return (label.partition(".")[0] for label in self.labels(owner) if label.endswith(f".{name}"))

    def meanings(self, site: TemplateSite, name: str) -> Iterator[str]:
        """Every full name that a bare name can mean at a boundary, the one that wins first."""
        boundary, owner = site.boundary, site.owner
        if name in self.iterators(site):
            outward = len(self.iterators(site)) - 1 - self.iterators(site).index(name)
            yield ".".join(["iter", *["parent"] * outward, name])
        if name in self.inputs(site):
            yield f"input.{name}"
        if name in self.facts.args_given and boundary.reads("args") and isinstance(owner, Step):
            yield f"args.{name}"
        if name in self.facts.ctx_written:
            yield f"ctx.{name}"
        for scope in ("step", "iter"):
            if boundary.reads(scope) and name in self.readable(site, scope):
                yield f"{scope}.{name}"
        if name in self.facts.playbook.workload:
            yield f"workload.{name}"
        if boundary.tasks and self.tasks(site, name) and not after_loop(site):
            yield TASK
        if boundary.steps and isinstance(owner, Step) and name in self.facts.step_names:
            yield STEP
        if name == at.TRIGGER:
            yield ENGINE_NAME

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Every name defined anywhere, for suggestions."""
        facts = self.facts
        names = {*at.SCOPES, at.TRIGGER, *facts.step_names, *facts.ctx_written, *facts.playbook.workload}
        for owner in facts.owners:
            names |= {*map(name_of, self.labels(owner)), *owner.input, *self.written(owner, "step")}
            names |= {loop.iterator for loop in loops_of(owner)}
        return frozenset(name for name in names if not name.startswith("_"))
