"""Values that look like the engine's own marks, in a request that another process takes up."""

import pytest

from noetl.adapters.memory.results import MemoryResults
from noetl.core.values.output import externalise
from tests.engine.harness import begin, control, engine, finish, playbook, until

ECHO = playbook("""
- {step: echo, tool: {kind: python, code: "def main(body): return {'body': body}", args: {body: "{{ workload.body }}"}},
   next: {arcs: [{step: hold}]}}
- {step: hold, tool: {kind: wait, signal: go}, next: {arcs: [{step: last}]}}
- step: last
  tool:
    kind: python
    code: "def main(first, then, sent): return [first, then, sent]"
    args: {first: "{{ workload.body }}", then: "{{ echo.data.body }}", sent: "{{ hold.data }}"}
""")
OTHERS = "f" * 32
REF, SECRET = externalise(OTHERS, "of another execution")
GONE, _ = externalise(OTHERS, "never written")


@pytest.mark.parametrize(
    "value",
    [
        {"$stored": 1},
        {"$stored": REF},
        {"$stored": GONE},
        {"$operands": [1]},
        {"a": [{"$over": {"$stored": REF}}]},
    ],
)
async def test_a_lookalike_comes_back_as_it_was_when_another_process_goes_on(tmp_path, value):
    async with engine(tmp_path) as one:
        assert isinstance(one.results, MemoryResults)
        await one.results.write(SECRET)
        execution_id = await begin(one, ECHO, {"body": value})
        state = one.engine.live_state(execution_id)
        await until(one, lambda: any(run.parked for run in state.runs.values()))
    async with engine(tmp_path, one) as other:
        await other.engine.resume(execution_id)
        await control(other, execution_id, "signal", name="go", payload=value)
        ran = await finish(other, execution_id)
    assert (ran.status, ran.output) == ("completed", [value, value, value]), ran.error
