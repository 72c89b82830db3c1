"""Nobody outside an execution's commit sees what is not committed: not a beat, a list, a page, a child."""

import asyncio
from typing import Any

import pytest

from noetl.core.message import Control, Deliver
from noetl.errors import BackendError
from noetl.ports.store import Find
from tests.engine.harness import begin, engine, finish, playbook, until

LOOP = playbook("""
- step: start
  loop: {in: [1, 2], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
  tool:
    - {name: first, kind: wait, input: {signal: "go{{ iter.n }}"}}
    - {name: then, kind: wait, input: {seconds: 3600}}
""")


class Held:
    """A store whose commits hang until they are let go, well or not."""

    def __init__(self, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        commit = made.store.commit

        async def held(append: Any) -> None:
            self.entered.set()
            await self.go.wait()
            if self.error is not None:
                raise self.error
            await commit(append)

        monkeypatch.setattr(made.store, "commit", held)


async def waiting(made: Any) -> str:
    execution_id = await begin(made, LOOP)
    state = made.engine.live_state(execution_id)
    await until(made, lambda: len(state.runs["start.1"].parked) == 2)
    return execution_id


@pytest.mark.parametrize("fails", [False, True])
async def test_a_beat_is_answered_with_what_is_committed(tmp_path, monkeypatch, fails):
    async with engine(tmp_path) as made:
        execution_id = await waiting(made)
        (lease,) = made.engine.live_state(execution_id).leases
        held = Held(made, monkeypatch)
        told: list[Deliver] = []
        wish = asyncio.create_task(made.engine.send(execution_id, Control("signal", name="go1")))
        await held.entered.wait()
        made.engine.remind(execution_id, lease, lambda deliver, epoch: told.append(deliver))
        reading = asyncio.create_task(made.front.execution(execution_id))
        state = asyncio.create_task(made.front.state(execution_id))
        await asyncio.sleep(0)
        assert (told, reading.done(), state.done()) == ([], False, False)
        held.error = BackendError("the connection broke during the commit") if fails else None
        held.go.set()
        if fails:
            with pytest.raises(BackendError):
                await wish
        else:
            await wish
        assert [one.address for one in told] == ([] if fails else ["[0]"])
        answered = [not run["waiting"] for run in (await state)["runs"]]
        assert (await reading)["status"] == ("waiting" if fails else "running")
        assert answered == [False]
        monkeypatch.undo()
        if fails:
            await made.engine.pick_up(execution_id)
        await made.front.control(execution_id, Control("cancel"))
        assert (await finish(made, execution_id)).status == "cancelled"


async def test_an_end_that_is_not_committed_is_shown_to_nobody(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        execution_id = await begin(made, playbook("- {step: start, tool: {kind: wait, input: {signal: go}}}"))
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        held = Held(made, monkeypatch)
        cancelled = asyncio.create_task(made.engine.send(execution_id, Control("cancel")))
        await held.entered.wait()
        assert made.engine.live_state(execution_id).ended
        assert await made.front.status(execution_id) == "waiting"
        listing = asyncio.create_task(made.front.executions(Find()))
        await asyncio.sleep(0)
        held.go.set()
        await cancelled
        assert [one.status for one in (await listing).items] == ["waiting"]
        assert await made.front.status(execution_id) == "cancelled"
