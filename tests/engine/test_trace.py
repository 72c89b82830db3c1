"""`executor.spec.trace`: how much task detail is left after the end, and that the log stays sound without it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from noetl.control.garbage import Terms, collect
from noetl.control.history import envelopes, events, state_at
from noetl.control.log_audit import audit
from noetl.core.reading.explain import explain
from noetl.core.state import canonical
from noetl.ports.hash_chain import linked
from noetl.wiring.embedded import Embedded
from tests.engine.harness import Ran, audited, begin, engine, finish, playbook

WORKFLOW = """
- step: good
  tool:
    - name: try
      kind: python
      input: {n: "{{ workload.n }}", code: "result = {'n': n}"}
    - {name: say, kind: noop, set: {ctx.seen: "{{ output.status }}"}}
  next: {arcs: [{step: many}]}
- step: many
  spec: {policy: {failure: {mode: best_effort}}}
  loop: {in: "{{ [0, 1, 2] }}", iterator: x, spec: {mode: parallel}}
  tool:
    - {name: prepare, kind: python, input: {x: "{{ iter.x }}", code: "result = x"}}
    - {name: divide, kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // (x - 1)"}}
  next: {arcs: [{step: bad}]}
- step: bad
  tool:
    - {name: fine, kind: python, input: {code: "result = 1"}}
    - {name: boom, kind: python, input: {code: "raise ValueError('no')"}}
"""


def text(trace: str) -> str:
    return playbook(WORKFLOW, executor=f"executor: {{spec: {{trace: {trace}}}}}", workload="workload: {n: 7}")


async def trimmed(made: Embedded, *, dry_run: bool = False) -> int:
    found = await collect(made.store, made.results, made.catalog, Terms(0, None, dry_run))
    return found.trimmed


async def after(folder: Path, trace: str, then: Callable[[Embedded, Ran], Awaitable[Any]]) -> Any:
    """Run, trim, audit, and look."""
    async with engine(folder) as made:
        ran = await finish(made, await begin(made, text(trace)))
        assert ran.status == "failed"
        before = await made.store.rows(ran.execution_id)
        state = canonical(await state_at(made.store, ran.execution_id))
        assert await trimmed(made) == (0 if trace == "full" else 1)
        assert await trimmed(made) == 0
        await audited(made, ran.execution_id)
        assert canonical(await state_at(made.store, ran.execution_id)) == state
        left = await made.store.rows(ran.execution_id)
        assert [(row.first, row.last, row.hash) for row in left] == [
            (row.first, row.last, row.hash) for row in before
        ]
        return await then(made, ran)


async def detail(made: Embedded, ran: Ran) -> dict[str, bool]:
    """Which task events still say what they carried, by task run and attempt."""
    shown = [event async for event in envelopes(made.store, ran.execution_id)]
    assert [event["seq"] for event in shown] == list(range(1, len(shown) + 1))
    others = [event for event in shown if event["entity"] != "task"]
    assert others == [event for event in ran.events if event["entity"] != "task"]
    assert [event["status"] for event in shown] == [event["status"] for event in ran.events]
    return {
        f"{event['name'][5:]} {event['task_run_id']}": "trimmed" not in event["data"]
        for event in shown
        if event["name"] in ("task.started", "task.done") and event["data"]
    }


async def test_full_keeps_everything(tmp_path):
    assert all((await after(tmp_path, "full", detail)).values())


async def test_steps_keeps_no_detail_of_tasks_and_everything_else(tmp_path):
    found = await after(tmp_path, "steps", detail)
    assert len(found) >= 10
    assert not any(found.values())


async def test_errors_keeps_the_detail_of_what_failed(tmp_path):
    found = await after(tmp_path, "errors", detail)
    kept = {name for name, there in found.items() if there and name.startswith("done")}
    assert kept == {
        "done many.1[1]/prepare.1",
        "done many.1[1]/divide.1",
        "done bad.1/fine.1",
        "done bad.1/boom.1",
    }
    assert "done good.1/try.1" in found


@pytest.mark.parametrize("trace", ["steps", "errors"])
async def test_an_execution_without_its_detail_can_still_be_explained(tmp_path, trace):
    async def explained(made: Embedded, ran: Ran) -> None:
        told = explain(ran.execution_id, [pair async for pair in events(made.store, ran.execution_id)])
        assert told.reasons

    await after(tmp_path, trace, explained)


async def test_a_trimmed_row_that_is_damaged_or_moved_is_found(tmp_path):
    async def damaged(made: Embedded, ran: Ran) -> None:
        rows = await made.store.rows(ran.execution_id)
        place = next(number for number, row in enumerate(rows) if row.seal is not None)
        row, previous = rows[place], rows[place - 1].hash
        assert linked(previous, row)
        assert not linked(rows[place].hash, row)
        row.body = row.body.replace(b'"trimmed":true', b'"trimmed":null')
        summary = await made.store.summary(ran.execution_id)
        program = await made.catalog.program(summary.hash)
        found = await audit(made.store, ran.execution_id, program, made.catalog.engine)
        assert f"the hash chain breaks at event {row.first}" in found.problems

    await after(tmp_path, "steps", damaged)


async def test_an_execution_that_runs_keeps_its_detail(tmp_path):
    waiting = playbook(
        "- step: start\n  tool: [{name: a, kind: noop}, {name: b, kind: wait, input: {signal: go}}]\n",
        executor="executor: {spec: {trace: steps}}",
    )
    async with engine(tmp_path) as made:
        await begin(made, waiting)
        assert await trimmed(made) == 0


async def test_a_dry_run_trims_nothing(tmp_path):
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text("steps")))
        assert await trimmed(made, dry_run=True) == 1
        assert all(row.seal is None for row in await made.store.rows(ran.execution_id))
