"""Documentation is true: its playbooks validate, its commands print what the page says, its links lead somewhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.cli import main
from noetl.cli.checked import Checked, check
from noetl.cli.formats import text
from noetl.cli.render import Paint
from noetl.cli.sources import Source
from noetl.dsl.schema import playbook_schema
from noetl.tools import kinds
from tests.docs.pages import Block, blocks, commands, matches, pages

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = pages(ROOT)
PLAYBOOKS = [block for page in PAGES for block in blocks(page) if block.is_playbook]
WITH_COMMANDS = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
SCHEMA = ROOT / "docs" / "schema" / "playbook.json"
MODELINE = "# yaml-language-server: $schema=../docs/schema/playbook.json"


def name_of(thing: Path | Block) -> str:
    if isinstance(thing, Block):
        return f"{thing.page.relative_to(ROOT)}:{thing.line}"
    return str(thing.relative_to(ROOT))


def told(result: Checked) -> str:
    return text.render([result], Paint(False))


@pytest.mark.parametrize("block", PLAYBOOKS, ids=name_of)
def test_a_playbook_on_a_page_is_as_clean_as_it_is_said_to_be(block: Block) -> None:
    result = check(Source(name_of(block), block.text.encode()))
    verdict = "invalid" if not result.valid else "warned" if result.diagnostics else "clean"
    assert verdict == block.verdict, told(result)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("NO_COLOR", "1")
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        for wanted in commands(block) if block.language == "console" else ():
            done = subprocess.run(["sh", "-c", wanted.command], cwd=tmp_path, capture_output=True, text=True)
            printed = done.stdout + done.stderr
            assert done.returncode == wanted.code, (
                f"{name_of(page)}:{wanted.line}: exit {done.returncode}\n{printed}"
            )
            assert matches(wanted.output, printed), f"{name_of(page)}:{wanted.line}: printed\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_inside_the_documentation_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)
    broken = [t for t in targets if not t.startswith(("http:", "https:")) and not (page.parent / t).exists()]
    assert not broken


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_has_no_findings_even_in_strict_mode(example: Path) -> None:
    result = check(Source(name_of(example), example.read_bytes()), strict=True)
    assert not result.diagnostics, told(result)


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_opens_with_the_schema_line_and_says_what_it_shows(example: Path) -> None:
    first, *rest = example.read_text().splitlines()
    comment = rest[: next(number for number, line in enumerate(rest) if not line.startswith("#"))]
    assert first == MODELINE
    assert 2 <= len(comment) <= 4
    assert f"path: examples/{example.stem}" in rest[len(comment) + 4]


def test_there_are_examples_enough_to_learn_from() -> None:
    assert len(EXAMPLES) >= 12


def test_every_example_is_named_on_the_examples_page() -> None:
    page = (ROOT / "docs" / "tutorial" / "examples.md").read_text()
    assert [example.name for example in EXAMPLES if f"(../../examples/{example.name})" not in page] == []


def test_the_schema_that_examples_name_is_up_to_date() -> None:
    assert json.loads(SCHEMA.read_text()) == playbook_schema(kinds()), (
        "run: noetl schema > docs/schema/playbook.json"
    )


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=name_of)
def test_a_picture_is_what_noetl_draws_today(picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = ROOT / "examples" / f"{picture.stem}.yaml"
    assert main.run(["graph", str(example), "--format", "svg"]) == 0
    drawn = capsys.readouterr().out
    assert picture.read_text() == drawn, (
        f"run: noetl graph examples/{example.name} -o docs/images/{picture.name}"
    )
