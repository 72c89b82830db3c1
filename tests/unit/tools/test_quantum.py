"""The quantum kind: small circuits whose outcome is known, and a service over HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from noetl.ports.call import PYTHON_HOST, Ran
from noetl.tools.parts import quantum_simulator
from noetl.worker.python.host import PythonHost

HEAD = 'OPENQASM 3.0; include "stdgates.inc"; // a comment\n'


async def counts(use, circuit: str, shots: int = 200, **more: object) -> dict[str, int]:
    job = await use("quantum", {"action": "submit", "circuit": HEAD + circuit, "shots": shots, **more})
    assert job["status"] == "ok", job["error"]
    result = await use("quantum", {"action": "result", "job": job["data"]["job"]})
    found: dict[str, int] = result["data"]["counts"]
    assert sum(found.values()) == shots == result["data"]["shots"]
    return found


class Host:
    """Runs the code that it is given here, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, code: str, variables: Mapping[str, Any], **_: Any) -> Ran:
        self.calls += 1
        names = dict(variables)
        exec(code, names)
        return Ran("ok", names["result"])

    async def close(self) -> None:
        return None


@pytest.fixture
def host(resources) -> Host:
    given = Host()
    resources.give(PYTHON_HOST, given)
    return given


@pytest.fixture
def gates_here(monkeypatch) -> list[int]:
    """How many gates this process has calculated."""
    done: list[int] = []
    calculate = quantum_simulator._final

    def counted(circuit: quantum_simulator.Circuit) -> list[complex]:
        done.append(len(circuit.gates))
        return calculate(circuit)

    monkeypatch.setattr(quantum_simulator, "_final", counted)
    return done


async def test_the_gates_are_calculated_in_a_process_of_their_own(use, resources, gates_here):
    resources.give(PYTHON_HOST, PythonHost())
    assert await counts(use, "qubit[2] q; x q[0];") == {"01": 200}
    assert gates_here == []


async def test_only_the_result_is_calculated(use, host, gates_here):
    job = (await use("quantum", {"action": "submit", "circuit": "qubit q; x q;"}))["data"]["job"]
    await use("quantum", {"action": "status", "job": job})
    assert (host.calls, gates_here) == (0, [])
    await use("quantum", {"action": "result", "job": job})
    assert (host.calls, gates_here) == (1, [1])


async def test_a_simulation_that_ends_without_an_answer_says_so(use, host, monkeypatch):
    async def killed(*_: Any, **__: Any) -> Ran:
        return Ran("crashed", message="the process was killed")

    monkeypatch.setattr(host, "run", killed)
    job = (await use("quantum", {"action": "submit", "circuit": "qubit q;"}))["data"]["job"]
    output = await use("quantum", {"action": "result", "job": job})
    assert output["error"]["kind"] == "crashed"
    assert "could not be simulated: the process was killed" in output["error"]["message"]


@pytest.mark.parametrize(
    "circuit, outcomes",
    [
        ("qubit q; x q;", {"1"}),
        ("qubit[2] q; bit[2] c; x q[0]; c = measure q;", {"01"}),
        ("qubit[2] q; bit[2] c; h q[0]; cx q[0], q[1]; c = measure q;", {"00", "11"}),
        ("qubit[3] q; bit[3] c; h q[0]; cx q[0], q[1]; cx q[1], q[2]; measure q -> c;", {"000", "111"}),
        ("qubit[2] q; bit c; x q[1]; c = measure q[1];", {"1"}),
        ("qubit[2] q; x q[0]; swap q[0], q[1];", {"10"}),
        ("qubit[3] q; x q[0]; x q[1]; ccx q[0], q[1], q[2];", {"111"}),
        ("qubit[2] q; x q; barrier q;", {"11"}),
        ("qubit q; rx(pi) q;", {"1"}),
        ("qubit q; ry(2 * pi / 2) q;", {"1"}),
        ("qubit q; h q; z q; h q;", {"1"}),
        ("qubit q; h q; s q; s q; h q;", {"1"}),
        ("qubit q; h q; t q; tdg q; h q;", {"0"}),
        ("qubit q; sx q; sx q;", {"1"}),
        ("qubit q; u(pi, 0, pi) q;", {"1"}),
        ("qubit q; h q; rz(-pi) q; h q;", {"1"}),
        ("qubit[2] q; x q[0]; h q[1]; cp(pi) q[0], q[1]; h q[1];", {"11"}),
        ("qubit[12] q; x q;", {"1" * 12}),
    ],
)
async def test_a_circuit_gives_the_outcomes_it_must(use, host, circuit, outcomes):
    assert set(await counts(use, circuit)) == outcomes


