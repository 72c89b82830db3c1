"""What an order leaves behind when it is over: nothing that only the garbage collector would find."""

import gc

import pytest

from noetl.worker.runner import Runner
from tests.engine.harness import playbook, run

TASKS = [
    "{kind: noop}",
    '{kind: python, input: {code: "result = 1"}}',
    "[{name: a, kind: noop}, {name: b, kind: noop}]",
]


@pytest.mark.parametrize("tool", TASKS)
async def test_orders_that_are_over_are_gone_without_a_collection(tmp_path, tool):
    gc.collect()
    gc.disable()
    try:
        ran = await run(tmp_path, playbook(f"- step: start\n  tool: {tool}\n"))
        left = [one for one in gc.get_objects() if isinstance(one, Runner)]
    finally:
        gc.enable()
    assert ran.status == "completed"
    assert left == []
