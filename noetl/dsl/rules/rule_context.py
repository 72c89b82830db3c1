"""A playbook as the rules read it: the model with everything several rules look up, worked out once.

Nothing here makes a finding.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from noetl.dsl.model import Playbook, Task
from noetl.dsl.net.petri_net import Net
from noetl.dsl.net.pipeline_graph import TaskFlow
from noetl.dsl.rules.name_resolution import NameResolution
from noetl.dsl.template_site import Owner, TemplateSite, set_sites, template_sites
from noetl.dsl.tool_kind import Kinds


class RuleContext:
    """One playbook and the kinds it is checked against."""

    def __init__(self, playbook: Playbook, kinds: Kinds) -> None:
        self.playbook = playbook
        self.kinds = kinds

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        """Everything that has a pipeline: steps, then blocks."""
        return (*self.playbook.steps, *self.playbook.workbook.values())

    @cached_property
    def net(self) -> Net:
        """The workflow as a net."""
        return Net(self.playbook)

    @cached_property
    def names(self) -> NameResolution:
        """What names mean where."""
        return NameResolution(self)

    @cached_property
    def step_names(self) -> frozenset[str]:
        """The names of all steps."""
        return frozenset(step.name for step in self.playbook.steps)

    @cached_property
    def sites(self) -> tuple[TemplateSite, ...]:
        """Every template."""
        return tuple(template_sites(self.playbook, self.kinds))

    @cached_property
    def _flows(self) -> dict[int, TaskFlow]:
        return {}

    def flow(self, owner: Owner) -> TaskFlow:
        """The pipeline of a step or block as a graph."""
        if id(owner) not in self._flows:
            self._flows[id(owner)] = TaskFlow.of(owner.tasks)
        return self._flows[id(owner)]

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
        for owner in self.owners:
            for task in owner.tasks:
                if task.block is not None:
                    callers_of[task.block].append((owner, task))
        return {name: tuple(callers) for name, callers in callers_of.items()}
