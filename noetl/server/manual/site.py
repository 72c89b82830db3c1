"""Whole pages: the frame, the navigation, the text; and what can be searched for."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from noetl import documentation
from noetl.documentation import INDEX
from noetl.server.manual.addresses import Addresses
from noetl.server.manual.markdown import LEVELS, Heading, headings_of, render
from noetl.server.manual.navigation import Entry, navigation, page_title, reading_order

if TYPE_CHECKING:
    from jinja2 import Template

HERE = Path(__file__).parent
OWN_FILES = ("icon.svg", "site.css", "site.js", "theme.js")
SEARCH = "search.js"
WITHOUT = "This server was installed without its documentation. <code>make dist</code> builds it with it."


def _found_alone(name: str, headings: list[Heading]) -> list[Heading]:
    """What of a page is found by itself: of a finding's, whose parts are alike on every page, the whole."""
    if not name.startswith("errors/"):
        return headings
    return [replace(headings[0], text=" ".join(heading.text for heading in headings))]


@dataclass(frozen=True)
class Site:
    """The documentation of one version at one place."""

    addresses: Addresses
    version: str

    def page(self, name: str) -> str:
        """A page by its name. Raises NotFound."""
        rendered = render(name, documentation.read(name), self.addresses)
        contents = [heading for heading in rendered.headings if heading.level in LEVELS]
        before, after = self._neighbours.get(name, (None, None))
        title = "NoETL" if name == INDEX else page_title(name)
        return self._framed(
            name, title=title, content=rendered.html, contents=contents, before=before, after=after
        )

    def missing(self) -> str:
        """What is shown where there is no page."""
        if documentation.folder() is None:
            return f"<!doctype html><title>NoETL</title><p>{WITHOUT}"
        first = f'<a href="{self.addresses.page(INDEX, INDEX)}">the first page</a>'
        content = f"<h1>There is no such page</h1><p>Search for it above, or begin at {first}.</p>"
        return self._framed(INDEX, title="There is no such page", content=content, missing=True)

    def search(self) -> str:
        """Every heading of every page with what stands below it, as a script: files can load that too."""
        rows = [
            (self.addresses.page(name, INDEX), page_title(name), heading.anchor, heading.title, heading.text)
            for name in documentation.sources()
            for heading in _found_alone(name, headings_of(documentation.read(name)))
        ]
        return f"window.noetlSearch = {msgspec.json.encode(rows).decode()}\n"

    def _framed(self, name: str, **more: object) -> str:
        return self._template.render(
            name=name,
            page=lambda other: self.addresses.page(other, name),
            file=lambda path: self.addresses.file(path, name),
            root=self.addresses.page(INDEX, name).removesuffix("index.html"),
            live=self.addresses.live,
            version=self.version,
            sections=navigation(),
            **more,
        )

    @cached_property
    def _template(self) -> "Template":
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        loader = FileSystemLoader(HERE)
        made = Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
        )
        return made.get_template("page.html")

    @cached_property
    def _neighbours(self) -> dict[str, tuple[Entry | None, Entry | None]]:
        """The pages before and after each one, in the order of reading."""
        order: list[Entry | None] = [None, *reading_order(), None]
        around = zip(pairwise(order), order[2:], strict=False)
        return {page.name: (before, after) for (before, page), after in around if page is not None}
