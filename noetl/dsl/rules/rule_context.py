"""A playbook as the rules read it: its facts, and what names, templates and the net make of them.

Everything that several rules look up is worked out once. Nothing here makes a finding.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

from noetl.dsl.diagnostic import Mark
from noetl.dsl.model import Playbook
from noetl.dsl.net.petri_net import Net
from noetl.dsl.net.pipeline_graph import TaskFlow
from noetl.dsl.rules.name_resolution import NameResolution
from noetl.dsl.rules.playbook_facts import PlaybookFacts
from noetl.dsl.template_site import Owner, TemplateSite, template_sites
from noetl.dsl.templates.reads import Read
from noetl.dsl.tool_kind import Kinds


def repeated(names: Iterable[tuple[str, Mark]]) -> Iterator[tuple[str, Mark, int]]:
    """Every name that was there before, with its place and the line of the first."""
    first: dict[str, int] = {}
    for name, mark in names:
        if name in first:
            yield name, mark, first[name]
        first.setdefault(name, mark.line)


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

    @property
    def reads(self) -> Iterator[tuple[TemplateSite, Read]]:
        """Every name that a template reads, with where it stands."""
        return ((site, read) for site in self.sites for read in site.facts.reads)

    @cached_property
    def _flows(self) -> dict[int, TaskFlow]:
        return {}

    def flow(self, owner: Owner) -> TaskFlow:
        """The pipeline of a step or block as a graph."""
        if id(owner) not in self._flows:
            self._flows[id(owner)] = TaskFlow.of(owner.tasks)
        return self._flows[id(owner)]
