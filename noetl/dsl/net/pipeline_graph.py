"""The pipeline of a step or block as a graph: which task can follow which. Findings about it are the rules'.

A guard that is not a constant is a free choice. A failure that no rule asked for is no way out of a pipeline,
so that a cycle only an error can end is still seen as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from noetl.dsl.model import Rule, Task
from noetl.dsl.net.digraph import Digraph
from noetl.dsl.templates.facts import verdict


@dataclass(frozen=True)
class TaskFlow:
    """Tasks by position; the node after the last one is the end of the pipeline."""

    tasks: tuple[Task, ...]
    digraph: Digraph

    @classmethod
    def of(cls, tasks: tuple[Task, ...]) -> Self:
        """The graph of a pipeline; a jump to an unknown label leads to the end."""
        place: dict[str, int] = {}
        for position, task in enumerate(tasks):
            place.setdefault(task.label, position)
        out = [list(_follow(task, position, len(tasks), place)) for position, task in enumerate(tasks)]
        return cls(tasks, Digraph([*out, []]))

    @property
    def end(self) -> int:
        """The number of the end node."""
        return len(self.tasks)

    def precedes(self, earlier: int, later: int) -> bool:
        """Whether one task can have run when another starts."""
        return bool(self.digraph.closure[earlier] >> later & 1)


def live_rules(rules: tuple[Rule, ...]) -> Iterator[Rule]:
    """The rules that can decide: up to and including the first that always holds."""
    for rule in rules:
        holds = verdict(rule.when)
        if holds is not False:
            yield rule
        if holds:
            return


def always_decides(rules: tuple[Rule, ...]) -> bool:
    """Whether some rule holds whatever the values are."""
    return any(verdict(rule.when) for rule in rules)


def _follow(task: Task, position: int, end: int, place: dict[str, int]) -> Iterator[int]:
    """The nodes that can come after a task."""
    runs = not always_decides(task.before)
    for rule in live_rules(task.before):
        if rule.do == "continue":
            runs = True
        else:
            yield from _lead(rule, position, end, place)
    if runs:
        rules = task.rules or ()
        for rule in live_rules(rules):
            yield from _lead(rule, position, end, place)
        if not always_decides(rules):
            yield position + 1


def _lead(rule: Rule, position: int, end: int, place: dict[str, int]) -> Iterator[int]:
    """Where a directive leads; a retry that is used up fails, which is no way out."""
    match rule.do:
        case "continue" | "skip":
            yield position + 1
        case "break" | "fail":
            yield end
        case "jump":
            yield place.get(rule.to or "", end)
        case "retry":
            return
