"""What stands beside every page: the sections of docs/index.md, and the pages that its lists name.

The first page of a folder brings the others of the folder with it, in the order in which it names them.
"""

import posixpath
import re
from dataclasses import dataclass, field
from functools import cache

from noetl import documentation
from noetl.documentation import INDEX

HEADING = re.compile(r"(?P<level>#{2,3}) (?P<title>.+)")
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")
EXAMPLES_OF = {"tutorial/examples": "examples"}  # the page that names them lies in another folder
ITEM = re.compile(r"\s*(?:\*|\d+\.) ")


@dataclass(frozen=True)
class Entry:
    """A page, and the pages of its folder when it is the first of one."""

    name: str
    title: str
    below: "tuple[Entry, ...]" = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.name, *(entry.name for entry in self.below)})


@dataclass
class Group:
    """Pages under one small heading; the heading may be missing."""

    title: str
    entries: list[Entry] = field(default_factory=list)


@dataclass
class Section:
    """One of the parts of the documentation: learn, do, look up, understand."""

    title: str
    groups: list[Group] = field(default_factory=list)

    def has(self, name: str) -> bool:
        return any(name in entry.names for group in self.groups for entry in group.entries)

    def has_folder(self, folder: str) -> bool:
        return any(entry.name.startswith(folder) for group in self.groups for entry in group.entries)


@cache
def navigation() -> tuple[Section, ...]:
    """The sections in the order of the first page."""
    sections: list[Section] = []
    for line in documentation.read(INDEX).splitlines():
        if (heading := HEADING.fullmatch(line)) is not None:
            if heading["level"] == "##":
                sections.append(Section(heading["title"]))
            elif sections:
                sections[-1].groups.append(Group(heading["title"]))
        elif ITEM.match(line) and sections:
            sections[-1].groups = sections[-1].groups or [Group("")]
            sections[-1].groups[-1].entries += _entries(line)
    sections = [_opened(section) for section in sections]
    for name in documentation.sources():
        place(name, sections)
    return tuple(sections)


def place(name: str, sections: list[Section]) -> None:
    """A page that no list names stands after those of its folder."""
    near = [section for section in sections if section.has_folder(name.partition("/")[0])]
    if name != INDEX and near and not any(section.has(name) for section in sections):
        near[-1].groups[-1].entries.append(_entry(name))


def _opened(section: Section) -> Section:
    """A section that is one folder shows its pages at once."""
    entries = [entry for group in section.groups for entry in group.entries]
    if len(entries) != 1:
        return section
    return Section(section.title, [Group("", [Entry(entries[0].name, "Overview"), *entries[0].below])])


def _entries(line: str) -> list[Entry]:
    return [_entry(name) for name in _linked("docs/index.md", line)]


def _entry(name: str) -> Entry:
    folder = EXAMPLES_OF.get(name, name)
    inside = [other for other in documentation.sources() if other.startswith(f"{folder}/")]
    named = _linked(documentation.sources()[name], documentation.read(name)) if inside else []
    below = dict.fromkeys([*(other for other in named if other in inside), *inside])
    return Entry(name, page_title(name), tuple(_entry(other) for other in below))


def _linked(source: str, text: str) -> list[str]:
    """The pages that a text of a file links to."""
    targets = [target_of(source, link["target"]) for link in LINK.finditer(text)]
    known = set(documentation.sources().values())
    return [documentation.name_of(target) for target in targets if target in known]


def target_of(source: str, link: str) -> str:
    """The file of the repository that a link in another one leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


@cache
def page_title(name: str) -> str:
    """What a page calls itself, without marks of Markdown."""
    return documentation.title(documentation.read(name)).replace("`", "")


def reading_order() -> list[Entry]:
    """Every page of the navigation, one after the other."""
    flat = [entry for section in navigation() for group in section.groups for entry in group.entries]
    return [page for entry in flat for page in (entry, *entry.below)]
