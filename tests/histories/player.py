"""Plays a scenario: starts it, answers what it waits for, and does to it what is to be done."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from noetl.adapters.clock.wall import now_ms
from noetl.core.message import Control, Expire
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble
from tests.engine.harness import begin
from tests.histories.scenario import Scenario

WITHIN_S = 100.0
LOOK_S = 0.1  # nothing is committed when a child that another process left is taken in


@asynccontextmanager
async def process(folder: Path, store: Store, results: Results) -> AsyncIterator[Embedded]:
    """An engine with its worker over a store that outlives it."""
    settings = load({"store": str(folder / "unused.db"), "home": str(folder)}, environ={}, folder=folder)
    made = assemble(settings, store, results, now_ms)
    try:
        yield made
    finally:
        await made.pool.stop()
        await made.engine.close()


async def play(scenario: Scenario, folder: Path, store: Store, results: Results) -> str:
    """Run a scenario to its end, in two processes if the first is to die; the execution."""
    async with process(folder, store, results) as made:
        for text in scenario.texts.values():
            await made.catalog.register(text)
        execution_id = await begin(made, scenario.text, dict(scenario.payload or {}) or None)
        await _follow(made, scenario, execution_id, deed=scenario.deed)
    if scenario.deed == "crash":
        async with process(folder, store, results) as made:
            await made.engine.resume((await store.newest(execution_id)).execution_id)
            await _follow(made, scenario, execution_id)
    return execution_id


async def carry_on(
    scenario: Scenario, folder: Path, store: Store, results: Results, execution_id: str
) -> None:
    """Go on with an execution that another process left, to its end."""
    async with process(folder, store, results) as made:
        await made.engine.resume(execution_id)
        await _follow(made, scenario, execution_id, deed="cancel" if scenario.deed == "cancel" else "")


async def _follow(made: Embedded, scenario: Scenario, execution_id: str, deed: str = "") -> None:
    """Answer and act after every commit, until everything is over or the process is to die."""
    changed = asyncio.Event()
    made.engine.listeners.append(lambda *_: changed.set())
    async with asyncio.timeout(WITHIN_S):
        while (newest := await made.store.newest(execution_id)).ended_at is None:
            changed.clear()
            now = newest.execution_id
            if deed and _waits(made, now):
                if deed == "crash":
                    return
                await _act(made, now, deed)
                deed = ""
            elif not deed:
                await _answer(made, scenario)
            if made.engine.live_state(now) is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), LOOK_S)
        await made.engine.until_idle()


def _waits(made: Embedded, execution_id: str) -> bool:
    state = made.engine.live_state(execution_id)
    assert state is not None
    children = [made.engine.live_state(child) for child in state.children]
    for waiting in (state, *children):
        if waiting is not None and any(
            parked.signal for run in waiting.runs.values() for parked in run.parked.values()
        ):
            return True
    return False


async def _act(made: Embedded, execution_id: str, deed: str) -> None:
    state = made.engine.live_state(execution_id)
    assert state is not None
    if deed == "expire":
        await made.engine.send(
            execution_id, Expire({name: lease.epoch for name, lease in state.leases.items()})
        )
    elif deed == "pause":
        await made.engine.send(execution_id, Control("pause"))
        await made.engine.until_quiet(execution_id)
        await made.engine.resume(execution_id)
    else:
        await made.engine.send(execution_id, Control("cancel", why="as planned"))


async def _answer(made: Embedded, scenario: Scenario) -> None:
    """Give each signal that is waited for, to whoever waits for it."""
    for execution_id in made.engine.running():
        state = made.engine.live_state(execution_id)
        if state is None or state.status != "running":
            continue
        parked = [parked for run in list(state.runs.values()) for parked in run.parked.values()]
        for signal in [entry.signal for entry in parked if entry.signal and entry.output is None]:
            if signal in scenario.signals:
                await made.engine.send(
                    execution_id, Control("signal", name=signal, payload=scenario.signals[signal])
                )
