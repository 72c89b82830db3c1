"""What of a playbook its executions have been through: steps run, arcs taken or refused, rules that decided.

Read from events alone, so that it says of a test what it would say of any execution.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from noetl.core.event import Event, step_of
from noetl.dsl.diagnostic import Mark
from noetl.dsl.model import AdmitRule, Playbook, Rule, Task
from noetl.dsl.sugar.labels import TEST, is_generated

Sort = Literal["rule", "before", "admit"]


@dataclass(slots=True)
class StepUse:
    """How often a step ran."""

    name: str
    mark: Mark
    runs: int = 0


@dataclass(slots=True)
class ArcUse:
    """How often an arc was taken, its guard did not hold, or it was not asked since an earlier one held."""

    step: str
    to: str
    when: Any
    mark: Mark
    taken: int = 0
    refused: int = 0
    unasked: int = 0


@dataclass(slots=True)
class RuleUse:
    """How often a rule decided: a task's policy rule, one before it, or one of a step's admission."""

    place: str  # `step.task`, `workbook/block.task`, or the step
    sort: Sort
    index: int
    when: Any  # None: else
    does: str
    mark: Mark
    matched: int = 0


@dataclass(slots=True)
class Coverage:
    """One playbook and what was seen of it."""

    playbook: Playbook
    steps: dict[str, StepUse] = field(default_factory=dict)
    arcs: dict[tuple[str, int], ArcUse] = field(default_factory=dict)
    rules: dict[tuple[str, Sort, int], RuleUse] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for step in self.playbook.steps:
            self.steps[step.name] = StepUse(step.name, step.node.mark)
            for index, arc in enumerate(step.next.arcs):
                self.arcs[step.name, index] = ArcUse(step.name, arc.step, arc.when, arc.node.mark)
            self._admission(step.name, step.admit)
            self._tasks(f"{step.name}.", step.tasks)
        for block in self.playbook.workbook.values():
            self._tasks(f"workbook/{block.name}.", block.tasks)

    def _admission(self, step: str, rules: tuple[AdmitRule, ...]) -> None:
        for index, rule in enumerate(rules):
            does = "allow" if rule.allow else "refuse"
            self.rules[step, "admit", index] = RuleUse(step, "admit", index, rule.when, does, rule.node.mark)

    def _tasks(self, prefix: str, tasks: tuple[Task, ...]) -> None:
        for task in tasks:
            for sort, index, rule in _decisions(task):
                place = prefix + task.label
                self.rules[place, sort, index] = RuleUse(
                    place, sort, index, rule.when, rule.do, rule.node.mark
                )

    def read(self, events: Iterable[Event]) -> None:
        """Count what the events of an execution of this playbook tell."""
        for event in events:
            data = event.data or {}
            if event.name == "step.scheduled":
                self._ran(data["step"])
            elif event.name == "next.evaluated" and event.run is not None:
                self._routed(step_of(event.run), data.get("arcs", ()))
            elif event.name == "task.done" and event.run is not None and event.label is not None:
                self._decided(step_of(event.run), event.label, data)
            elif event.name in ("token.claimed", "token.refused") and "rule" in data:
                self._hit((data["step"], "admit"), data["rule"])

    def _ran(self, step: str) -> None:
        if step in self.steps:  # a step that was added while it ran is not part of the text
            self.steps[step].runs += 1

    def _routed(self, step: str, records: Iterable[dict[str, Any]]) -> None:
        for index, record in enumerate(records):
            use = self.arcs.get((step, index))
            if use is None:
                continue
            use.taken += bool(record["matched"])
            use.unasked += record.get("asked") is False
            use.refused += not record["matched"] and record.get("asked") is not False

    def _decided(self, step: str, label: str, data: dict[str, Any]) -> None:
        place = self._place(step, label)
        if place is not None:
            self._hit((place, "rule"), data.get("rule"))
            self._hit((place, "before"), data.get("before"))

    def _hit(self, where: tuple[str, Sort], rule: int | str | None) -> None:
        """Count the rule that decided: by its index, or the one that is `else`."""
        for (place, sort, index), use in self.rules.items():
            if (place, sort) == where and (rule == index or (rule == "else" and use.when is None)):
                use.matched += 1
                return

    def _place(self, step: str, label: str) -> str | None:
        """Where the text has a task that events call `task` or, inside of blocks, `call/task`."""
        *calls, name = label.split("/")
        tasks = next((candidate.tasks for candidate in self.playbook.steps if candidate.name == step), None)
        owner = step
        for call in calls:
            block_call = next((task for task in tasks or () if task.label == call), None)
            if block_call is None:
                return None
            owner = block_call.block or block_call.label
            tasks = self.playbook.workbook[owner].tasks
            owner = f"workbook/{owner}"
        return None if tasks is None else f"{owner}.{name}"


def _decisions(task: Task) -> Iterator[tuple[Sort, int, Rule]]:
    """The rules that are the author's, and that events tell of: a `before` that continues leaves no trace."""
    if is_generated(task.label):
        written = task.label.endswith(f".{TEST}")  # where a choice that the author wrote is made
        yield from (("before", index, rule) for index, rule in enumerate(task.before) if written)
        return
    yield from (("before", index, rule) for index, rule in enumerate(task.before) if rule.do != "continue")
    yield from (("rule", index, rule) for index, rule in enumerate(task.rules or ()))
