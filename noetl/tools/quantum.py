"""Submits a quantum circuit, asks how it stands, and fetches its counts.

The circuit is OpenQASM 3. `submit` answers at once with `{job, status}`; poll with `status` inside an
`until`, then take the counts with `result`. The backend `local` calculates small circuits (up to 12 qubits)
on this machine, with results that depend on the circuit, the shots and `seed` alone. Any other backend is
the address of a service with `POST /jobs`, `GET /jobs/{job}` and `GET /jobs/{job}/result`; `auth` is sent
as for the `http` kind.
"""

from typing import Annotated, Literal

from noetl.ports.tool import Input, Size, define, doc

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


class Job(Input):
    """The circuit, or the job that was made of it."""

    action: Annotated[Literal["submit", "status", "result"], doc("What to do.")]
    backend: Annotated[str, doc("`local`, or the address of a service.")] = "local"
    circuit: Annotated[str | None, doc("The circuit to submit, as OpenQASM 3.")] = None
    shots: Annotated[Size, doc("How often it is measured.")] = 1024
    seed: Annotated[int, doc("Chooses the outcome of the local backend.")] = 0
    job: Annotated[str | None, doc("The job to ask about.")] = None


TOOL = define(
    "quantum",
    __doc__,
    Job,
    returns="`{job, status}`; for `result` `{job, status, counts, shots}`",
    untemplated=("circuit",),
    example=EXAMPLE,
)