async def test_the_outcome_depends_on_circuit_shots_and_seed_alone(use, host):
    first = await counts(use, "qubit q; h q;", 1000, seed=7)
    assert first == await counts(use, "qubit q; h q;", 1000, seed=7)
    assert first != await counts(use, "qubit q; h q;", 1000, seed=8)
    assert 400 < first["0"] < 600


async def test_a_job_can_be_asked_about(use):
    job = (await use("quantum", {"action": "submit", "circuit": "qubit q;"}))["data"]
    assert job["status"] == "completed"
    assert (await use("quantum", {"action": "status", "job": job["job"]}))["data"]["status"] == "completed"


@pytest.mark.parametrize(
    "circuit, word",
    [
        ("", "no qubits"),
        ("qubit[13] q;", "12 qubits"),
        ("qubit q; foo q;", "'foo'"),
        ("qubit q; rx q;", "'rx'"),
        ("qubit q; rx(__import__('os')) q;", "angle"),
        ("qubit q; rx(2 ** 99999999) q;", "angle"),
        ("qubit q; h r;", "'r'"),
        ("qubit q; h q[3];", "out of range"),
        ("qubit[2] q; cx q[0], q[0];", "twice"),
        ("qubit[2] q; cx q[0];", "takes 2"),
        ("qubit[2] q; bit c; c = measure q;", "do not fit"),
        ("qubit q; bit c; c = measure q; x q;", "after a measurement"),
        ("qubit q; while (true) { x q }", ""),
        ("qubit q;" + ";" * 1_000_000, "more than 1000000"),
    ],
)
async def test_a_circuit_that_cannot_run_is_refused_with_the_statement(use, circuit, word):
    output = await use("quantum", {"action": "submit", "circuit": HEAD + circuit})
    assert output["error"]["kind"] == "circuit"
    assert word in output["error"]["message"]


@pytest.mark.parametrize(
    "values, kind",
    [
        ({"action": "submit"}, "input"),
        ({"action": "result"}, "input"),
        ({"action": "result", "job": "local-nope"}, "not_found"),
        ({"action": "submit", "circuit": "qubit q;", "shots": 0}, "input"),
    ],
)
async def test_what_is_asked_wrongly_says_why(use, values, kind):
    assert (await use("quantum", values))["error"]["kind"] == kind


async def test_a_service_keeps_jobs_over_http(use, httpserver, secrets):
    secrets["me"] = {"kind": "bearer", "token": "t"}
    headers = {"Authorization": "Bearer t"}
    body = {"circuit": "qubit q;", "shots": 5}
    httpserver.expect_request("/q/jobs", "POST", json=body, headers=headers).respond_with_json({"job": "j 1"})
    httpserver.expect_request("/q/jobs/j 1").respond_with_json({"status": "running"})
    httpserver.expect_request("/q/jobs/j 1/result").respond_with_json({"counts": {"0": 5}})
    backend = {"backend": httpserver.url_for("/q/")}
    job = await use("quantum", {"action": "submit", **backend, **body}, auth_name="me")
    assert job["data"] == {"job": "j 1"}
    status = await use("quantum", {"action": "status", **backend, "job": "j 1"}, auth_name="me")
    assert status["data"] == {"status": "running"}
    result = await use("quantum", {"action": "result", **backend, "job": "j 1"}, auth_name="me")
    assert result["data"] == {"counts": {"0": 5}}
