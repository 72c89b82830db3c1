"""The documentation as a site: every link leads somewhere, every page is in the navigation, nothing is from elsewhere."""

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from deploy.site import build
from noetl import documentation
from noetl.server.manual import playbooks
from noetl.server.manual.addresses import InFolder, OnServer
from noetl.server.manual.markdown import render
from noetl.server.manual.navigation import Entry, Group, Section, navigation, place, reading_order
from noetl.server.manual.site import Site
from tests.docs.pages import blocks
from tests.playbook_text import loaded

LEADS = {"a": "href", "link": "href", "script": "src", "img": "src", "input": "data-index"}


class Read(HTMLParser):
    """The ids and the links of a page, and what a strict content policy would not let pass."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.refused: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag in LEADS and LEADS[tag] in given:
            self.links.append(given[LEADS[tag]] or "")
            self.loaded += self.links[-1:] if tag != "a" else []
        inline = tag == "style" or (tag == "script" and "src" not in given)
        self.refused += [tag] if inline else []
        self.refused += [name for name in given if name == "style" or name.startswith("on")]


def dead(files: set[str], read: dict[str, Read]) -> Iterator[str]:
    """The links of a site that lead nowhere."""
    for name, page in read.items():
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if "://" in link:
                continue
            if target not in files:
                yield f"{name}: {link}"
            elif anchor and target in read and anchor not in read[target].ids:
                yield f"{name}: {link} has no such anchor"


def test_no_link_is_dead_no_id_is_double_and_nothing_is_inline_or_from_elsewhere(tmp_path: Path) -> None:
    """One test, since it takes seconds to write the site."""
    files = {file.relative_to(tmp_path).as_posix(): file for file in build(tmp_path)}
    read = {name: Read(file.read_text()) for name, file in files.items() if name.endswith(".html")}
    assert len(read) == len(documentation.sources())
    assert sum(len(page.links) for page in read.values()) > 5000
    assert list(dead({*files}, read)) == []
    assert [name for name, page in read.items() if len(set(page.ids)) != len(page.ids)] == []
    assert [(name, page.refused) for name, page in read.items() if page.refused] == []
    assert {link for page in read.values() for link in page.loaded if "//" in link} == set()
    assert "://" not in (tmp_path / "site.js").read_text()
    assert "url(" not in (tmp_path / "site.css").read_text()


def test_a_dead_link_and_a_dead_anchor_are_found() -> None:
    texts = {"a.html": '<a href="b.html#x">', "b.html": '<p id="y"><a href="../b.html">'}
    found = list(dead(set(texts), {name: Read(text) for name, text in texts.items()}))
    assert found == ["a.html: b.html#x has no such anchor", "b.html: ../b.html"]


def test_every_page_is_in_the_navigation_once() -> None:
    names = [entry.name for entry in reading_order()]
    assert sorted(names) == sorted({*documentation.sources()} - {"index"}), (
        "docs/index.md has a list for each part: link the page there"
    )


def test_the_parts_are_those_that_a_reader_knows() -> None:
    assert [section.title for section in navigation()] == [
        "Tutorial",
        "How-to guides",
        "Reference",
        "Explanation",
    ]
    assert all(group.entries for section in navigation() for group in section.groups)


def test_a_page_that_no_list_names_stands_with_those_of_its_folder() -> None:
    sections = [Section("Do", [Group("", [Entry("how-to/install", "Install it")])])]
    place("how-to/keychain", sections)
    place("how-to/install", sections)
    assert [entry.name for entry in sections[0].groups[0].entries] == ["how-to/install", "how-to/keychain"]


def test_text_is_never_taken_for_html_and_what_leads_out_of_the_documentation_is_no_link() -> None:
    text = "# A\n\n<b onclick=x>hi</b> [c](../../CONTRIBUTING.md) [j](javascript:x) [r](../errors/index.md#top)\n"
    shown = render("how-to/install", text, InFolder()).html
    assert "<b" not in shown
    assert "&lt;b onclick=x&gt;" in shown
    assert re.findall(r'href="([^"]*)"', shown) == ["../errors.html#top"]


def test_headings_that_are_alike_have_anchors_that_are_not() -> None:
    headings = render("index", "# A `b`\n\n## C, d!\n\nx\n\n## C, d!\n\ny\n", InFolder()).headings
    assert [(heading.anchor, heading.text) for heading in headings] == [
        ("a-b", ""),
        ("c-d", "x"),
        ("c-d-1", "y"),
    ]


def on_pages() -> list[tuple[str, str]]:
    """Every playbook with a button to run it, with its page."""
    root = documentation.folder()
    assert root is not None
    found = []
    for name, source in documentation.sources().items():
        page = root / source
        texts = [(block.language, block.words, block.text) for block in blocks(page)]
        texts += [("yaml", (), page.read_text())] if page.suffix == ".yaml" else []
        made = [playbooks.runnable(*parts) for parts in texts]
        found += [(name, text) for text in made if text is not None]
    return found


def test_a_playbook_that_can_be_run_is_valid_and_lies_below_docs() -> None:
    runnable = on_pages()
    assert len(runnable) > 60
    for name, text in runnable:
        playbook = loaded(text).playbook
        assert playbook is not None, name
        assert playbook.path.startswith("docs/"), name


@pytest.mark.parametrize(
    "words, text", [(["invalid"], "apiVersion: x\n"), (["wrong"], "apiVersion: x\n"), ([], "a: 1\n")]
)
def test_what_is_no_whole_playbook_cannot_be_run(words: list[str], text: str) -> None:
    assert playbooks.runnable("yaml", words, text) is None


def test_only_a_page_of_a_server_has_what_can_be_run() -> None:
    assert "data-playbook" in Site(OnServer(), "1").page("tutorial/1-first-playbook")
    assert "data-playbook" not in Site(InFolder(), "1").page("tutorial/1-first-playbook")
