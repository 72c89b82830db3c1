"""Children of executions that are over, or that have given them up: none of them runs on for nobody."""

import asyncio

import pytest

from noetl.core.deciding.waiting_status import status_of
from noetl.core.message import ControlChild, TellParent, Tick
from tests.engine.harness import Clock, begin, control, engine, finish, playbook, until
from tests.engine.test_waiting import child_project

CALL = "- {step: start, tool: {name: c, kind: playbook, path: tests/child, spec: {timeout: 60, policy: {rules: [{else: {then: {do: continue}}}]}}}, next: {arcs: [{step: more}]}}\n- {step: more, tool: {kind: wait, input: {signal: go}}}"


class Deaf:
    """An engine whose children are told nothing, as when it dies right after a commit."""

    def __init__(self, made) -> None:
        self.right = made.engine._dispatch.carry_out
        self.lost: list[ControlChild] = []

    def __call__(self, live, command) -> None:
        if isinstance(command, ControlChild):
            self.lost.append(command)
        else:
            self.right(live, command)


async def waiting(made, text: str) -> tuple[str, str]:
    """A parent that waits for its child."""
    execution_id = await begin(made, text)
    state = made.engine.live_state(execution_id)
    await until(made, lambda: bool(state.children))
    child = next(iter(state.children))
    await until(made, lambda: made.engine.live_state(child) is not None)
    await until(made, lambda: any(run.parked for run in made.engine.live_state(child).runs.values()))
    made.engine._dispatch.carry_out = Deaf(made)
    return execution_id, child


@pytest.mark.parametrize("paused", [False, True])
async def test_a_child_whose_parent_is_over_ends_although_nobody_told_it(tmp_path, paused):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: never}}}")
    async with engine(tmp_path) as made:
        execution_id, child = await waiting(made, playbook(CALL))
        await control(made, execution_id, "cancel")
        assert made.engine._dispatch.carry_out.lost
        if paused:
            await control(made, child, "pause")
    async with engine(tmp_path, made) as another:
        if paused:
            await another.engine.load(child)
        else:
            await another.engine.pick_up_due()
        another.engine.tend()
        if paused:
            await until(another, lambda: another.engine.live_state(child) is None)
        ran = await finish(another, child)
    assert (ran.status, ran.error["message"]) == ("cancelled", "the parent is over")


async def test_a_child_that_was_given_up_ends_when_its_parent_is_taken_over(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: never}}}")
    clock = Clock()
    async with engine(tmp_path, clock=clock) as made:
        execution_id, child = await waiting(made, playbook(CALL))
        clock.forward(60)
        await made.engine.send(execution_id, Tick())
        state = made.engine.live_state(execution_id)
        await until(made, lambda: "more.1" in state.runs and bool(state.runs["more.1"].parked))
        assert made.engine._dispatch.carry_out.lost
    async with engine(tmp_path, made, clock) as another:
        await another.engine.load(child)
        await another.engine.resume(execution_id)
        assert (await finish(another, child)).status == "cancelled"
        await control(another, execution_id, "signal", name="go")
        assert (await finish(another, execution_id)).status == "completed"


async def test_a_child_that_is_given_up_before_it_could_start_is_cancelled(tmp_path, monkeypatch):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: never}}}")
    async with engine(tmp_path) as made:
        resolve, told = made.engine.programs.child, []

        async def slow(parent, call, caller):
            await control(made, parent, "cancel")
            told.append(call.execution_id)
            return await resolve(parent, call, caller)

        monkeypatch.setattr(made.engine.programs, "child", slow)
        execution_id = await begin(made, playbook(CALL))
        assert (await finish(made, execution_id)).status == "cancelled"
        while made.engine._background:
            await asyncio.wait(made.engine._background.copy())
        assert (await finish(made, told[0])).status == "cancelled"


async def test_work_of_a_child_that_was_out_when_its_parent_was_paused_goes_out_again(tmp_path):
    code = "import os, time; time.sleep(0 if os.path.exists(there) else 60); result = 'kid'"
    flag = tmp_path / "go"
    child_project(
        tmp_path, f'- {{step: s, tool: {{kind: python, input: {{there: "{flag}", code: "{code}"}}}}}}'
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(
            made, playbook("- {step: start, tool: {kind: playbook, path: tests/child}}")
        )
        state = made.engine.live_state(execution_id)
        await until(made, lambda: bool(state.children))
        child = next(iter(state.children))
        await until(made, lambda: made.engine.live_state(child) is not None)
        own = made.engine.live_state(child)
        await until(made, lambda: any(lease.out for lease in own.leases.values()))
        await control(made, execution_id, "pause")
        await until(made, lambda: own.status == "paused")
    flag.touch()
    async with engine(tmp_path, made) as another:
        await another.engine.pick_up(child)  # as its parent's keeper does, at the same time as it is resumed
        await another.engine.resume(execution_id)
        ran = await finish(another, execution_id)
    assert (ran.status, ran.output) == ("completed", "kid")


async def test_a_parent_waits_while_its_child_waits_also_when_what_the_child_told_was_lost(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: go}}}")

    async def status(made, execution_id: str) -> str:
        return (await made.store.summary(execution_id)).status

    async with engine(tmp_path) as made:
        right = made.engine._dispatch.carry_out
        lost = []

        def deaf(live, command) -> None:
            lost.append(command) if isinstance(command, TellParent) else right(live, command)

        made.engine._dispatch.carry_out = deaf
        execution_id = await begin(
            made, playbook("- {step: start, tool: {kind: playbook, path: tests/child}}")
        )
        await until(made, lambda: bool(lost))
        child = lost[0].message.execution_id
        assert (await status(made, child), await status(made, execution_id)) == ("waiting", "running")
        made.engine._dispatch.carry_out = right
        made.engine.tend()
        parent = made.engine.live_state(execution_id)
        await until(made, lambda: status_of(parent) == "waiting")
        assert await status(made, execution_id) == "waiting"
        await control(made, child, "signal", name="go", payload=3)
        ran = await finish(made, execution_id)
    assert (ran.status, ran.output) == ("completed", 3)
    assert [event["data"]["waits"] for event in ran.named("child.waiting")][:1] == [True]


async def test_a_child_that_runs_elsewhere_goes_on_with_its_parent_although_nobody_told_it(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: done}}}")
    async with engine(tmp_path) as made, engine(tmp_path, made) as another:
        execution_id, child = await waiting(made, playbook(CALL))
        made.engine._dispatch.carry_out = made.engine._dispatch.carry_out.right
        await control(made, execution_id, "pause")
        await until(made, lambda: made.engine.live_state(child).status == "paused")
        made.engine._owned.executions.pop(child)
        made.store._executions[child].owner = another.engine.owner
        await another.engine.load(child)
        made.engine._dispatch.carry_out = Deaf(made)
        await control(made, execution_id, "resume")
        assert made.engine._dispatch.carry_out.lost
        another.engine.tend()
        await until(another, lambda: another.engine.live_state(child).status == "running")
        await control(another, child, "signal", name="done")
        assert (await finish(another, child)).status == "completed"
        await control(made, execution_id, "cancel")
