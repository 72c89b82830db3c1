"""The GitHub Action and the pre-commit hooks: their own commands, run as the runner and pre-commit run them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.running import audit_all

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
HELLO = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hello, path: tests/hello}
workload: {who: you}
workflow:
  - step: greet
    tool: {kind: python, input: {who: "{{ workload.who }}", code: "result = f'hello {who}'"}}
"""
TESTS = "playbook: hello.yaml\ntests: [{name: greets, expect: {output: hello you}}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a playbook, its test, and YAML that is neither."""
    place = tmp_path / "repository"
    (place / "my books").mkdir(parents=True)
    (place / "hello.yaml").write_text(HELLO)
    (place / "hello.test.yaml").write_text(TESTS)
    (place / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    return place


def run(words: list[str], folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    environment = {**kept, "PATH": path, "HOME": str(folder), "NO_COLOR": "1", **more}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def act(folder: Path, **given: str) -> tuple[int, str, dict[str, str]]:
    """Run the action with inputs, but for its installation: the code it ends with, what it printed, its outputs."""
    inputs = {name: field["default"] for name, field in ACTION["inputs"].items()} | given
    output = folder.parent / "output"
    output.write_text("")
    printed, code = "", 0
    for step in ACTION["runs"]["steps"][1:]:
        (asked,) = re.findall(r"^inputs\.(\w+) != ''$", step["if"])
        if not inputs[asked] or code:
            continue
        own = {name: inputs[re.findall(r"inputs\.(\w+)", text)[0]] for name, text in step["env"].items()}
        done = run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            folder,
            GITHUB_OUTPUT=str(output),
            RUNNER_TEMP=str(folder.parent),
            **own,
        )
        code, printed = done.returncode, printed + done.stdout + done.stderr
    return code, printed, dict(line.split("=", 1) for line in output.read_text().splitlines())


def test_the_action_checks_tests_and_runs(folder: Path) -> None:
    code, printed, outputs = act(folder, test=".", run="hello.yaml", workload='{"who": "$(id) `id`"}')
    assert code == 0, printed
    result = json.loads(Path(outputs["result"]).read_text())
    assert result["output"] == "hello $(id) `id`"  # what comes from outside is never part of a command
    audit_all(folder)


def test_what_is_wrong_ends_the_action_and_is_annotated(folder: Path) -> None:
    (folder / "bad.yaml").write_text(HELLO.replace("step: greet", "stepp: greet"))
    code, printed, _ = act(folder)
    assert code == 1
    assert "::error file=bad.yaml" in printed
    assert act(folder, check="hello.yaml")[0] == 0
    failing = HELLO.replace("result = f'hello {who}'", "raise ValueError('it broke')")
    (folder / "hello.yaml").write_text(failing)
    code, printed, _ = act(folder, check="", run="hello.yaml")
    assert (code, "it broke" in printed) == (1, True)
    audit_all(folder)


def test_the_action_installs_its_own_version_unless_told_otherwise() -> None:
    first = ACTION["runs"]["steps"][0]
    assert first["run"] == 'python -m pip install --quiet "${INSTALL:-$GITHUB_ACTION_PATH}"'
    assert (ROOT / "pyproject.toml").is_file()  # where the action is, so is the package


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_hook_passes_what_is_right_and_stops_what_is_wrong(hook: dict[str, Any], folder: Path) -> None:
    words = [*hook["entry"].split(), *hook["args"]]
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    good = run(words, folder)
    assert good.returncode == 0, good.stdout + good.stderr
    wrong = {
        "noetl-validate": ("kind: python", "kind: pyton"),
        "noetl-test": ("'hello {who}'", "'bye {who}'"),
    }
    (folder / "hello.yaml").write_text(HELLO.replace(*wrong[hook["id"]]))
    assert run(words, folder).returncode == 1
    assert re.search(hook["files"], "playbooks/orders.yaml")
