"""What the templates of a playbook read, by where they stand. Nothing is compiled into a program here."""

from collections.abc import Iterable

from noetl.dsl import model
from noetl.dsl.template_scope import Boundary
from noetl.dsl.template_site import Owner, TemplateSite, template_sites
from noetl.dsl.templates.reads import Path, PathSet
from noetl.dsl.templates.template import compile_template
from noetl.dsl.tool_kind import Kinds


class TemplateReads:
    """What the templates of a playbook read, by where they stand."""

    def __init__(self, playbook: model.Playbook, kinds: Kinds) -> None:
        self._sites: dict[int, list[TemplateSite]] = {}
        paths: set[Path] = set()
        for site in template_sites(playbook, kinds):
            self._sites.setdefault(id(site.owner), []).append(site)
            paths |= compile_template(site.text).paths
        self.everything = PathSet(frozenset(paths))

    def at(self, owner: Owner, *boundaries: Boundary) -> PathSet:
        """What a step or block reads at some of its boundaries; at all of them if none is named."""
        sites = self._sites.get(id(owner), ())
        return _paths(site for site in sites if not boundaries or site.boundary in boundaries)

    def of_task(self, owner: Owner, index: int) -> PathSet:
        """What a task of a step or block reads, what it inherits apart."""
        return _paths(site for site in self._sites.get(id(owner), ()) if site.task == index)

    def of_claim(self, owner: Owner) -> PathSet:
        """What the claim of a step's loop reads."""
        return _paths(site for site in self._sites.get(id(owner), ()) if site.claim)


def _paths(sites: Iterable[TemplateSite]) -> PathSet:
    return PathSet.of(compile_template(site.text) for site in sites)
