"""The workflow as a graph: steps are nodes, arcs are edges, no guards. Nothing is judged here.

The engine asks it which tokens can still reach a join, and `noetl graph` draws it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from noetl.dsl.model import Arc, Playbook, Step
from noetl.dsl.net.digraph import Digraph, bits

Keep = Callable[[Step, Arc], bool]


def _every(step: Step, arc: Arc) -> bool:
    return True


@dataclass(frozen=True)
class Graph:
    """Steps over a numbered graph; arcs to unknown steps and steps with a name already taken are left out."""

    steps: tuple[Step, ...]
    number: Mapping[str, int]
    digraph: Digraph
    entry: int | None

    @classmethod
    def of(cls, playbook: Playbook, keep: Keep = _every) -> Self:
        """The graph of a playbook, with the arcs that `keep` holds for."""
        steps: dict[str, Step] = {}
        for step in playbook.steps:
            steps.setdefault(step.name, step)
        number = {name: place for place, name in enumerate(steps)}
        out = (
            [number[arc.step] for arc in step.next.arcs if arc.step in number and keep(step, arc)]
            for step in steps.values()
        )
        entry = number.get(playbook.entry) if steps else None
        return cls(tuple(steps.values()), number, Digraph(out), entry)

    @property
    def names(self) -> tuple[str, ...]:
        """Step names by number, in the order of the list."""
        return tuple(self.number)

    def successors(self, name: str) -> tuple[str, ...]:
        """The steps a step has arcs to, in arc order, each once."""
        return tuple(self.steps[target].name for target in self.digraph.out[self.number[name]])

    def predecessors(self, name: str) -> tuple[str, ...]:
        """The distinct steps that have an arc to a step."""
        return tuple(self.steps[source].name for source in self.digraph.into[self.number[name]])

    def can_reach(self, source: str, target: str) -> bool:
        """Whether a token at one step can come to another over one or more arcs."""
        return bool(self.digraph.closure[self.number[source]] >> self.number[target] & 1)

    @cached_property
    def reach(self) -> Mapping[str, frozenset[str]]:
        """The steps each step's token can come to over one or more arcs; `can_reach` answers one question."""
        closure = self.digraph.closure
        return {
            step.name: frozenset(self.steps[target].name for target in bits(closure[place]))
            for place, step in enumerate(self.steps)
        }

    def reachable(self, name: str) -> frozenset[str]:
        """A step and every step its token can come to."""
        return frozenset(self.steps[n].name for n in self.digraph.reachable([self.number[name]]))
