"""Routing, admission and joins: what language.md says of tokens, through the whole engine."""

import pytest

from tests.engine.harness import playbook, run

NOOP = "tool: {kind: noop}"


async def test_exclusive_takes_the_first_arc_that_holds(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ false }}"}, {step: b, when: "{{ true }}"}, {step: c}]}}
        - {step: a, tool: {kind: noop}}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """),
    )
    assert (ran.runs("a"), ran.runs("b"), ran.runs("c")) == (0, 1, 0)
    arcs = ran.named("next.evaluated", step="start")[0]["data"]["arcs"]
    assert [arc.get("asked", True) for arc in arcs] == [True, True, False]


async def test_inclusive_takes_every_arc_that_holds_and_all_guards_come_before_any_set(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: start
          tool: {kind: noop}
          next:
            spec: {mode: inclusive}
            arcs:
              - {step: a, set: {ctx.x: 1}}
              - {step: b, when: "{{ ctx.x is defined }}"}
              - {step: c, set: {ctx.y: "{{ ctx.x + 1 }}"}}
        - {step: a, tool: {kind: noop}}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """),
    )
    assert (ran.runs("a"), ran.runs("b"), ran.runs("c")) == (1, 0, 1)
    assert ran.ctx == {"x": 1, "y": 2}


async def test_a_failure_no_arc_takes_fails_the_execution_and_names_the_step(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: python, input: {code: "raise ValueError('no')"}}, next: {arcs: [{step: a, when: "{{ event.name == 'step.done' }}"}]}}
        - {step: a, tool: {kind: noop}}
        """),
    )
    assert ran.status == "failed"
    assert ran.output is None
    assert ran.error["step"] == "start"
    assert ran.error["task"] == "start_task"
    assert "no" in ran.error["message"]


@pytest.mark.parametrize(
    "guard, answered, status",
    [
        ("", False, "failed"),
        (", when: '{{ workload.go | default(true) }}'", False, "failed"),
        (", when: '{{ event.failed }}'", True, "completed"),
    ],
)
async def test_a_failure_that_an_arc_took_is_listed_and_fails_unless_the_guard_asked(
    tmp_path, guard, answered, status
):
    ran = await run(
        tmp_path,
        playbook(f"""
        - {{step: start, tool: {{kind: python, input: {{code: "1/0"}}}}, next: {{arcs: [{{step: a{guard}}}]}}}}
        - {{step: a, tool: {{kind: python, input: {{code: "result = 5"}}}}}}
        """),
    )
    assert (ran.status, ran.output, ran.runs("a")) == (status, 5 if answered else None, 1)
    assert (ran.error.get("step"), ran.error.get("kind")) == (
        (None, None) if answered else ("start", "python")
    )
    failures = [(one["step"], one["taken_by"], one["answered"]) for one in ran.result["failures"]]
    assert failures == [("start", "a", answered)]
    fields = {"kind", "message", "step", "task", "iteration", "attempt", "details"}
    assert ran.result["failures"][0]["error"].keys() >= fields


async def test_a_step_without_tools_passes_on_the_output_it_came_with(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: python, input: {code: "result = {'n': 7}"}}, next: {arcs: [{step: route}]}}
        - {step: route, next: {arcs: [{step: end, when: "{{ output.data.n == 7 }}", set: {ctx.n: "{{ output.data.n }}"}}]}}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert ran.ctx == {"n": 7}
    assert ran.runs("end") == 1


async def test_an_arc_guard_that_cannot_be_judged_fails_the_execution(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ 'maybe' }}"}]}}
        - {step: a, tool: {kind: noop}}
        """),
    )
    assert ran.status == "failed"
    assert ran.error["kind"] == "template"


async def test_drain_lets_other_branches_finish(tmp_path):
    workflow = """
    - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: bad}, {step: slow}]}}
    - {step: bad, tool: {kind: python, input: {code: "1/0"}}}
    - {step: slow, tool: {kind: wait, input: {seconds: 0.3}}, next: {arcs: [{step: last}]}}
    - {step: last, tool: {kind: noop}}
    """
    stopped = await run(tmp_path, playbook(workflow))
    assert (stopped.status, stopped.runs("last")) == ("failed", 0)
    assert stopped.named("step.failed", step="slow")[0]["data"]["error"]["kind"] == "cancelled"
    drained = await run(tmp_path, playbook(workflow, executor="executor: {spec: {on_failure: drain}}"))
    assert (drained.status, drained.runs("last")) == ("failed", 1)


