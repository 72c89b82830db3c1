"""The python kind: what it hands to the host, and how each ending becomes an envelope."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from noetl.ports.call import PYTHON_HOST, Limits, Raised, Ran
from noetl.worker.recorded_output import RecordedOutput


class Host:
    """A host that notes what it is asked and answers as told."""

    def __init__(self) -> None:
        self.answer = Ran("ok", value=1)
        self.asked: dict[str, Any] = {}
        self.prints: list[bytes] = []

    async def run(
        self,
        code: str,
        variables: Mapping[str, Any],
        *,
        script: Any = None,
        name: Any = None,
        timeout_s: Any = None,
        limits: Any = None,
        on_output: Any = None,
    ) -> Ran:
        for part in self.prints:
            on_output(part)
        self.asked = {"code": code, "variables": dict(variables), "script": script, "name": name}
        self.asked |= {"timeout_s": timeout_s, "limits": limits}
        return self.answer

    async def close(self) -> None:
        return None


@pytest.fixture
def host(resources) -> Host:
    given = Host()
    resources.give(PYTHON_HOST, given)
    return given


async def test_every_other_key_is_a_variable(use, host):
    values = {"code": "result = a", "a": [1], "b": None, "timeout": 2}
    output = await use("python", values, spec={"memory_bytes": 10**8})
    assert output["data"] == 1
    assert host.asked["variables"] == {"a": [1], "b": None}
    assert host.asked["timeout_s"] == 2.0
    assert host.asked["limits"] == Limits(memory_bytes=10**8)


async def test_a_script_is_read_from_the_allowed_folders(use, host, tmp_path: Path):
    (tmp_path / "job.py").write_text("result = 2")
    await use("python", {"script": "job.py"})
    assert host.asked["code"] == "result = 2"
    assert host.asked["script"] == str(tmp_path / "job.py")
    assert (await use("python", {"script": "/etc/passwd"}))["error"]["kind"] == "path"
    assert (await use("python", {"script": "gone.py"}))["error"]["kind"] == "not_found"


@pytest.mark.parametrize("values", [{}, {"code": "x", "script": "y"}])
async def test_exactly_one_of_code_and_script_is_needed(use, host, values):
    assert (await use("python", values))["error"]["kind"] == "input"


async def test_an_exception_keeps_its_type_and_traceback(use, host):
    host.answer = Ran("raised", raised=Raised("ZeroDivisionError", "division by zero", "line 1"))
    output = await use("python", {"code": "1/0"})
    assert output["error"]["kind"] == "python"
    assert output["error"]["code"] == "ZeroDivisionError"
    assert output["error"]["message"] == "ZeroDivisionError: division by zero"
    assert output["py"] == {"exception_type": "ZeroDivisionError", "traceback": "line 1"}
    assert output["error"]["details"] == {"traceback": "line 1"}


@pytest.mark.parametrize(
    "task, values, name",
    [
        ("load", {"code": "x"}, "start/load"),
        ("start_task", {"code": "x"}, "start"),
        ("load", {"script": "./job.py"}, "./job.py"),
    ],
)
async def test_tracebacks_name_the_code_as_the_author_knows_it(use, host, tmp_path: Path, task, values, name):
    (tmp_path / "job.py").write_text("result = 2")
    await use("python", values, step="start", task=task)
    assert host.asked["name"] == name


async def test_code_that_needed_too_much_memory_says_where(use, host):
    host.answer = Ran("memory", raised=Raised("MemoryError", "", "line 7"))
    assert (await use("python", {"code": "x"}))["error"]["details"] == {"traceback": "line 7"}


@pytest.mark.parametrize(
    "ran, kind, code, retryable",
    [
        (Ran("timeout"), "timeout", None, True),
        (Ran("memory"), "limit", "memory", False),
        (Ran("value", message="no JSON form"), "value", None, False),
        (Ran("crashed", exit_code=9), "crashed", "9", False),
    ],
)
async def test_every_ending_has_its_error(use, host, ran, kind, code, retryable):
    host.answer = ran
    problem = (await use("python", {"code": "x"}))["error"]
    assert (problem["kind"], problem["code"], problem["retryable"]) == (kind, code, retryable)
    assert problem["message"]


async def test_what_is_printed_goes_to_the_log(use, host):
    host.prints = [b"one\ntw", b"o\n"]
    output = RecordedOutput()
    await use("python", {"code": "x"}, output=output, spec={"max_output_bytes": 100})
    output.end()
    assert (output.last, output.keep) == (["one", "two"], 100)


async def test_without_a_host_the_answer_says_so(use):
    output = await use("python", {"code": "x"})
    assert output["error"]["kind"] == "backend"
