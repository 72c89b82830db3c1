"""Which files the arguments mean."""

import io
import os
from pathlib import Path

import pytest

from noetl.cli.playbooks import sources
from noetl.errors import NotFound, RequestError

PLAYBOOK = "apiVersion: noetl.io/v2\nkind: Playbook\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "a.yaml": PLAYBOOK,
        "b.yml": PLAYBOOK,
        "values.yaml": "a: 1\n",
        "notes.txt": PLAYBOOK,
        "deep/er/c.yaml": "# a comment first\n'kind': \"Playbook\"\n",
        "deep/flow.yaml": "{apiVersion: noetl.io/v2}",
        "deep/deployment.yaml": "kind: Deployment\nspec:\n  kind: Playbook\n",
        ".hidden/d.yaml": PLAYBOOK,
        "node_modules/e.yaml": PLAYBOOK,
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments, found",
    [
        (["a.yaml"], ["a.yaml"]),
        (["values.yaml"], ["values.yaml"]),
        (["notes.txt"], ["notes.txt"]),
        (["-"], ["-"]),
        (["."], ["a.yaml", "b.yml", "deep/flow.yaml", "deep/er/c.yaml"]),
        (["deep", "a.yaml"], ["deep/flow.yaml", "deep/er/c.yaml", "a.yaml"]),
        (["a.yaml", "a.yaml", "."], ["a.yaml", "b.yml", "deep/flow.yaml", "deep/er/c.yaml"]),
        (["*.yaml"], ["a.yaml", "values.yaml"]),
        (
            ["**/*.yaml"],
            [
                "a.yaml",
                "deep/deployment.yaml",
                "deep/er/c.yaml",
                "deep/flow.yaml",
                "node_modules/e.yaml",
                "values.yaml",
            ],
        ),
        (["de?p"], ["deep/flow.yaml", "deep/er/c.yaml"]),
        ([".hidden"], [".hidden/d.yaml"]),
    ],
)
def test_files_are_taken_as_named_and_folders_are_searched_for_playbooks(arguments, found, folder) -> None:
    assert sources.find(arguments) == found


@pytest.mark.parametrize(
    "argument, message, hint",
    [
        ("b.yaml", "no such file or folder: 'b.yaml'", "did you mean 'b.yml'?"),
        ("nowhere/x.yaml", "no such file or folder: 'nowhere/x.yaml'", "there is no folder 'nowhere' either"),
        ("*.json", "no file matches '*.json'", "quote the pattern, or name a file or a folder"),
        ("empty", "no playbooks in the folder 'empty'", "a playbook is a .yaml or .yml file"),
    ],
)
def test_an_argument_that_names_nothing_is_told_with_what_to_do(argument, message, hint, folder) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(NotFound) as caught:
        sources.find(["a.yaml", argument])
    assert caught.value.message == message
    assert hint in (caught.value.hint or "")


def test_several_missing_arguments_are_counted(folder: Path) -> None:
    with pytest.raises(NotFound, match="and 1 more"):
        sources.find(["x1", "x2"])


def test_standard_input_is_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: \xff")))
    assert sources.read("-") == sources.Source("<stdin>", b"a: \xff")


def test_a_file_that_cannot_be_read_is_told_with_the_reason(folder: Path) -> None:
    with pytest.raises(RequestError, match="cannot read 'deep': Is a directory"):
        sources.read("deep")


@pytest.mark.parametrize("argument, words", [("deep", "is a folder"), ("zzz.yaml", "no such file")])
def test_a_command_for_one_playbook_takes_one_file(argument: str, words: str, folder: Path) -> None:
    with pytest.raises(RequestError, match=words):
        sources.read_one(argument)
    assert sources.read_one("a.yaml").data == PLAYBOOK.encode()


def test_a_pipe_in_a_folder_is_left_alone(folder: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")
    assert "pipe.yaml" not in sources.find(["."])


def test_a_file_of_any_size_is_read_up_to_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "READ_LIMIT", 10)
    assert len(sources.read("a.yaml").data) == 10
