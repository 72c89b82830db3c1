"""Documentation is true: its playbooks validate, its commands print what the page says, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.api import Server, Shop
from noetl.cli.formats import text
from noetl.cli.playbooks.sources import Source
from noetl.cli.playbooks.validation import CheckResult, check
from noetl.cli.terminal import Paint
from tests.docs.generated import ROOT, generated, run_commands
from tests.docs.pages import API, Block, blocks, matches, pages
from tests.engine.harness import run

PAGES = pages(ROOT)
PLAYBOOKS = [block for page in PAGES for block in blocks(page) if block.is_playbook]
WITH_COMMANDS = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
MODELINE = "# yaml-language-server: $schema=../docs/schema/playbook.json"


def name_of(thing: Path | Block) -> str:
    if isinstance(thing, Block):
        return f"{thing.page.relative_to(ROOT)}:{thing.line}"
    return str(thing.relative_to(ROOT))


def write_files(titled: list[Block], folder: Path) -> None:
    """The files of a page beside its playbooks: the project that those are in."""
    for block in titled:
        if block.title:
            (folder / block.title).parent.mkdir(exist_ok=True)
            (folder / block.title).write_text(block.text)


def told(result: CheckResult) -> str:
    return text.findings_text([result], Paint(False))


@pytest.mark.parametrize("block", PLAYBOOKS, ids=name_of)
def test_a_playbook_on_a_page_is_as_clean_as_it_is_said_to_be(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files([other for other in blocks(block.page) if other.language in ("python", "toml")], tmp_path)
    result = check(Source(name_of(block), block.text.encode()))
    verdict = "invalid" if not result.valid else "warned" if result.diagnostics else "clean"
    assert verdict == block.verdict, told(result)


@pytest.mark.parametrize("block", [block for block in PLAYBOOKS if block.runs], ids=name_of)
async def test_a_playbook_that_is_said_to_run_completes(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Server(Shop()) as api:
        ran = await run(tmp_path, block.text.replace(API, api.url))
    assert ran.status == "completed", ran.error


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    for _, wanted, code, printed in run_commands(page, tmp_path):
        place = f"{name_of(page)}:{wanted.line}: {wanted.command}"
        assert code == wanted.code, f"{place}: exit {code}\n{printed}"
        assert matches(wanted.output, printed), f"{place}: printed\n{printed}"


def test_the_tests_on_the_page_about_tools_pass(tmp_path: Path) -> None:
    write_files(blocks(ROOT / "docs" / "how-to" / "write-a-tool.md"), tmp_path)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "tests"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
    assert b"2 passed" in done.stdout


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


def test_what_the_program_writes_about_itself_is_up_to_date() -> None:
    stale = [name_of(file) for file, text in generated() if not file.exists() or file.read_text() != text]
    assert not stale, "run: python -m tests.docs.generated"
