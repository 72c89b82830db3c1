"""Whatever has been typed so far, each question about each place has an answer; no fix or new name makes a text worse."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl.cli.commands.lsp import _checked
from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.editor_schema import playbook_schema
from noetl.dsl.yaml.source import parse
from noetl.lsp import completion, hover, names, navigation
from noetl.lsp.last_value import expression_at, mapping_before
from noetl.lsp.navigation import Place
from noetl.lsp.quick_fixes import quick_fixes
from noetl.lsp.schema_reader import SchemaReader
from noetl.wiring.tool_kinds import kinds

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("examples", "tests/fixtures")
BOOKS = {
    file.name: file.read_text() for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.yaml"))
}
PIECES = [
    "{{ ",
    "}}",
    "{",
    "[",
    '"',
    "'",
    "\t",
    "- ",
    ": ",
    "\n",
    "{% if ",
    "&a",
    "*",
    "!!x ",
    "#",
    "😋",
    "? ",
    "<<: ",
    "---\n",
    "{{ workload.",
    "{{ x ",
    " ",
]
KINDS = kinds()
READER = SchemaReader(playbook_schema(KINDS))


def findings(text: str) -> tuple[Diagnostic, ...]:
    checked = _checked(text)
    return () if checked is None else checked.diagnostics


def half_typed(chance: random.Random) -> Iterator[tuple[str, int]]:
    """Texts that somebody is in the middle of, and where the cursor is."""
    text = chance.choice([*BOOKS.values()])
    place = chance.randrange(len(text) + 1)
    yield text, place
    yield text[:place], place
    yield text[:place] + text[place + chance.randrange(30) :], place
    piece = chance.choice(PIECES)
    yield text[:place] + piece + text[place:], place + len(piece)


def test_every_question_has_an_answer() -> None:
    chance = random.Random(14)
    for text, place in (one for _ in range(150) for one in half_typed(chance)):
        lines, line = text.split("\n"), text.count("\n", 0, place)
        at = (lines, line, place - (text.rfind("\n", 0, place) + 1))
        completion.completions(*at, READER)
        hover.hover(*at, READER, KINDS)
        navigation.definition(*at)
        navigation.occurrences(*at)
        navigation.refusal(*at, "other")
        navigation.symbols(lines)
        root = parse(text).tree
        expression_at(*at, root)
        mapping_before(*at, root)


def test_a_fix_takes_its_finding_away() -> None:
    chance, fixed = random.Random(15), Counter[str]()
    for text, _ in (one for _ in range(60) for one in half_typed(chance)):
        lines, found = text.split("\n"), findings(text)
        for finding, fix in quick_fixes(found[:3], lines, KINDS, findings):
            after = fix.text if fix.place is None else replaced(lines, [fix.place], fix.text)
            assert count(finding, after) < count(finding, text), (fix, text)
            fixed[finding.code] += 1
    assert len(fixed) > 3


def count(finding: Diagnostic, text: str) -> int:
    return sum((one.code, one.message) == (finding.code, finding.message) for one in findings(text))


def replaced(lines: list[str], places: list[Place], text: str) -> str:
    lines = list(lines)
    for place in sorted(places, key=lambda place: (place.line, place.column), reverse=True):
        line = lines[place.line]
        lines[place.line] = line[: place.column] + text + line[place.column + place.length :]
    return "\n".join(lines)


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_a_step_or_label_of_another_name_leaves_a_playbook_as_good_as_it_was(name: str) -> None:
    text = BOOKS[name]
    lines, root = text.split("\n"), parse(text).tree
    before = Counter((finding.code, finding.line) for finding in findings(text))
    steps = [(step.at("step"), str(step["step"])) for step in names.steps(root) if "step" in step]
    tasks = [task for owner in names.owners(root) for task in names.tasks(owner.body) if "name" in task]
    for mark, old in [*steps, *((task.at("name"), str(task["name"])) for task in tasks)]:
        column = lines[mark.line - 1].index(old, mark.column - 1)
        at = (lines, mark.line - 1, column)
        if not old.isidentifier():  # playbooks of the original have other names
            continue
        places = navigation.occurrences(*at)
        assert navigation.refusal(*at, f"new_{old}") is None
        after = replaced(lines, places, f"new_{old}")
        assert Counter((finding.code, finding.line) for finding in findings(after)) == before, old
        assert all(navigation.occurrences(lines, place.line, place.column) == places for place in places)
