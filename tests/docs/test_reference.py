"""The reference is complete: every event, every alias, every kind of error the code can give."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from noetl.cli.main import root
from noetl.cli.running.runner import EXIT_OF
from noetl.core.event import CATALOGUE
from tests.docs.generated import ROOT

REFERENCE = ROOT / "docs" / "reference"
ROOMS = ("core", "control", "worker", "wiring", "tools", "ports")
KIND = re.compile(r"\b(?:problem|Failed|EvaluationError|error|say)\(\s*\"([a-z_]+)\"")


def cells(page: str, column: int) -> set[str]:
    """The names in one column of the tables of a page."""
    rows = [line.split("|") for line in (REFERENCE / page).read_text().splitlines() if line.startswith("|")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row[column + 1])}


def test_every_event_is_on_the_page_and_no_other() -> None:
    text = (REFERENCE / "events.md").read_text()
    tables = text.partition("## The execution")[2].partition("## Other spellings")[0]
    named = set(
        re.findall(r"`([a-z]+(?:\.[a-z]+)+)`(?=.*\|)", "\n".join(re.findall(r"(?m)^\| (`.*?\|)", tables)))
    )
    assert named == set(CATALOGUE)


def test_every_alias_is_of_a_known_event() -> None:
    text = (REFERENCE / "events.md").read_text().partition("## Other spellings")[2]
    rows = re.findall(r"(?m)^\| (`.*`) \| (.*) \|$", text)
    assert len(rows) == 11
    for ours, theirs in rows:
        names = re.findall(r"`([a-z.]+)`", ours)
        assert set(names) <= set(CATALOGUE)
        assert len(names) == len(theirs.split(", "))


def test_every_kind_of_error_in_the_code_is_on_the_page() -> None:
    sources = [file.read_text() for room in ROOMS for file in (ROOT / "noetl" / room).rglob("*.py")]
    given = {kind for source in sources for kind in KIND.findall(source)}
    assert given - cells("error-kinds.md", 0) == set()


def test_every_exit_code_of_a_run_is_on_the_page() -> None:
    told = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", (REFERENCE / "exit-codes.md").read_text())}
    assert set(EXIT_OF.values()) <= told


def options(command: click.Command, context: click.Context, *names: str) -> Iterator[tuple[str, str]]:
    """Every option of every command, after the name of the command whose page it is on."""
    for option in command.params if names else ():
        if isinstance(option, click.Option) and not option.hidden:
            yield from ((names[0], name) for name in option.opts if name.startswith("--"))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from options(inner, click.Context(inner, context, name), *names, name)


def test_every_option_of_a_command_is_on_its_page() -> None:
    found = {*options(root, click.Context(root))}
    assert len(found) > 100
    pages = {name: (REFERENCE / "commands" / f"{name}.md").read_text() for name, _ in found}
    assert sorted(f"{name} {option}" for name, option in found if option not in pages[name]) == []


def test_every_page_can_be_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    reached, waiting = set(), [docs / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        waiting += [Path(page.parent / link).resolve() for link in links if "://" not in link]
    assert sorted(str(page.relative_to(ROOT)) for page in set(docs.rglob("*.md")) - reached) == []
