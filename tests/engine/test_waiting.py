"""Waits, signals, children, results by reference, secrets and dynamic nodes."""

import json
from functools import partial

import pytest

from noetl.core.message import Control
from tests.engine.harness import begin, control, engine, finish, playbook, run, until


async def test_a_signal_resumes_a_parked_pipeline_with_its_payload(tmp_path):
    text = playbook(
        "- {step: start, tool: [{name: w, kind: wait, input: {signal: go}}, {name: b, kind: noop}]}"
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        assert not any(lease.out for lease in state.leases.values())
        await control(made, execution_id, "signal", name="other")
        await control(made, execution_id, "signal", name="go", payload={"n": 1})
        ran = await finish(made, execution_id)
    assert ran.output == {"n": 1}
    assert ran.named("task.parked")[0]["data"]["signal"] == "go"


async def test_a_signal_that_came_before_the_wait_is_not_lost(tmp_path):
    text = playbook(
        "- {step: start, tool: [{name: s, kind: wait, input: {seconds: 0.2}}, {name: w, kind: wait, input: {signal: go}}]}"
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await control(made, execution_id, "signal", name="go", payload=5)
        ran = await finish(made, execution_id)
    assert ran.output == 5


async def test_a_declined_approval_is_an_error_that_rules_see(tmp_path):
    text = playbook("- {step: start, tool: {name: w, kind: wait, input: {approval: ship}}}")
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        await control(made, execution_id, "signal", name="ship", payload={"approved": False, "reason": "no"})
        ran = await finish(made, execution_id)
    assert (ran.status, ran.error["kind"], ran.error["message"]) == ("failed", "rejected", "no")


async def test_an_approval_has_a_short_name_and_keeps_its_text(tmp_path):
    text = playbook("""
    - step: ask
      loop: {in: [a, b], iterator: x, spec: {mode: parallel}}
      tool: {name: ship, kind: wait, input: {approval: "Ship {{ iter.x }} to everyone?"}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        refused = await made.engine.send(execution_id, Control("signal"))
        assert (refused.accepted, refused.why) == (
            False,
            "a signal needs a name; the execution waits for ask.ship[0], ask.ship[1]",
        )
        await control(made, execution_id, "signal", name="ask.ship[1]", payload={"approved": True})
        await control(made, execution_id, "signal", name="Ship a to everyone?", payload={"approved": True})
        ran = await finish(made, execution_id)
    assert ran.status == "completed"
    asked = [(event["data"]["signal"], event["data"]["approval"]) for event in ran.named("task.parked")]
    assert asked == [("ask.ship[0]", "Ship a to everyone?"), ("ask.ship[1]", "Ship b to everyone?")]


async def test_parallel_iterations_wait_under_one_lease_and_each_gets_its_signal(tmp_path):
    text = playbook("""
    - step: start
      loop: {in: "{{ ['a', 'b'] }}", iterator: x, spec: {mode: parallel}}
      tool: {kind: wait, input: {signal: "{{ iter.x }}"}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2)
        await control(made, execution_id, "signal", name="b", payload=2)
        await control(made, execution_id, "signal", name="a", payload=1)
        ran = await finish(made, execution_id)
    assert ran.output == [1, 2]


def child_project(folder, workflow: str, workload: str = "workload: {n: 0}") -> None:
    text = playbook(workflow, workload=workload).replace("tests/case", "tests/child")
    (folder / "child.yaml").write_text(text)


async def test_a_child_returns_its_output_and_is_linked_both_ways(tmp_path):
    child_project(
        tmp_path,
        '- {step: start, tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = n * 2"}}}',
    )
    text = playbook("- {step: start, tool: {kind: playbook, path: tests/child, input: {n: 21}}}")
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
        assert ran.output == 42
        child = ran.named("task.parked")[0]["data"]["child"]
        linked = await made.store.summary(child)
        assert linked.parent == ran.execution_id


async def test_a_failed_child_is_an_error_of_kind_child_with_its_id(tmp_path):
    child_project(tmp_path, '- {step: start, tool: {kind: python, input: {code: "1/0"}}}')
    ran = await run(tmp_path, playbook("- {step: start, tool: {kind: playbook, path: tests/child}}"))
    assert ran.status == "failed"
    assert ran.error["kind"] == "child"
    assert ran.error["details"]["execution_id"]


async def test_a_child_that_is_not_there_fails_the_call(tmp_path):
    ran = await run(tmp_path, playbook("- {step: start, tool: {kind: playbook, path: no/such}}"))
    assert ran.error["kind"] == "child"
    assert "no/such" in ran.error["message"]


async def test_a_child_nobody_waits_for_answers_with_its_id(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: noop}}")
    async with engine(tmp_path) as made:
        ran = await finish(
            made,
            await begin(
                made, playbook("- {step: start, tool: {kind: playbook, path: tests/child, wait: false}}")
            ),
        )
        child = ran.output["execution_id"]
        await finish(made, child)
        assert (await made.store.summary(child)).status == "completed"


async def test_cancelling_the_parent_cancels_a_child_it_waits_for(tmp_path):
    child_project(tmp_path, "- {step: start, tool: {kind: wait, input: {signal: never}}}")
    async with engine(tmp_path) as made:
        execution_id = await begin(
            made, playbook("- {step: start, tool: {kind: playbook, path: tests/child}}")
        )
        state = made.engine.live_state(execution_id)
        await until(made, lambda: bool(state.children))
        child = next(iter(state.children))
        await until(made, lambda: made.engine.live_state(child) is not None)
        await control(made, execution_id, "cancel")
        assert (await finish(made, execution_id)).status == "cancelled"
        assert (await finish(made, child)).status == "cancelled"


async def test_more_parents_than_slots_do_not_wait_for_each_other(tmp_path):
    child_project(
        tmp_path, '- {step: start, tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = n"}}}'
    )
    text = playbook("""
    - step: start
      loop: {in: "{{ range(80) | list }}", iterator: x, spec: {mode: parallel, max_in_flight: 80}}
      tool: {kind: playbook, path: tests/child, input: {n: "{{ iter.x }}"}}
    """)
    ran = await run(tmp_path, text)
    assert ran.output == list(range(80))


async def test_a_large_payload_travels_by_reference_and_events_stay_small(tmp_path):
    text = playbook("""
    - step: make
      tool: {kind: python, input: {code: "result = [{'i': i, 's': 'x' * 90} for i in range(2000)]"}}
      set: {ctx.n: "{{ output.data | length }}", ctx.rows_ref: "{{ output.ref }}"}
      next: {arcs: [{step: use, when: "{{ output.data[0].i == 0 }}"}]}
    - step: use
      tool: [{name: get, kind: resolve, input: {ref: "{{ ctx.rows_ref }}"}}, {name: last, kind: python, input: {d: "{{ get.data }}", code: "result = d[-1]['i']"}}]
    """)
    ran = await run(tmp_path, text)
    assert (ran.output, ran.ctx["n"]) == (1999, 2000)
    assert max(len(json.dumps(event)) for event in ran.events) < 80_000


async def test_large_ctx_values_workload_and_inputs_are_put_aside_and_read_as_themselves(tmp_path):
    text = playbook(
        """
    - step: start
      input: {big: "{{ workload.big }}"}
      tool: {kind: python, input: {b: "{{ input.big }}", code: "result = len(b)"}}
      set: {ctx.big: "{{ workload.big }}"}
      next: {arcs: [{step: use}]}
    - {step: use, tool: {kind: python, input: {b: "{{ ctx.big }}", code: "result = len(b)"}}}
    """,
        workload="workload: {big: ''}",
    )
    ran = await run(tmp_path, text, {"big": "y" * 100_000})
    assert ran.output == 100_000
    assert max(len(json.dumps(event)) for event in ran.events) < 80_000


async def test_a_missing_keychain_entry_refuses_the_execution_by_name(tmp_path):
    text = playbook(
        "- {step: start, tool: {kind: noop}}",
        keychain="keychain: [{name: tok, kind: env, env: NOETL_TEST_NOT_SET}]",
    )
    ran = await run(tmp_path, text)
    assert ran.status == "failed"
    assert "NOETL_TEST_NOT_SET" in ran.error["message"]
    assert [event["name"] for event in ran.events] == [
        "playbook.execution.requested", "playbook.request.evaluated", "playbook.processed",
    ]  # fmt: skip


async def test_a_step_may_return_a_workflow_that_runs_before_its_own_arcs(tmp_path):
    plan = "[{'step': 'one', 'tool': {'kind': 'python', 'input': {'code': 'result = 1'}}, 'next': {'arcs': [{'step': 'two'}]}}, {'step': 'two', 'tool': {'kind': 'python', 'input': {'n': '{{ one.data }}', 'code': 'result = n + 1'}}}]"
    text = playbook(f"""
    - step: plan
      spec: {{synthesize: {{from: "{{{{ output.data }}}}", limits: {{max_steps: 5}}}}}}
      tool: {{kind: python, input: {{code: "result = {plan}"}}}}
      next: {{arcs: [{{step: end, when: "{{{{ output.data == 2 }}}}"}}]}}
    - {{step: end, tool: {{kind: noop}}}}
    """)
    ran = await run(tmp_path, text)
    assert ran.status == "completed"
    assert ran.runs("plan.1.one") == ran.runs("plan.1.two") == ran.runs("end") == 1


async def test_an_invalid_fragment_fails_the_step_with_kind_synthesis(tmp_path):
    text = playbook("""
    - {step: plan, spec: {synthesize: {from: "{{ output.data }}"}}, tool: {kind: python, input: {code: "result = [{'step': 'x', 'tool': {'kind': 'nosuch'}}]"}}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.status, ran.error["kind"]) == ("failed", "synthesis")
    assert ran.error["details"]["diagnostics"]


async def test_a_retry_that_waits_long_parks_and_keeps_its_attempt(tmp_path):
    text = playbook("""
    - step: start
      tool: {kind: python, input: {a: "{{ _attempt }}", code: "result = a; assert a > 1"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 6}}]}}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: any(run.parked for run in state.runs.values()))
        assert not any(lease.out for lease in state.leases.values())
        ran = await finish(made, execution_id)
    assert ran.output == 2
    assert [event["attempt"] for event in ran.named("task.done")] == [1, 2]


