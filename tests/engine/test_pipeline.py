"""Tasks and policies: the order of a task, the six directives, attempts per visit, limits, scopes."""

import pytest

from tests.engine.harness import playbook, run

RULE = '{{when: "{when}", then: {{{then}}}}}'


def task(name: str, code: str, *rules: str, **more: str) -> str:
    policy = f", spec: {{policy: {{rules: [{', '.join(rules)}]}}}}" if rules else ""
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f'{{name: {name}, kind: python, input: {{code: "{code}"}}{policy}{extra}}}'


def step(*tasks: str, **more: str) -> str:
    extra = "".join(f"\n  {key}: {value}" for key, value in more.items())
    return "- step: start\n  tool: [" + ", ".join(tasks) + "]" + extra


async def test_a_tasks_set_is_seen_by_the_next_task_and_values_are_rendered_before_any_is_written(tmp_path):
    ran = await run(
        tmp_path,
        playbook(
            step(
                "{name: a, kind: noop, set: {step.x: 1, step.y: 2}}",
                '{name: b, kind: noop, set: {step.x: "{{ step.y }}", step.y: "{{ step.x }}"}}',
                '{name: c, kind: python, input: {p: "{{ [step.x, step.y] }}", code: "result = p"}}',
            )
        ),
    )
    assert ran.output == [2, 1]


async def test_no_policy_continues_on_ok_and_fails_on_error(tmp_path):
    ran = await run(tmp_path, playbook(step(task("a", "1/0"), task("b", "result = 1"))))
    assert ran.status == "failed"
    assert ran.named("task.started", task_label="b") == []


async def test_a_policy_without_a_match_continues_and_by_status_fails(tmp_path):
    rule = RULE.format(when="{{ false }}", then="do: retry")
    swallowed = await run(tmp_path, playbook(step(task("a", "1/0", rule), task("b", "result = 1"))))
    assert swallowed.output == 1
    strict = f'{{name: a, kind: python, input: {{code: "1/0"}}, spec: {{policy: {{on_unmatched: by_status, rules: [{rule}]}}}}}}'
    assert (await run(tmp_path, playbook(step(strict)))).status == "failed"


async def test_retry_makes_attempts_in_total_then_fails_and_keeps_the_error(tmp_path):
    rule = RULE.format(
        when="{{ output.status == 'error' }}",
        then="do: retry, attempts: 3, delay: 0.01, set: {ctx.seen: '{{ _attempt }}'}",
    )
    ran = await run(tmp_path, playbook(step(task("a", "raise KeyError('k')", rule))))
    assert ran.status == "failed"
    assert [event["attempt"] for event in ran.named("task.done", task_label="a")] == [1, 2, 3]
    assert [event["data"]["do"] for event in ran.named("task.done")] == ["retry", "retry", "fail"]
    assert ran.ctx == {"seen": 3}
    assert ran.error["attempt"] == 3
    assert "KeyError" in str(ran.error)


async def test_jump_begins_a_new_visit_with_its_own_attempts(tmp_path):
    ran = await run(
        tmp_path,
        playbook(
            step(
                "{name: init, kind: noop, set: {step.n: 0}}",
                '{name: body, kind: noop, set: {step.n: "{{ step.n + 1 }}"}}',
                '{name: again, kind: noop, spec: {policy: {rules: [{when: "{{ step.n < 4 }}", then: {do: jump, to: body}}, {else: {then: {do: continue}}}]}}}',
                '{name: last, kind: python, input: {n: "{{ step.n }}", code: "result = n"}}',
            )
        ),
    )
    assert ran.output == 4
    visits = [event["task_run_id"] for event in ran.named("task.started", task_label="body")]
    assert visits == [f"start.1/body.{n}" for n in (1, 2, 3, 4)]


async def test_break_ends_the_pipeline_well_and_skip_drops_the_output(tmp_path):
    rule = RULE.format(when="{{ true }}", then="do: break")
    broke = await run(tmp_path, playbook(step(task("a", "result = 1", rule), task("b", "result = 2"))))
    assert broke.output == 1
    skip = RULE.format(when="{{ true }}", then="do: skip, set: {ctx.kept: true}")
    skipped = await run(
        tmp_path,
        playbook(step(task("a", "result = 1"), task("b", "result = 2", skip), "{name: c, kind: noop}")),
    )
    assert skipped.output == 1
    assert skipped.ctx == {"kept": True}


async def test_fail_carries_its_message(tmp_path):
    rule = RULE.format(when="{{ output.data == 1 }}", then="do: fail, message: 'got {{ output.data }}'")
    ran = await run(tmp_path, playbook(step(task("a", "result = 1", rule))))
    assert ran.status == "failed"
    assert ran.error["message"] == "got 1"


async def test_before_rules_are_asked_once_per_visit_and_can_skip_the_tool(tmp_path):
    before = 'spec: {policy: {before: [{when: "{{ workload.skip }}", then: {do: skip}}]}}'
    text = playbook(
        step(
            task("a", "result = 1"),
            f'{{name: b, kind: python, input: {{code: "result = 2"}}, set: {{ctx.b: 1}}, {before}}}',
        ),
        workload="workload: {skip: true}",
    )
    skipped = await run(tmp_path, text)
    assert (skipped.output, skipped.ctx) == (1, {})
    assert (await run(tmp_path, text, {"skip": False})).output == 2


