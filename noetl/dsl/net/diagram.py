"""What every drawing shows: the steps with their marks, the arcs with their guards. No format but data."""

import re
from typing import Any, Literal

import msgspec

from noetl.dsl.model import Arc, JoinMode, Loop, Playbook, Router, Step
from noetl.dsl.sugar.labels import is_generated

ONE_EXPRESSION = re.compile(r"\s*\{\{(?P<inside>(?:(?!\}\}).)*)\}\}\s*", re.DOTALL)
FAILURE = re.compile(r"step\.failed|event\.failed|output\.status\s*==\s*['\"]error['\"]")
UNPRINTABLE = re.compile(r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ARROW = "→"


class GraphStep(msgspec.Struct, frozen=True, rename={"name": "step"}):
    """A step as a graph shows it."""

    name: str
    desc: str | None
    kinds: tuple[str, ...]
    loop: str | None
    join: JoinMode | None  # only where arcs meet
    admission: bool
    entry: bool
    end: bool
    line: int

    @property
    def routing(self) -> bool:
        """Whether the step only passes tokens on."""
        return not self.kinds and not self.end

    @property
    def body(self) -> str:
        """The kinds of its tasks, runs of one kind drawn once."""
        runs: list[tuple[str, int]] = []
        for kind in self.kinds:
            count = runs.pop()[1] + 1 if runs and runs[-1][0] == kind else 1
            runs.append((kind, count))
        return f" {ARROW} ".join(kind if count == 1 else f"{kind} ×{count}" for kind, count in runs)

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the name."""
        gate = "admission rules" if self.admission else None
        return tuple(line for line in (self.body, self.loop, gate) if line)


class GraphArc(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """An arc as a graph shows it."""

    source: str
    target: str
    when: str | None
    mode: Literal["exclusive", "inclusive"]
    order: int
    line: int

    @property
    def label(self) -> str:
        """What is written on the arc: its guard, or nothing."""
        if self.when is None:
            return "else" if self.mode == "exclusive" and self.order > 0 else ""
        return guard_text(self.when)

    @property
    def failure(self) -> bool:
        """Whether the guard is about a failure."""
        return self.when is not None and FAILURE.search(self.when) is not None


class Sketch(msgspec.Struct, frozen=True, rename={"nodes": "steps", "edges": "arcs"}):
    """A playbook as steps and arcs."""

    name: str
    path: str
    entry: str
    nodes: tuple[GraphStep, ...]
    edges: tuple[GraphArc, ...]


def sketch(playbook: Playbook) -> Sketch:
    """The drawing of a playbook, steps and arcs in the author's order.

    An arc to a step that is not there, as while somebody types its name, is not drawn.
    """
    there = {step.name for step in playbook.steps}
    edges = tuple(edge for step in playbook.steps for edge in _edges(step) if edge.target in there)
    sources: dict[str, set[str]] = {}
    for edge in edges:
        if edge.source != edge.target:
            sources.setdefault(edge.target, set()).add(edge.source)
    nodes = tuple(_node(step, playbook.entry, len(sources.get(step.name, ()))) for step in playbook.steps)
    entry = next((node.name for node in nodes if node.entry), nodes[0].name)
    return Sketch(playbook.name, playbook.path, entry, nodes, edges)


def guard_text(when: str) -> str:
    """A guard as it reads without its braces, on one line."""
    only = ONE_EXPRESSION.fullmatch(when)
    return UNPRINTABLE.sub("�", " ".join((only["inside"] if only else when).split()))


def _node(step: Step, entry: str, sources: int) -> GraphStep:
    meets = sources >= 2 or step.join != "sync"
    return GraphStep(
        name=step.name,
        desc=step.desc,
        kinds=tuple(task.kind for task in step.tasks if not is_generated(task.label)),
        loop=_loop_text(step.loop) if step.loop is not None else None,
        join=step.join if meets else None,
        admission=bool(step.admit),
        entry=step.name == entry,
        end=not step.next.arcs,
        line=step.node.mark.line,
    )


def _loop_text(loop: Loop) -> str:
    parts = [f"for each {loop.iterator}"]
    if loop.inner is not None:
        parts.append(f"and {loop.inner.iterator}")
    if loop.mode == "parallel":
        parts.append(
            f"· {loop.max_in_flight} at once" if isinstance(loop.max_in_flight, int) else "· parallel"
        )
    return " ".join(parts)


def _edges(step: Step) -> list[GraphArc]:
    return [_edge(step.name, step.next, order, arc) for order, arc in enumerate(step.next.arcs)]


def _edge(source: str, router: Router, order: int, arc: Arc) -> GraphArc:
    return GraphArc(
        source=source,
        target=arc.step,
        when=None if arc.when is None or arc.when is True else str(arc.when),
        mode=router.mode,
        order=order,
        line=arc.node.mark.line,
    )


def graph(drawing: Sketch) -> dict[str, Any]:
    """Steps, arcs and the entry as one JSON object, for programs that draw it themselves."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(drawing))
    return fields
