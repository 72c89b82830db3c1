"""Every kind's example validates without a word, and those that need nothing from outside run."""

import json
from pathlib import Path
from typing import Any

import pytest

from noetl import tools
from noetl.dsl.load import load
from tests.conftest import ROOT
from tests.fork_server import FORK_SERVER

KINDS = tools.kinds()

OUTPUTS: dict[str, Any] = {
    "noop": 6,
    "python": {"sum": 6, "largest": 3},
    "shell": {"exit_code": 0, "stdout": "12\n", "stderr": ""},
    "sqlite": {"rows": [{"item": "tea", "price": 3.5}], "row_count": 1, "columns": ["item", "price"]},
    "duckdb": {
        "rows": [{"n": 1, "square": 1}, {"n": 2, "square": 4}, {"n": 3, "square": 9}],
        "row_count": 3,
        "columns": ["n", "square"],
    },
    "dlt": {"rows": [{"item": "tea"}, {"item": "milk"}], "row_count": 2, "columns": ["item"]},
    "file": [{"name": "Ada", "born": "1815"}],
    "object": {"total": 12},
    "resolve": [91, 92, 93, 94, 95],
    "transfer": {"rows": 1},
    "workbook": 42,
    "secrets": {"name": "api", "fields": ["value"]},
}


@pytest.mark.parametrize("name", KINDS)
def test_an_example_validates_without_a_word(name):
    assert [(d.code, d.message, d.line) for d in load(KINDS[name].example, kinds=KINDS).diagnostics] == []


def run(name: str, folder: Path, *flags: str) -> dict[str, Any]:
    (folder / f"{name}.yaml").write_text(KINDS[name].example)
    environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(folder / "home"), "API_TOKEN": "t0ken-canary"}
    done = FORK_SERVER.run(["run", f"{name}.yaml", "--json", *flags], folder, environment)
    assert b"t0ken-canary" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_runs_to_its_end(name, tmp_path: Path):
    assert run(name, tmp_path)["output"] == OUTPUTS[name]


def test_the_example_circuit_gives_two_outcomes(tmp_path: Path):
    counts = run("quantum", tmp_path)["output"]["counts"]
    assert set(counts) == {"00", "11"}
    assert sum(counts.values()) == 1000


def test_the_example_project_is_built_by_a_dbt_of_the_machine(tmp_path: Path):
    program = ROOT / ".venv-dbt" / "bin" / "dbt"
    assert program.exists(), "install it: make dbt"
    done = run("dbt", tmp_path, "--set", f"program={program}")
    assert done["output"]["rows"] == [{"id": 1}]


def test_the_example_request_is_sent(tmp_path: Path, httpserver):
    httpserver.expect_request("/items", query_string="page=1&tag=red&tag=blue").respond_with_json([1, 2])
    flags = ("--set", f"api_url={httpserver.url_for('').rstrip('/')}")
    assert run("http", tmp_path, *flags)["output"] == [1, 2]