DIAMOND = """
- {{step: start, tool: {{kind: noop}}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
- {{step: a, tool: {{kind: noop}}, next: {{arcs: [{{step: meet}}]}}}}
- {{step: b, tool: {{kind: wait, input: {{seconds: 0.2}}}}, next: {{arcs: [{{step: meet}}]}}}}
- {{step: meet, spec: {{join: {mode}}}, tool: {{kind: noop}}}}
"""


@pytest.mark.parametrize(("mode", "runs"), [("sync", 1), ("each", 2), ("all", 1), ("first", 1)])
async def test_join_modes_decide_how_often_a_meeting_step_runs(tmp_path, mode, runs):
    ran = await run(tmp_path, playbook(DIAMOND.format(mode=mode)))
    assert ran.status == "completed"
    assert ran.runs("meet") == runs
    refused = ran.named("token.refused", step="meet")
    assert len(refused) == (1 if mode == "first" else 0)


async def test_a_join_of_all_that_can_no_longer_be_met_fails(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, spec: {join: all}, tool: {kind: noop}}
        """),
    )
    assert ran.status == "failed"
    assert ran.error["kind"] == "join"
    assert ran.named("token.discarded", step="meet")


async def test_a_cycle_with_one_live_token_runs_at_once(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: noop}, set: {ctx.n: 0}, next: {arcs: [{step: count}]}}
        - step: count
          tool: {kind: noop}
          set: {ctx.n: "{{ ctx.n + 1 }}"}
          next: {arcs: [{step: count, when: "{{ ctx.n < 5 }}"}, {step: end}]}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert ran.ctx == {"n": 5}
    assert ran.runs("count") == 5


async def test_merged_args_come_key_by_key_in_arrival_order(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet, args: {who: a, a: 1}}]}}
        - {step: b, tool: {kind: wait, input: {seconds: 0.1}}, next: {arcs: [{step: meet, args: {who: b, b: 2}}]}}
        - {step: meet, tool: {kind: python, input: {got: "{{ args }}", code: "result = got"}}}
        """),
    )
    assert ran.output == {"who": "b", "a": 1, "b": 2}


async def test_admission_sees_the_steps_input_and_records_what_it_saw(tmp_path):
    ran = await run(
        tmp_path,
        playbook(
            """
        - step: start
          input: {n: "{{ workload.n }}"}
          spec: {policy: {admit: {rules: [{when: "{{ input.n > 3 }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
          tool: {kind: noop}
        """,
            workload="workload: {n: 2}",
        ),
    )
    assert ran.status == "completed"
    assert ran.runs("start") == 0
    refused = ran.named("token.refused")[0]["data"]
    assert refused["rule"] == "else"
    assert refused["guards"] == [{"value": False, "seen": {"input.n": 2}}]


async def test_a_step_input_that_cannot_be_rendered_fails_the_step_before_it_starts(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: start
          input: {x: "{{ ctx.nothing }}"}
          tool: {kind: noop}
          next: {arcs: [{step: end, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert ran.status == "completed"
    assert ran.named("step.started", step="start") == []
    assert ran.named("step.failed", step="start")[0]["data"]["error"]["kind"] == "template"


async def test_an_error_in_the_step_set_turns_the_end_into_a_failure(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: start
          tool: {kind: noop}
          set: {ctx.a: 1, ctx.b: "{{ output.data.missing.deep }}"}
          next: {arcs: [{step: end, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert ran.ctx == {}
    assert ran.named("step.done", step="start") == []


async def test_on_failure_a_set_entry_with_a_missing_value_is_left_out_and_recorded(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: start
          tool: {kind: python, input: {code: "1/0"}}
          set: {ctx.status: "{{ output.status }}", ctx.rows: "{{ output.data.rows }}"}
          next: {arcs: [{step: end, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert ran.ctx == {"status": "error"}
    assert ran.named("step.failed", step="start")[0]["data"]["left_out"] == ["ctx.rows"]


async def test_final_step_gives_the_output(tmp_path):
    ran = await run(
        tmp_path,
        playbook(
            """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: end}]}}
        - {step: end, tool: {kind: python, input: {code: "result = 2"}}}
        """,
            executor="executor: {spec: {final_step: start}}",
        ),
    )
    assert ran.output == 1