def _over(state, count: int) -> bool:
    return sum(len(run.outcomes) for run in state.runs.values()) == count


EACH = """
workbook:
  each:
    loop: {in: [a, b], iterator: s, spec: {mode: parallel}}
    tool:
      - {name: w, kind: wait, input: {signal: "{{ %s ~ iter.s }}"}}
      - {name: m, kind: noop, output: "{{ w.data }}"}
"""


@pytest.mark.parametrize(
    "loop, names",
    [
        ("", ("", [""])),
        ("loop: {in: [x, y], iterator: o, spec: {mode: parallel, policy: {exec: distributed}}}", ("iter.parent.o", ["x", "y"])),
    ],
    ids=["of a plain step", "of a distributed loop"],
)  # fmt: skip
async def test_each_iteration_of_a_block_goes_on_with_its_own_answer_whatever_the_others_wait_for(
    tmp_path, loop, names
):
    said, outer = names
    call = "tool: {name: c, kind: workbook, block: each}"
    text = playbook(f"- step: start\n  {loop or 'desc: x'}\n  {call}", workbook=EACH % (said or "''"))
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: sum(len(run.parked) for run in state.runs.values()) == 2 * len(outer))
        for count, name in enumerate([f"{o}a" for o in outer], 1):
            await control(made, execution_id, "signal", name=name, payload=name)
            await until(made, partial(_over, state, count))
        for name in [f"{o}b" for o in outer]:
            await control(made, execution_id, "signal", name=name, payload=name)
        ran = await finish(made, execution_id)
    each = [[f"{o}a", f"{o}b"] for o in outer]
    assert (ran.status, ran.output) == ("completed", each if loop else each[0])


@pytest.mark.parametrize("size", [10, 200_000])
async def test_a_reference_can_be_resolved_by_the_very_next_task(tmp_path, size):
    text = playbook(f"""
    - step: start
      tool:
        - {{name: made, kind: python, input: {{code: "result = 'x' * {size}"}}}}
        - {{name: read, kind: resolve, input: {{ref: "{{{{ made.ref }}}}"}}}}
        - {{name: told, kind: noop, output: "{{{{ read.data | length }}}}"}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.status, ran.output) == ("completed", size)
