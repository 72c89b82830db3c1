"""Work that another process takes over: what was finished is as it was, and what is left goes on from there."""

import asyncio

import pytest

from noetl.core.message import Expire
from tests.engine.harness import Ran, begin, control, engine, finish, playbook, until


async def crashed(folder, text: str, *signals: str) -> Ran:
    """Let the process die when its run waits, and finish in another one."""
    async with engine(folder) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
    async with engine(folder, made) as another:
        await another.engine.resume(execution_id)
        for name in signals:
            await control(another, execution_id, "signal", name=name)
        return await finish(another, execution_id)


HOLD = "{name: hold, kind: wait, input: {signal: go}, spec: {policy: {before: [{when: '{{ iter.b == 1 }}', then: {do: skip}}]}}}"


async def test_a_large_output_of_a_finished_inner_iteration_is_there_after_a_takeover(tmp_path):
    text = playbook(f"""
    - step: start
      loop: {{in: [1], iterator: a, loop: {{in: [1, 2], iterator: b}}}}
      tool: [{HOLD}, {{name: big, kind: noop, output: "{{{{ 'x' * (100000 + iter.b) }}}}"}}]
      set: {{ctx.n: "{{{{ [output.data[0][0] | length, output.data[0][1] | length] }}}}"}}
    """)
    ran = await crashed(tmp_path, text, "go")
    assert (ran.status, ran.ctx["n"]) == ("completed", [100_001, 100_002])


async def test_in_an_inner_sequential_loop_what_is_left_sees_what_was_written_before_the_takeover(tmp_path):
    text = playbook(f"""
    - step: start
      loop: {{in: [1], iterator: a, spec: {{mode: parallel}}, loop: {{in: [1, 2], iterator: b}}}}
      tool: [{HOLD}, {{name: add, kind: noop, output: "{{{{ [ctx.n | default(0), step.m | default(0)] }}}}", set: {{ctx.n: "{{{{ iter.b }}}}", step.m: "{{{{ iter.b }}}}"}}}}]
    """)
    ran = await crashed(tmp_path, text, "go")
    assert (ran.output, ran.ctx["n"]) == ([[[0, 0], [1, 1]]], 2)


async def test_operands_that_a_checkpoint_put_aside_all_count_after_a_takeover(tmp_path):
    text = playbook("""
    - step: start
      loop: {in: [1], iterator: a, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}
      tool:
        - {name: a, kind: noop, set: {ctx.all: "{{ 'x' * 30000 }}", iter.n: "{{ (iter.n | default(0)) + 1 }}"}, spec: {policy: {rules: [{when: "{{ iter.n < 9 }}", then: {do: jump, to: a}}]}}}
        - {name: hold, kind: wait, input: {signal: go}}
      next: {arcs: [{step: count}]}
    - {step: count, tool: {kind: noop, output: "{{ [ctx.all | length, ctx.all[8] | length] }}"}}
    """)
    ran = await crashed(tmp_path, text, "go")
    assert ran.output == [9, 30_000]


async def test_a_large_result_that_was_read_before_a_takeover_is_loaded_again(tmp_path):
    text = playbook("""
    - {step: load, tool: {kind: python, input: {code: "result = {'rows': ['x' * 1000] * 100, 'count': 100}"}}, next: {arcs: [{step: use}]}}
    - step: use
      tool:
        - {name: one, kind: noop, output: "{{ load.count }}"}
        - {name: hold, kind: wait, input: {signal: go}}
        - {name: two, kind: noop, output: "{{ [one.data, load.data.rows | length] }}"}
      set: {ctx.n: "{{ load.count }}"}
    """)
    ran = await crashed(tmp_path, text, "go")
    assert (ran.output, ran.ctx["n"]) == ([100, 100], 100)


HELD = playbook("""
- step: start
  spec: {limits: {max_takeovers: 1}}
  loop: {in: [1, 2], iterator: i, spec: {mode: parallel}}
  tool: {kind: wait, input: {signal: go}}
""")


async def test_an_expiry_that_comes_late_leaves_the_work_with_whoever_has_it(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await begin(made, HELD)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        seq = state.seq
        assert (await made.engine.send(execution_id, Expire({"start.1": 0}))).seq == seq
        for _ in range(2):
            await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert (ran.status, ran.named("lease.expired")) == ("completed", [])


@pytest.mark.parametrize("why, takeovers", [("lost", 0), ("silent", 1)])
async def test_work_that_comes_again_to_the_worker_that_had_it_is_done_once(tmp_path, why, takeovers):
    async with engine(tmp_path) as made:
        execution_id = await begin(made, HELD)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        await made.engine.send(execution_id, Expire({"start.1": 1}, why))
        for _ in range(2):
            await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    [expired] = ran.named("lease.expired")
    assert (ran.status, expired["data"]["why"], expired["data"]["takeovers"]) == ("completed", why, takeovers)
    assert len(ran.named("task.done")) == 2


async def test_a_lease_that_is_heard_of_while_its_end_waits_for_a_commit_stays_where_it_is(
    tmp_path, monkeypatch
):
    async with engine(tmp_path) as made:
        execution_id = await begin(made, HELD)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        under_way, may_go, commit = asyncio.Event(), asyncio.Event(), made.engine.store.commit

        async def slow(append):
            under_way.set()
            await may_go.wait()
            await commit(append)

        monkeypatch.setattr(made.engine.store, "commit", slow)
        paused = asyncio.create_task(control(made, execution_id, "pause"))
        await under_way.wait()
        expiry = asyncio.create_task(made.engine.send(execution_id, Expire({"start.1": 1})))
        await asyncio.sleep(0)  # it is in the mailbox now
        monkeypatch.setattr(made.engine.workers, "still_overdue", lambda execution_id, overdue: {})
        may_go.set()
        await asyncio.gather(paused, expiry)
        await control(made, execution_id, "resume")
        for _ in range(2):
            await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert (ran.status, ran.named("lease.expired")) == ("completed", [])


async def test_what_another_owned_in_between_is_read_again_when_it_comes_back(tmp_path):
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        execution_id = await begin(
            made,
            playbook(
                "- {step: start, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: last}]}}\n"
                "- {step: last, tool: {kind: wait, input: {signal: end}}}"
            ),
        )
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        known = made.store._executions[execution_id]
        known.owned_until = 0  # its heartbeats did not arrive
        assert await other.engine.pick_up_due() == 1
        await control(other, execution_id, "signal", name="go")
        await until(other, lambda: "last.1" in other.engine.live_state(execution_id).runs)
        known.owned_until = 0
        other.engine._owned.executions.pop(execution_id)  # it dies
        assert await made.engine.pick_up_due() == 1
        assert "last.1" in made.engine.live_state(execution_id).runs
        await control(made, execution_id, "signal", name="end")
        assert (await finish(made, execution_id)).status == "completed"
