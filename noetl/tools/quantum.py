"""Submits a quantum circuit, asks how it stands, and fetches its counts.

The circuit is OpenQASM 3. `submit` answers at once with `{job, status}`; poll with `status` inside an
`until`, then take the counts with `result`. The backend `local` calculates small circuits (up to 12 qubits)
on this machine, with results that depend on the circuit, the shots and `seed` alone. Any other backend is
the address of a service with `POST /jobs`, `GET /jobs/{job}` and `GET /jobs/{job}/result`; `auth` is sent
as for the `http` kind.

`circuit` is a template like any other input, so that parameters can be put into it, an angle per iteration
of a loop say: `rx({{ iter.angle }}) q[0];`. Where OpenQASM itself has two braces in a row, leave a space
between them.
"""

import base64
import zlib
from typing import Annotated, Literal
from urllib.parse import quote

import msgspec

from noetl.json_value import Json
from noetl.ports.call import PYTHON_HOST, Call, no_python_host
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import Input, Size, define, doc, invoke

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: quantum, path: tools/quantum}
workflow:
  - step: start
    tool:
      - name: bell
        kind: quantum
        input:
          action: submit
          shots: 1000
          circuit: |
            OPENQASM 3;
            include "stdgates.inc";
            qubit[2] q;
            bit[2] c;
            h q[0];
            cx q[0], q[1];
            c = measure q;
      - name: counts
        kind: quantum
        input: {action: result, job: "{{ bell.data.job }}"}
"""

SIMULATION = """\
from noetl.tools.parts.quantum_simulator import counts, parse
from noetl.json_value import Json
result = counts(parse(circuit), shots, seed)
"""


class Job(Input):
    """The circuit, or the job that was made of it."""

    action: Annotated[Literal["submit", "status", "result"], doc("What to do.")]
    backend: Annotated[str, doc("`local`, or the address of a service.")] = "local"
    circuit: Annotated[str | None, doc("The circuit to submit, as OpenQASM 3.")] = None
    shots: Annotated[Size, doc("How often it is measured.")] = 1024
    seed: Annotated[int, doc("Chooses the outcome of the local backend.")] = 0
    job: Annotated[str | None, doc("The job to ask about.")] = None


async def run(job: Job, call: Call) -> Envelope:
    if job.action == "submit" and not job.circuit:
        raise Failed("input", "quantum needs input 'circuit' to submit")
    if job.action != "submit" and not job.job:
        raise Failed("input", f"quantum needs input 'job' for {job.action}")
    return await (_local(job, call) if job.backend == "local" else _remote(job, call))


async def _local(job: Job, call: Call) -> Envelope:
    """A local job is its own description: any worker can tell its result."""
    from noetl.tools.parts.quantum_simulator import parse

    if job.action == "submit":
        parse(job.circuit or "")  # a circuit that cannot run is refused at once
        return ok({"job": _pack(job), "status": "completed"})
    circuit, shots, seed = _unpack(job.job or "")
    if job.action == "status":
        return ok({"job": job.job, "status": "completed"})
    tally = await _simulated(circuit, shots, seed, call)
    return ok({"job": job.job, "status": "completed", "counts": tally, "shots": shots})


async def _simulated(circuit: str, shots: int, seed: int, call: Call) -> Json:
    """The counts, from a process of their own: millions of multiplications would hold up every other task."""
    host = call.resource(PYTHON_HOST, no_python_host)
    variables: dict[str, Json] = {"circuit": circuit, "shots": shots, "seed": seed}
    ran = await host.run(SIMULATION, variables, name="quantum")
    if ran.ended != "ok":
        kind = "limit" if ran.ended == "memory" else "crashed"
        reason = ran.message or (ran.raised.message if ran.raised else "its process ended")
        raise Failed(kind, f"the circuit could not be simulated: {reason}")
    counts: Json = ran.value
    return counts


def _pack(job: Job) -> str:
    raw = msgspec.json.encode([job.circuit, job.shots, job.seed])
    return "local-" + base64.urlsafe_b64encode(zlib.compress(raw)).decode()


def _unpack(name: str) -> tuple[str, int, int]:
    try:
        raw = zlib.decompress(base64.urlsafe_b64decode(name.removeprefix("local-")))
        return msgspec.json.decode(raw, type=tuple[str, int, int])
    except (ValueError, zlib.error, msgspec.DecodeError):
        raise Failed("not_found", f"{name[:40]!r} is no job of the local backend") from None


async def _remote(job: Job, call: Call) -> Envelope:
    """A service that keeps jobs: submit, ask, fetch."""
    from noetl.tools import get

    url = job.backend.rstrip("/") + "/jobs"
    request: dict[str, Json] = {"url": url, "method": "POST"}
    if job.action == "submit":
        request["json"] = {"circuit": job.circuit, "shots": job.shots}
    else:
        tail = "/result" if job.action == "result" else ""
        request = {"url": f"{url}/{quote(job.job or '', safe='')}{tail}"}
    return await invoke(get("http"), request, call)


TOOL = define(
    "quantum",
    __doc__,
    Job,
    run,
    returns="`{job, status}`; for `result` `{job, status, counts, shots}`",
    example=EXAMPLE,
)
