"""A playbook as the rules read it: its facts, and what names, templates and the net make of them.

Everything that several rules look up is worked out once. Nothing here makes a finding.
"""

from functools import cached_property

from noetl.dsl.model import Playbook
from noetl.dsl.net.petri_net import Net
from noetl.dsl.net.pipeline_graph import TaskFlow
from noetl.dsl.rules.name_resolution import NameResolution
from noetl.dsl.rules.playbook_facts import PlaybookFacts
from noetl.dsl.template_site import Owner, TemplateSite, template_sites
from noetl.dsl.tool_kind import Kinds


class RuleContext(PlaybookFacts):
    """One playbook and the kinds it is checked against."""

    def __init__(self, playbook: Playbook, kinds: Kinds) -> None:
        super().__init__(playbook)
        self.kinds = kinds

    @cached_property
    def net(self) -> Net:
        """The workflow as a net."""
        return Net(self.playbook)

    @cached_property
    def names(self) -> NameResolution:
        """What names mean where."""
        return NameResolution(self)

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
