"""`noetl init`: a project that runs and whose tests pass, and never a file that is overwritten."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest

from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import plain
from tests.acceptance.conftest import Noetl
from tests.acceptance.running import audit_all

Write = Callable[[str, str], str]
FILES = [
    "orders.yaml",
    "orders.test.yaml",
    "orders.json",
    "playbook.schema.json",
    "test.schema.json",
    "noetl.toml",
    ".gitignore",
]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_it_says_to_do_next_works(noetl: Noetl) -> None:
    done = noetl("init", "my shop")
    assert (done.returncode, done.stdout.splitlines()) == (0, [f"my shop/{name}" for name in FILES])
    said = [line.strip() for line in done.stderr.splitlines() if line.startswith("  ")]
    assert said == ["cd 'my shop'", "noetl run orders.yaml", "noetl test", "noetl dev"]
    ran = noetl.shell(" && ".join(said[:3]))
    assert ran.returncode == 0, ran.stderr
    assert '"a good day: 119.5 of 100"' in ran.stdout
    assert "orders.yaml: 4 of 4 steps, 3 of 3 arcs, 3 of 3 rules" in ran.stdout
    audit_all(noetl.folder / "my shop")


def test_without_a_name_it_is_this_folder(noetl: Noetl) -> None:
    told = json.loads(noetl("init", "--json").stdout)
    assert told["files"] == FILES
    assert told["kept"] == []
    assert told["folder"] == str(noetl.folder)
    assert told["next"][0] == "noetl run orders.yaml"
    assert noetl("validate", "--strict", ".").returncode == 0


def test_editors_find_the_schema_that_each_file_names(noetl: Noetl) -> None:
    assert noetl("init", "shop").returncode == 0
    for name in ("orders.yaml", "orders.test.yaml"):
        text = (noetl.folder / "shop" / name).read_text()
        schema = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
        validator = jsonschema_rs.validator_for(json.loads((noetl.folder / "shop" / schema).read_text()))
        assert [error.message for error in validator.iter_errors(plain(parse(text).tree))] == []


@pytest.mark.parametrize("there", [name for name in FILES if name not in (".gitignore", "noetl.toml")])
def test_nothing_is_overwritten_and_nothing_is_written_then(noetl: Noetl, write: Write, there: str) -> None:
    write(f"shop/{there}", "mine")
    done = noetl("init", "shop")
    assert done.returncode == 2
    assert f"nothing was written: in 'shop' there is already {there}" in done.stderr
    assert tree(noetl.folder / "shop") == {there: b"mine"}


def test_what_a_project_has_already_is_kept_and_told(noetl: Noetl, write: Write) -> None:
    write(".gitignore", "*.pyc\n")
    write("noetl.toml", "concurrency = 4\n")
    done = noetl("init")
    assert done.returncode == 0
    assert ".gitignore was there already and is as it was" in done.stderr
    assert "add .noetl/ to .gitignore" in done.stderr
    assert tree(noetl.folder)[".gitignore"] == b"*.pyc\n"
    assert tree(noetl.folder)["noetl.toml"] == b"concurrency = 4\n"


def test_a_file_or_a_place_that_cannot_be_written_is_told(noetl: Noetl, write: Write) -> None:
    write("taken", "")
    assert "'taken' is a file, not a folder" in noetl("init", "taken").stderr
    done = noetl("init", "taken/inside")
    assert (done.returncode, "cannot write to 'taken/inside'" in done.stderr) == (2, True)


def test_a_link_that_leads_nowhere_is_not_written_through(noetl: Noetl) -> None:
    (noetl.folder / "orders.yaml").symlink_to(noetl.folder / "elsewhere.yaml")
    assert noetl("init").returncode == 2
    assert not (noetl.folder / "elsewhere.yaml").exists()


def test_a_tool_that_it_writes_is_known_runs_and_passes_its_test(noetl: Noetl, write: Write) -> None:
    done = noetl("init", "--tool", "hail")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["tools/hail.py", "tests/test_hail.py", "noetl.toml"],
    )
    assert noetl("init", "--tool", "wave").returncode == 0
    assert (noetl.folder / "noetl.toml").read_text() == 'tools = ["tools/hail.py", "tools/wave.py"]\n'
    assert "wave        Greets somebody" in noetl("tools").stdout
    tested = noetl.shell("python -m pytest -q tests")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    text = (
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: hail, path: hail}\n"
        "workflow:\n  - {step: start, tool: {kind: hail, input: {who: Ann, times: 2}}}\n"
    )
    ran = noetl("run", "--json", write("hail.yaml", text))
    assert json.loads(ran.stdout)["output"] == {"text": "Hello Ann! Hello Ann!"}
    audit_all(noetl.folder)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tool", "http"], "there is a tool kind 'http' already"),
        (["--tool", "My Tool"], "a tool kind cannot be called 'My Tool'"),
        (["--tool", "class"], "a tool kind cannot be called 'class'"),
        (["shop", "--tool", "hail"], "--tool adds to the project of this folder"),
    ],
)
def test_a_tool_that_cannot_be_is_refused_and_nothing_is_written(
    noetl: Noetl, arguments: list[str], says: str
) -> None:
    done = noetl("init", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert tree(noetl.folder) == {}


def test_settings_that_name_tools_in_another_way_are_left_alone(noetl: Noetl) -> None:
    (noetl.folder / "noetl.toml").write_text("concurrency = 4")
    assert noetl("init", "--tool", "hail").returncode == 0
    assert (noetl.folder / "noetl.toml").read_text() == 'concurrency = 4\ntools = ["tools/hail.py"]\n'
    (noetl.folder / "noetl.toml").write_text('tools = "tools/hail.py"\n')
    done = noetl("init", "--tool", "wave")
    assert done.returncode == 2
    assert "is not a list" in done.stderr
    assert (noetl.folder / "noetl.toml").read_text() == 'tools = "tools/hail.py"\n'
    assert not (noetl.folder / "tools" / "wave.py").exists()
