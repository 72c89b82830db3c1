"""The workflow as a graph: steps are nodes, arcs are edges, no guards. Nothing is judged here.

The engine asks it which tokens can still reach a join, and `noetl graph` draws it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from noetl.dsl.model import Playbook, Step
from noetl.dsl.net.digraph import Digraph


@dataclass(frozen=True)
class Graph:
    """Steps over a numbered graph; arcs to unknown steps and steps with a name already taken are left out."""

    steps: tuple[Step, ...]
    number: Mapping[str, int]
    digraph: Digraph
    entry: int | None

    @classmethod
    def of(cls, playbook: Playbook) -> Self:
        """The graph of a playbook."""
        steps: dict[str, Step] = {}
        for step in playbook.steps:
            steps.setdefault(step.name, step)
        number = {name: place for place, name in enumerate(steps)}
        out = ([number[arc.step] for arc in step.next.arcs if arc.step in number] for step in steps.values())
        entry = number.get(playbook.entry) if steps else None
        return cls(tuple(steps.values()), number, Digraph(out), entry)

    def predecessors(self, name: str) -> tuple[str, ...]:
        """The distinct steps that have an arc to a step."""
        return tuple(self.steps[source].name for source in self.digraph.into[self.number[name]])

    def can_reach(self, source: str, target: str) -> bool:
        """Whether a token at one step can come to another over one or more arcs."""
        return bool(self.digraph.closure[self.number[source]] >> self.number[target] & 1)
