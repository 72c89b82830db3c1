"""The plug-in for pytest: playbook tests beside those of Python, what is wrong told as findings, fixtures."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.acceptance.running import audit_all

ROOT = Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other plug-ins of this environment are not what is tested."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


PLUGIN = ("-p", "noetl.pytest_plugin", "-p", "no:cacheprovider")

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: watch, path: tests/watch}
workload: {limit: 90}
workflow:
  - step: look
    tool: {name: disk, kind: shell, input: {command: "echo 42"}}
    next:
      arcs:
        - {step: alarm, when: "{{ event.failed or output.data.stdout | int > workload.limit }}"}
        - {step: rest}
  - step: alarm
    tool: {kind: noop, output: alarm}
  - step: rest
    tool: {kind: python, input: {code: "result = 'fine'"}}
"""
SUITE = """
playbook: watch.yaml
tests:
  - name: a disk with room is fine
    given: {look.disk: {data: {stdout: "42"}}}
    expect: {output: fine}
  - name: a full disk is an alarm
    given: {look.disk: {data: {stdout: "95"}}}
    expect: {output: WRONG}
"""
PYTHON = '''
import noetl
import pytest


@noetl.tool
def double(number: int, context: noetl.ToolContext) -> int:
    """Doubles a number."""
    context.log(f"doubling {number}")
    return 2 * number


def test_runs(noetl_run):
    assert noetl_run("watch.yaml", limit=10).output == "alarm"
    failed = noetl_run("watch.yaml", {"limit": "x"}, check=False)
    assert failed.status == "failed"


def test_tools(noetl_tool):
    assert noetl_tool(double, {"number": 4}) == 8
    assert noetl_tool.lines == ["doubling 4"]
    with pytest.raises(noetl.Failed):
        noetl_tool(double, {"number": "many"})
'''


def test_playbook_tests_are_items_beside_those_of_python(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", watch=PLAYBOOK)
    pytester.makefile(".test.yaml", watch=SUITE)
    pytester.makepyfile(test_python=PYTHON)
    done = pytester.runpytest_subprocess("-v", "--strict-markers", *PLUGIN)
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*watch.test.yaml::a disk with room is fine PASSED*",
            "*watch.test.yaml::a full disk is an alarm FAILED*",
            "*watch.test.yaml:8:*",
            "*WRONG*",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")
    assert not (pytester.path / ".noetl").exists()
    stores = list(pytester.path.glob("runpytest-*/test_runs*/.noetl/noetl.db"))
    assert stores
    for store in stores:
        audit_all(store.parent.parent)
    chosen = pytester.runpytest_subprocess("--collect-only", "-q", "-m", "noetl", "-k", "room", *PLUGIN)
    chosen.stdout.fnmatch_lines(["watch.test.yaml::a disk with room is fine", "*1/4 tests collected*"])


def test_what_cannot_be_run_is_told_as_findings_and_what_is_not_ours_is_left_alone(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(".yaml", watch=PLAYBOOK)
    pytester.makefile(
        ".test.yaml",
        typo=SUITE.replace("look.disk", "look.disc"),
        lonely=SUITE.replace("watch.yaml", "nowhere.yaml"),
        foreign="steps: [{run: something}]\n",
    )
    done = pytester.runpytest_subprocess(*PLUGIN)
    done.assert_outcomes(errors=2)
    done.stdout.fnmatch_lines_random(["*look.disk*", "*there is no playbook*nowhere.yaml*"])
    done.stdout.no_fnmatch_line("*foreign*")
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_pytest_that_has_no_playbook_tests_imports_nothing_of_the_engine(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_cheap():
            ours = {name for name in sys.modules if name.split(".")[0] == "noetl"}
            assert ours == {"noetl", "noetl.pytest_plugin"}
        """
    )
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)


def test_the_package_announces_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"noetl": "noetl.pytest_plugin"}
    words = "import sys, noetl.pytest_plugin; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
