"""Timeouts of calls whose inside waits without a worker, deadlines under a pause, and keys of repeated calls."""

import pytest

from noetl.core.message import Tick
from tests.engine.harness import Clock, begin, control, engine, finish, playbook, until
from tests.engine.test_waiting import child_project

WAITS = {
    "a signal": "[{name: w, kind: wait, input: {signal: never}}]",
    "a time": "[{name: w, kind: wait, input: {seconds: 600}}]",
    "a child": "[{name: w, kind: playbook, path: tests/child}]",
    "a retry": "[{name: w, kind: noop, output: '{{ ctx.none.x }}', spec: {policy: {rules: [{else: {then: {do: retry, attempts: 3, delay: 600}}}]}}}]",
    "a call inside": "[{name: w, kind: workbook, block: inner}]",
}
BLOCKS = "workbook: {outer: {tool: %s}, inner: {tool: [{name: v, kind: wait, input: {signal: never}}]}}"
LATE = "{rules: [{when: \"{{ output.error.kind == 'timeout' }}\", then: {do: continue, set: {ctx.late: '{{ output.error.message }}'}}}], on_unmatched: by_status}"
CALL = f"{{name: call, kind: workbook, block: outer, spec: {{timeout: 0.6, policy: {LATE}}}}}"
LOOPS = {
    "plain": "",
    "local": "loop: {in: [1], iterator: i}",
    "chunks": "loop: {in: [1], iterator: i, spec: {policy: {exec: distributed}}}",
}


def calling(inside: str, loop: str = "") -> str:
    return playbook(f"- step: start\n  {loop}\n  tool: [{CALL}]\n", workbook=BLOCKS % inside)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("inside", WAITS)
async def test_the_timeout_of_a_call_holds_while_its_inside_waits(tmp_path, inside, loop):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: never}}}")
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, calling(WAITS[inside], LOOPS[loop])))
        assert (ran.status, ran.ctx["late"]) == ("completed", "task 'call' took longer than 0.6 s")
        for event in ran.named("task.parked"):
            if "child" in event["data"]:
                assert (await finish(made, event["data"]["child"])).status == "cancelled"


@pytest.mark.parametrize("loop", LOOPS)
async def test_the_timeout_of_a_call_goes_on_while_nobody_has_it(tmp_path, loop):
    clock = Clock()
    async with engine(tmp_path, clock=clock) as made:
        execution_id = await begin(made, calling(WAITS["a signal"], LOOPS[loop]).replace("0.6", "60"))
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
    clock.forward(60)
    async with engine(tmp_path, made, clock) as another:
        await another.engine.resume(execution_id)
        ran = await finish(another, execution_id)
    assert ran.ctx["late"] == "task 'call' took longer than 60 s"


async def test_a_call_that_ends_in_time_goes_on_as_ever(tmp_path):
    text = playbook(
        f"- {{step: start, tool: [{CALL.replace('0.6', '60')}]}}", workbook=BLOCKS % WAITS["a signal"]
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await control(made, execution_id, "signal", name="never", payload=7)
        ran = await finish(made, execution_id)
    assert (ran.output, ran.ctx) == (7, {})


async def test_a_deadline_passes_while_paused_and_a_timeout_does_not(tmp_path):
    text = playbook("""
    - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: bounded}, {step: dated}]}}
    - {step: bounded, spec: {timeout: 60}, tool: {kind: wait, input: {signal: go}}}
    - {step: dated, spec: {policy: {lifecycle: {deadline_s: 60}}}, tool: {kind: wait, input: {signal: never}}, next: {arcs: [{step: late, when: "{{ event.failed }}"}]}}
    - {step: late, tool: {kind: noop}}
    """)
    clock = Clock()
    async with engine(tmp_path, clock=clock) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        await control(made, execution_id, "pause")
        clock.forward(100)
        await control(made, execution_id, "resume")
        await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert (ran.status, ran.result["steps"]["bounded"]["status"]) == ("completed", "done")
    assert (ran.runs("late"), ran.result["failures"][0]["error"]["kind"]) == (1, "timeout")


@pytest.mark.parametrize("answered", [False, True])
async def test_a_repeated_call_has_new_keys_inside_only_when_it_was_answered(tmp_path, answered):
    fails = "{name: f, kind: noop, output: '{{ ctx.none.x }}'}" if answered else WAITS["a signal"][1:-1]
    again = "{rules: [{when: \"{{ output.status == 'error' and _attempt < 2 }}\", then: {do: retry, attempts: 2, delay: 0}}, {else: {then: {do: continue}}}]}"
    keyed = "{name: t, kind: noop, set: {step.key: '{{ output.meta.idempotency_key }}'}}"
    text = playbook(
        f"- {{step: start, tool: [{{name: call, kind: workbook, block: outer, spec: {{timeout: 0.7, policy: {again}}}}}]}}",
        workbook=f"workbook: {{outer: {{tool: [{keyed}, {fails}]}}}}",
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
    keys = [
        event["data"]["output"]["meta"]["idempotency_key"]
        for event in ran.named("task.done", task_label="call/t")
    ]
    assert (len(keys), len(set(keys))) == (2, 2 if answered else 1)


async def test_a_call_of_a_child_that_timed_out_calls_another_child_when_it_is_repeated(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: go}}}")
    again = "{rules: [{when: \"{{ output.error.kind == 'timeout' }}\", then: {do: retry, attempts: 2, delay: 0}}], on_unmatched: by_status}"
    text = playbook(
        f"- {{step: start, tool: {{name: c, kind: playbook, path: tests/child, spec: {{timeout: 60, policy: {again}}}}}}}"
    )
    clock = Clock()
    async with engine(tmp_path, clock=clock) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: bool(state.children))
        first = next(iter(state.children))
        await until(made, lambda: made.engine.live_state(first) is not None)
        clock.forward(60)
        await made.engine.send(execution_id, Tick())
        await until(made, lambda: bool(state.children) and first not in state.children)
        second = next(iter(state.children))
        await until(made, lambda: made.engine.live_state(second) is not None)
        await control(made, second, "signal", name="go", payload=5)
        ran = await finish(made, execution_id)
        assert (ran.output, (await finish(made, first)).status) == (5, "cancelled")
