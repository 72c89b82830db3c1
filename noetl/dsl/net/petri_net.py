"""A playbook as a Petri net: steps are transitions, arcs carry tokens, guards are free choice.

Only facts live here, worked out once; nothing is judged.
"""

from collections import Counter
from functools import cached_property

from noetl.dsl.diagnostic import Mark
from noetl.dsl.model import Playbook
from noetl.dsl.net.digraph import Digraph
from noetl.dsl.net.routing import Routing
from noetl.dsl.net.workflow_graph import Graph

PATH_SHOWN_MAX = 12


class Net:
    """A playbook's graph of the arcs that can fire, with what each step's arcs can do."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.whole = Graph.of(playbook)
        self.steps = self.whole.steps
        self.entry = self.whole.entry
        self.entry_name = playbook.entry if playbook.steps else ""
        self.routing = [Routing.of(step) for step in self.steps]

    def targets(self, number: int, positions: tuple[int, ...]) -> list[int]:
        """The steps that some arcs of a step lead to, by number; unknown ones left out."""
        arcs = self.steps[number].next.arcs
        numbers = self.whole.number
        return [numbers[arcs[position].step] for position in positions if arcs[position].step in numbers]

    @cached_property
    def live(self) -> Digraph:
        """Steps and the arcs that can fire."""
        return Digraph(self.targets(n, routing.live) for n, routing in enumerate(self.routing))

    @cached_property
    def must(self) -> Digraph:
        """Steps and the arcs that fire whenever the step does well."""
        return Digraph(self.targets(n, routing.must) for n, routing in enumerate(self.routing))

    @cached_property
    def reached(self) -> set[int]:
        """The steps a token can come to."""
        return set() if self.entry is None else self.live.reachable([self.entry])

    @property
    def reach_is_known(self) -> bool:
        """Whether the steps not reached can never be: an arc to an unknown step may mean any of them."""
        return self.entry is not None and all(self.known_arcs_only[number] for number in self.reached)

    @cached_property
    def fan_in(self) -> list[int]:
        """How many arcs that can fire lead to each step, the entry token counted as one."""
        counts = [0] * len(self.steps)
        for number, routing in enumerate(self.routing):
            for target in self.targets(number, routing.live):
                counts[target] += 1
        if self.entry is not None:
            counts[self.entry] += 1
        return counts

    @cached_property
    def arcs_into(self) -> list[int]:
        """How many arcs lead to each step, whether or not they can fire, the entry token counted as one."""
        counts = Counter(arc.step for step in self.steps for arc in step.next.arcs)
        counts[self.entry_name] += 1
        return [counts[step.name] for step in self.steps]

    @cached_property
    def known_arcs_only(self) -> list[bool]:
        """For each step whether all its arcs lead to steps that exist."""
        return [all(arc.step in self.whole.number for arc in step.next.arcs) for step in self.steps]

    def merges(self, number: int) -> bool:
        """Whether tokens that meet at a step become one."""
        return self.steps[number].join != "each" and self.fan_in[number] > 1

    def splits(self, number: int) -> bool:
        """Whether a step can send more than one token on."""
        return self.steps[number].next.mode == "inclusive" and len(self.routing[number].live) > 1

    def path_text(self, path: list[int]) -> str:
        """A path in words, long ones cut in the middle."""
        names = [self.steps[number].name for number in path]
        if len(names) > PATH_SHOWN_MAX:
            half = PATH_SHOWN_MAX // 2
            names = [*names[:half], "…", *names[-half:]]
        return " -> ".join(names)

    def at(self, number: int) -> Mark:
        """Where a step's name stands."""
        return self.steps[number].node.at("step")
