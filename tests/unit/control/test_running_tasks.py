"""Why an execution hangs: what is said of the task that runs, by a front over real tasks."""

import asyncio
import os
from pathlib import Path

import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.catalog import Catalog
from noetl.control.front.running_tasks import RunningTasks, timeout_of, wait_end
from noetl.core.program.program import Program, compile_program
from noetl.core.reading.under_way import RunningTask
from noetl.dsl.load import load
from noetl.json_value import JsonObject
from noetl.ports.front import Ask, Worker
from noetl.wiring.tool_kinds import kinds
from tests.engine.harness import playbook
from tests.unit.control.test_front import ended, process, until

HANGS = playbook(
    """
    - step: load
      tool:
        - {name: prepare, kind: noop}
        - name: pull
          kind: python
          input:
            fifo: "{{ workload.fifo }}"
            code: |
              print("connecting to the shop", flush=True)
              open(fifo).read()
    """
)
CALLS = """
- step: start
  loop: {in: [1], iterator: n}
  spec: {timeout: 9}
  tool:
    - {name: plain, kind: noop}
    - {name: short, kind: noop, spec: {timeout: 5}}
    - {name: fetch, kind: workbook, block: get}
"""


async def test_a_task_that_hangs_is_told_with_its_last_line_its_timeout_and_the_usual_time(
    tmp_path: Path,
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    store, results = MemoryStore(now_ms), MemoryResults(now_ms)
    async with process(tmp_path, store, results) as made:
        before = await made.front.start(Ask(text=HANGS, workload={"fifo": "/dev/null"}))
        await ended(made, before)
        hangs = await made.front.start(Ask(text=HANGS, workload={"fifo": str(fifo)}))
        async with asyncio.timeout(30):
            await until(made, hangs.execution_id, "step.checkpointed")
            async for page in made.front.follow_logs(hangs.execution_id):
                if page["items"]:
                    break
        why = await made.front.why(hangs.execution_id)
        assert "load.1 has been running task 'pull' since " in why["summary"]
        said = "\n".join(reason["text"] for reason in why["reasons"] if reason["about"] == "task")
        assert "task 'pull' has been running for" in said
        assert "ago: connecting to the shop" in said
        assert "it has no timeout" in said
        assert "step 'load' took" in said
        assert (await made.front.why(hangs.execution_id, "load"))["reasons"][-1]["step"] == "load"
        await asyncio.to_thread(fifo.write_text, "")
        await ended(made, hangs)
        assert "running" not in (await made.front.why(hangs.execution_id))["summary"]


async def test_what_holds_of_all_tasks_of_a_loop_is_told_once(tmp_path: Path) -> None:
    async def nobody() -> list[Worker]:
        return []

    store = MemoryStore(now_ms)
    async with process(tmp_path, store, MemoryResults(now_ms)) as made:
        started = await made.front.start(Ask(text=HANGS, workload={"fifo": "/dev/null"}))
        await ended(made, started)
        tasks = [RunningTask(7 + n, "load.1", "pull", f"[{n}]", 1, 0, None) for n in range(3)]
        known = RunningTasks(store, Catalog(store, kinds(), ""), nobody)
        said = [reason.text for reason in await known.reasons(started.execution_id, tasks)]
    assert sum("has been running" in text for text in said) == 3
    assert sum("it has no timeout" in text for text in said) == 1


@pytest.mark.parametrize(
    "task, at, timeout", [("plain", "[0]", None), ("short", "[0]", 5), ("ask", "[0]/fetch", 7), ("gone", "", None)]
)  # fmt: skip
def test_the_timeout_is_that_of_the_task_also_inside_a_block(task: str, at: str, timeout: int | None) -> None:
    program = compiled(
        CALLS, workbook="workbook: [{name: get, tool: {name: ask, kind: noop, spec: {timeout: 7}}}]"
    )
    assert timeout_of(program, RunningTask(1, "start.1", task, at, 1, 0, None)) == timeout


@pytest.mark.parametrize(
    "task, rendered, end",
    [
        ("literal", {}, 4_500),
        ("given", {"seconds": 2}, 3_000),
        ("given", {}, None),
        ("moment", {}, 9_000),
        ("other", {}, None),
    ],
)
def test_a_wait_in_place_ends_when_what_it_was_given_says(
    task: str, rendered: JsonObject, end: int | None
) -> None:
    program = compiled(
        """
        - step: start
          tool:
            - {name: literal, kind: wait, input: {seconds: 3.5}}
            - {name: given, kind: wait, input: {seconds: "{{ workload.pause }}"}}
            - {name: moment, kind: wait, input: {until: "1970-01-01T00:00:09Z"}}
            - {name: other, kind: noop}
        """
    )
    assert wait_end(program, RunningTask(1, "start.1", task, "", 1, 1_000, None, rendered=rendered)) == end


def compiled(steps: str, **more: str) -> Program:
    loaded = load(playbook(steps, **more), kinds=kinds())
    assert loaded.playbook is not None, loaded.diagnostics
    return compile_program(loaded.playbook, kinds(), "h")
