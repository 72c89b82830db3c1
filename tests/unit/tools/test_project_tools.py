"""Tools that a project names in its noetl.toml: known there, checked there, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import noetl
from noetl import tools
from noetl.dsl.load import load
from noetl.errors import RequestError
from noetl.settings import load as load_settings
from noetl.wiring.tool_kinds import kinds

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: case, path: tests/case}
workflow:
  - {step: start, tool: {kind: greet, input: {who: Ann}}}
"""
MODULE = """\
import noetl


@noetl.tool
def greet(who: str) -> str:
    return f"Hello {who}!"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose settings name tools/greet.py."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "greet.py").write_text(MODULE)
    (tmp_path / "noetl.toml").write_text('tools = ["tools/greet.py"]\n')
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    tools.use_modules((), "")


def test_a_project_names_tools_of_its_own(project):
    assert load(PLAYBOOK, kinds=kinds()).ok
    assert "greet" in set(kinds())
    assert noetl.call_tool("greet", {"who": "Ann"}) == "Hello Ann!"


PAINT = """
import dataclasses, enum
import noetl

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclasses.dataclass
class Coat:
    colour: Colour
    times: int = 1

@noetl.tool
def paint(colour: Colour, coats: list[Coat] = [], names: dict[str, Coat] = {}):
    \"\"\"Paints.\"\"\"
"""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("{colour: green}", "input 'colour' of kind 'paint' is 'green', but must be one of blue, red"),
        ("{colour: red, coats: [{colour: green}]}", "but its '[0].colour' must be one of blue, red"),
        ("{colour: red, names: {a: {colour: green}}}", "must be one of blue, red"),
    ],
)
def test_a_wrong_word_is_answered_with_those_that_there_are(project, given, says):
    (project / "tools" / "greet.py").write_text(PAINT)
    (finding,) = load(
        PLAYBOOK.replace("greet", "paint").replace("{who: Ann}", given), kinds=kinds()
    ).diagnostics
    assert says in finding.message
    assert finding.hint == "`noetl tools paint` explains every key of the kind"


def test_another_project_does_not_know_them(project, tmp_path_factory, monkeypatch):
    assert "greet" in kinds()
    elsewhere = load_settings(folder=tmp_path_factory.mktemp("elsewhere"))
    assert "greet" not in kinds(elsewhere)


def test_a_module_is_named_by_its_dotted_name_too(project, monkeypatch):
    monkeypatch.syspath_prepend(str(project))
    (project / "greetings_of_a_test.py").write_text(MODULE)
    (project / "noetl.toml").write_text('tools = ["greetings_of_a_test"]\n')
    assert noetl.call_tool("greet", {"who": "Bob"}) == "Hello Bob!"


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
        ("x = (\n", "SyntaxError"),
        ("x = 1\n", "has no tool"),
        (MODULE.replace("def greet", "def http"), "brings the tool kind 'http', which NoETL itself has"),
    ],
)
def test_a_module_that_cannot_be_used_is_named(project, module, says):
    (project / "tools" / "greet.py").write_text(module)
    with pytest.raises(RequestError) as refused:
        load(PLAYBOOK, kinds=kinds())
    assert says in refused.value.message
    assert "tools/greet.py" in refused.value.message


def test_two_that_bring_the_same_kind_are_refused(project):
    (project / "tools" / "other.py").write_text(MODULE)
    (project / "noetl.toml").write_text('tools = ["tools/greet.py", "tools/other.py"]\n')
    with pytest.raises(RequestError, match=r"'tools/other.py'.*which 'tools/greet.py'"):
        set(kinds())


def test_a_project_that_uses_no_kind_of_its_own_loads_nothing(project):
    (project / "tools" / "greet.py").write_text("raise SystemError\n")
    assert load(PLAYBOOK.replace("kind: greet, input: {who: Ann}", "kind: noop"), kinds=kinds()).ok
