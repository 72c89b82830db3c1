"""What every drawing shows: the steps with their marks, the arcs with their guards. No format but data."""

import re
from dataclasses import dataclass
from typing import Literal

from noetl.dsl.model import Arc, JoinMode, Loop, Playbook, Router, Step
from noetl.dsl.sugar.labels import is_generated
from noetl.json_value import Json

ONE_EXPRESSION = re.compile(r"\s*\{\{(?P<inside>(?:(?!\}\}).)*)\}\}\s*", re.DOTALL)
FAILURE = re.compile(r"step\.failed|output\.status\s*==\s*['\"]error['\"]")
UNPRINTABLE = re.compile(r"[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ARROW = "→"


@dataclass(frozen=True, slots=True)
class Node:
    """One step as it is drawn."""

    name: str
    desc: str | None = None
    kinds: tuple[str, ...] = ()
    loop: str | None = None
    join: JoinMode | None = None  # only where arcs meet
    admission: bool = False
    entry: bool = False
    end: bool = False
    line: int = 1

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


@dataclass(frozen=True, slots=True)
class Edge:
    """One arc as it is drawn."""

    source: str
    target: str
    when: str | None
    mode: Literal["exclusive", "inclusive"]
    order: int
    otherwise: bool = False  # unguarded, after guarded arcs of an exclusive router
    line: int = 1

    @property
    def label(self) -> str:
        """What is written on the arc: its guard, or nothing."""
        if self.when is None:
            return "else" if self.otherwise else ""
        return guard_text(self.when)

    @property
    def failure(self) -> bool:
        """Whether the guard is about a failure."""
        return self.when is not None and FAILURE.search(self.when) is not None


@dataclass(frozen=True, slots=True)
class Sketch:
    """A playbook reduced to what can be seen."""

    name: str
    path: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def entry(self) -> str:
        """The step the workflow starts at."""
        return next((node.name for node in self.nodes if node.entry), self.nodes[0].name)


def sketch(playbook: Playbook) -> Sketch:
    """The drawing of a playbook, steps and arcs in the author's order."""
    edges = tuple(edge for step in playbook.steps for edge in _edges(step))
    sources: dict[str, set[str]] = {}
    for edge in edges:
        if edge.source != edge.target:
            sources.setdefault(edge.target, set()).add(edge.source)
    nodes = tuple(_node(step, playbook.entry, len(sources.get(step.name, ()))) for step in playbook.steps)
    return Sketch(playbook.name, playbook.path, nodes, edges)


def guard_text(when: str) -> str:
    """A guard as it reads without its braces, on one line."""
    only = ONE_EXPRESSION.fullmatch(when)
    return UNPRINTABLE.sub("�", " ".join((only["inside"] if only else when).split()))


def _node(step: Step, entry: str, sources: int) -> Node:
    meets = sources >= 2 or step.join != "sync"
    return Node(
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


def _edges(step: Step) -> list[Edge]:
    return [_edge(step.name, step.next, order, arc) for order, arc in enumerate(step.next.arcs)]


def _edge(source: str, router: Router, order: int, arc: Arc) -> Edge:
    return Edge(
        source=source,
        target=arc.step,
        when=None if arc.when is None or arc.when is True else str(arc.when),
        mode=router.mode,
        order=order,
        otherwise=router.mode == "exclusive" and order > 0,
        line=arc.node.mark.line,
    )


def graph(drawing: Sketch) -> dict[str, Json]:
    """Steps, arcs and the entry as one JSON object, for programs that draw it themselves."""
    return {
        "name": drawing.name,
        "path": drawing.path,
        "entry": drawing.entry,
        "steps": [_step_facts(node) for node in drawing.nodes],
        "arcs": [_arc_facts(edge) for edge in drawing.edges],
    }


def _step_facts(node: Node) -> dict[str, Json]:
    return {
        "step": node.name,
        "desc": node.desc,
        "kinds": list(node.kinds),
        "loop": node.loop,
        "join": node.join,
        "admission": node.admission,
        "entry": node.entry,
        "end": node.end,
        "line": node.line,
    }


def _arc_facts(edge: Edge) -> dict[str, Json]:
    return {
        "from": edge.source,
        "to": edge.target,
        "when": edge.when,
        "mode": edge.mode,
        "order": edge.order,
        "line": edge.line,
    }