async def test_a_guard_that_cannot_be_judged_fails_the_task_and_is_never_no_match(tmp_path):
    rule = RULE.format(when="{{ 'perhaps' }}", then="do: continue")
    ran = await run(tmp_path, playbook(step(task("a", "result = 1", rule))))
    assert ran.status == "failed"
    assert ran.error["kind"] == "template"


async def test_more_task_runs_than_the_limit_fail_with_kind_limit(tmp_path):
    again = "{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: a}}}]}}}"
    ran = await run(tmp_path, playbook(step(again, spec="{limits: {max_task_runs: 50}}")))
    assert ran.status == "failed"
    assert ran.error["kind"] == "limit"


async def test_an_output_template_replaces_the_data_and_an_error_in_it_is_the_outputs(tmp_path):
    ran = await run(
        tmp_path, playbook(step(task("a", "result = {'n': 2}", output="'{{ output.data.n * 3 }}'")))
    )
    assert ran.output == 6
    wrong = await run(tmp_path, playbook(step(task("a", "result = 1", output="'{{ output.data.n.m }}'"))))
    assert wrong.error["kind"] == "template"


async def test_finished_tasks_and_steps_are_readable_by_name_with_fall_through(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: load
          tool:
            - {name: one, kind: python, input: {code: "result = {'count': 3}"}}
            - {name: two, kind: python, input: {n: "{{ one.data.count }}", m: "{{ one.count }}", code: "result = {'sum': n + m}"}}
          next: {arcs: [{step: use}]}
        - step: use
          tool: {kind: python, input: {a: "{{ load.data.sum }}", b: "{{ load.sum }}", c: "{{ load.results.one.data.count }}", s: "{{ load.status }}", code: "result = [a, b, c, s]"}}
        """),
    )
    assert ran.output == [6, 6, 3, "ok"]


async def test_a_task_timeout_is_an_output_that_rules_see_and_may_retry(tmp_path):
    ran = await run(
        tmp_path,
        playbook(
            step(
                '{name: a, kind: shell, input: {command: [sleep, "5"]}, spec: {timeout: 0.1, policy: {rules: [{when: "{{ output.error.kind == \'timeout\' and output.error.retryable }}", then: {do: continue, set: {ctx.seen: true}}}]}}}'
            )
        ),
    )
    assert (ran.status, ran.ctx) == ("completed", {"seen": True})


async def test_a_step_timeout_runs_from_the_start_and_is_routed(tmp_path):
    ran = await run(
        tmp_path,
        playbook("""
        - step: start
          spec: {timeout: 0.3}
          tool: {kind: shell, input: {command: [sleep, "5"]}}
          next: {arcs: [{step: end, when: "{{ event.name == 'step.failed' and output.error.kind == 'timeout' }}"}]}
        - {step: end, tool: {kind: noop}}
        """),
    )
    assert (ran.status, ran.runs("end")) == ("completed", 1)


async def test_validate_fails_the_boundary_with_kind_validation(tmp_path):
    schema = "{type: object, required: [n]}"
    for scope in ("task", "step"):
        where = f"spec: {{validate: {{output: {schema}}}}}"
        body = f'{{kind: python, input: {{code: "result = 1"}}, {where if scope == "task" else "desc: x"}}}'
        text = f"- step: start\n  tool: {body}\n" + (f"  {where}\n" if scope == "step" else "")
        ran = await run(tmp_path, playbook(text))
        assert ran.error["kind"] == "validation", scope


async def test_a_target_named_ref_takes_only_references_and_others_take_none(tmp_path):
    wrong = await run(
        tmp_path, playbook("- {step: start, tool: {kind: noop}, set: {ctx.x_ref: '{{ 1 + 1 }}'}}")
    )
    assert wrong.error["kind"] == "reference"
    text = "- {step: start, tool: {kind: noop, set: {ctx.x: '{{ [output.ref] | first }}'}}}"
    assert (await run(tmp_path, playbook(text))).error["kind"] == "reference"


async def test_ctx_writes_made_before_a_failure_count(tmp_path):
    ran = await run(
        tmp_path,
        playbook(step("{name: a, kind: noop, set: {ctx.x: 1}}", task("b", "1/0"))),
    )
    assert (ran.status, ran.ctx) == ("failed", {"x": 1})


@pytest.mark.parametrize(
    ("backoff", "expected"), [("none", [0.02, 0.02]), ("linear", [0.02, 0.04]), ("exponential", [0.02, 0.04])]
)
async def test_waits_between_attempts_follow_the_backoff(tmp_path, backoff, expected):
    rule = RULE.format(when="{{ true }}", then=f"do: retry, attempts: 3, delay: 0.02, backoff: {backoff}")
    ran = await run(tmp_path, playbook(step(task("a", "1/0", rule))))
    assert [event["data"].get("delay") for event in ran.named("task.done")][:2] == expected
