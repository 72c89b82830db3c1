"""Pausing an execution: whatever has not begun is given back too, and goes on when it is resumed."""

import asyncio
from pathlib import Path

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.core.event import Event
from noetl.settings import load
from noetl.wiring.embedded import assemble
from tests.engine.harness import Clock, begin, control, engine, finish, playbook, until

FAN = playbook("""
- {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
- {step: b, tool: {kind: wait, input: {seconds: 0.2}}}
- {step: c, tool: {kind: noop}}
""")


async def test_an_order_that_waits_for_a_slot_is_given_back_by_a_pause(tmp_path):
    flags = {"store": str(tmp_path / "unused.db"), "home": str(tmp_path), "concurrency": 1}
    made = assemble(load(flags, environ={}, folder=tmp_path), MemoryStore(now_ms), MemoryResults(now_ms))
    try:
        scheduled = asyncio.Event()

        def heard(execution_id: str, first: int, events: list[Event]) -> None:
            if any(event.name == "step.scheduled" and event.run == "c.1" for event in events):
                scheduled.set()

        made.engine.listeners.append(heard)
        execution_id = await begin(made, FAN)
        await asyncio.wait_for(scheduled.wait(), 5)
        await control(made, execution_id, "pause")
        assert (await finish(made, execution_id, 5)).status == "paused"
        await control(made, execution_id, "resume")
        ran = await finish(made, execution_id, 5)
    finally:
        await made.close()
    assert (ran.status, ran.runs("b"), ran.runs("c")) == ("completed", 1, 1)


async def test_an_approval_that_is_bounded_outlives_a_pause_that_is_longer(tmp_path: Path) -> None:
    text = playbook("- {step: start, tool: {kind: wait, spec: {timeout: 60}, input: {approval: ask}}}")
    clock = Clock()
    async with engine(tmp_path, clock=clock) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        clock.forward(30)
        await control(made, execution_id, "pause")
        clock.forward(3600)
        await control(made, execution_id, "resume")
        clock.forward(20)
        await made.engine.pick_up_due()
        await control(made, execution_id, "signal", name="ask", payload={"approved": True})
        ran = await finish(made, execution_id)
    assert ran.status == "completed"
