"""What several rules look up in the model, worked out once. Templates and the net are not looked at."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from noetl.dsl.model import Playbook, Task
from noetl.dsl.template_site import Owner, set_sites


class PlaybookFacts:
    """The names of one playbook and who calls whom."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        """Everything that has a pipeline: steps, then blocks."""
        return (*self.playbook.steps, *self.playbook.workbook.values())

    @property
    def tasks(self) -> Iterator[tuple[Owner, Task]]:
        """Every task, those that claim items included, with the step or block it stands in."""
        return ((owner, task) for owner in self.owners for task in owner.all_tasks)

    @cached_property
    def step_names(self) -> frozenset[str]:
        """The names of all steps."""
        return frozenset(step.name for step in self.playbook.steps)

    @cached_property
    def ctx_written(self) -> frozenset[str]:
        """The first segments of every `ctx` path that some `set` writes."""
        return frozenset(
            assign.path[0]
            for owner in self.owners
            for assign, _, _ in set_sites(owner)
            if assign.scope == "ctx" and assign.path
        )

    @cached_property
    def args_given(self) -> frozenset[str]:
        """The names that some arc passes on as `args`."""
        return frozenset(key for step in self.playbook.steps for arc in step.next.arcs for key in arc.args)

    @cached_property
    def is_extended(self) -> bool:
        """Whether steps unknown to the text can join the workflow."""
        return any(step.synthesize is not None for step in self.playbook.steps)

    @cached_property
    def calls(self) -> Mapping[str, tuple[tuple[Owner, Task], ...]]:
        """For each block name the tasks that call it, with the step or block they stand in."""
        callers_of: dict[str, list[tuple[Owner, Task]]] = defaultdict(list)
        for owner, task in self.tasks:
            if task.block is not None:
                callers_of[task.block].append((owner, task))
        return {name: tuple(callers) for name, callers in callers_of.items()}
