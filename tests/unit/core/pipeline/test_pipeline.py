"""A pipeline driven by hand: what each task does, in order, and every directive."""

from typing import Any

import pytest

from noetl.core.pipeline.effects import LAST_LINES, LOGS, NeedPayloads, NeedSecrets, Park, RunTool, Sleep
from noetl.core.pipeline.pipeline import drive
from noetl.core.program.evaluator import EvaluationError
from noetl.core.values.output import externalise, size_of
from tests.unit.core.build import ID, Pipe, compiled, error_of, ok_of

CODE = "kind: python, input: {code: 'result = 1'}"


def pipe(tasks, root=None, **parts):
    return Pipe(compiled(f"- step: start\n  tool:\n{indented(tasks)}", **(root or {})), **parts)


def indented(tasks):
    return "\n".join(f"    - {task}" for task in tasks)


def task(name, policy="", **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    spec = f", spec: {{policy: {policy}}}" if policy else ""
    return f"{{name: {name}, {CODE}{extra}{spec}}}"


def rules(*then):
    return "{rules: [" + ", ".join(then) + "]}"


# ---- what every task does, in order


def test_tasks_run_in_order_and_the_last_output_is_the_pipelines():
    it = pipe([task("one"), task("two")])
    ended = it.run(ok_of(1), ok_of(2))
    assert (ended.well, ended.output["data"]) == (True, 2)
    assert [call.label for call in it.calls] == ["one", "two"]
    assert [call.prev for call in it.calls] == [None, 1]
    assert it.told == [("one", "continue"), ("two", "continue")]


def test_an_empty_pipeline_ends_well():
    it = Pipe(compiled("- {step: start}"))
    assert it.run().output == {"status": "ok", "data": None}


def test_input_sees_the_steps_input_and_the_previous_output_and_the_tool_gets_only_its_own():
    it = pipe(
        [
            task("one"),
            "{name: two, kind: python, input: {code: 'result = n', n: '{{ output.data + input.k }}', m: '{{ k }}'}}",
        ],
        input={"k": 10},
    )
    it.run(ok_of(1), ok_of(2))
    assert it.calls[1].input == {"code": "result = n", "n": 11, "m": 10}


def test_code_is_never_a_template_and_not_shown_in_the_event():
    it = pipe(["{name: one, kind: python, input: {code: 'result = \"{{ x }}\"', n: '{{ 1 + 1 }}'}}"])
    it.run()
    assert it.calls[0].input == {"code": 'result = "{{ x }}"', "n": 2}
    assert it.named("task.started")[0].data == {"input": {"n": 2}}


def test_a_large_input_is_not_shown_in_the_event():
    it = pipe(["{name: one, kind: python, input: {code: 'result = 1', n: '{{ \"x\" * 3000 }}'}}"])
    it.run()
    assert it.named("task.started")[0].data is None


def test_a_render_error_is_an_output_that_the_rules_see():
    it = pipe(
        [
            "{name: one, kind: python, input: {code: 'result = 1', n: '{{ ctx.none.x }}'}, spec: {policy: "
            + rules("{when: \"{{ output.error.kind == 'template' }}\", then: {do: continue}}")
            + "}}"
        ]
    )
    ended = it.run()
    assert (ended.well, ended.output["error"]["kind"], it.calls) == (True, "template", [])
    assert "input of task 'one'" in ended.output["error"]["message"]
    assert len(it.named("task.started")) == 1


READS_LOAD = (
    "- {step: load, tool: {kind: noop}, next: {arcs: [{step: start}]}}\n"
    "- {step: start, tool: {name: one, kind: python, input: {code: 'result = 1', n: '{{ load.data.x }}'}}}"
)


def reads_load(loaded):
    ref, payload = externalise(ID, {"x": 5})
    it = Pipe(compiled(READS_LOAD), steps={"load": {"status": "ok", "data": None, "ref": ref}})
    it.around.aside = True
    machine = drive(it.frame)
    effect = next(machine)
    assert effect == NeedPayloads([("load", ref)])
    it.around.loaded |= dict(zip([payload.key], loaded, strict=False))
    return machine


def test_a_payload_that_a_task_reads_is_asked_for_before_it_runs():
    effect = reads_load([{"x": 5}]).send(None)
    assert isinstance(effect, RunTool)
    assert effect.input["n"] == 5


def test_a_payload_that_is_gone_is_an_error_of_the_task():
    with pytest.raises(StopIteration) as stopped:
        reads_load([]).send(None)
    ended = stopped.value.value
    assert (ended.well, ended.error["kind"], ended.error["task"]) == (False, "reference", "one")
    assert ended.error["message"].startswith("input of task one: load.data.x: the payload e1/")


def test_the_tasks_output_replaces_the_data_and_then_its_set_applies():
    it = pipe(
        [
            task(
                "one",
                output="'{{ output.data.n + 1 }}'",
                set="{ctx.n: '{{ output.data }}', step.m: 1, iter.k: 2}",
            )
        ]
    )
    ended = it.run(ok_of({"n": 1}))
    assert (ended.output["data"], it.frame.ctx, it.frame.step, it.frame.iter) == (
        2,
        {"n": 2},
        {"m": 1},
        {"k": 2},
    )
    assert it.frame.writes == [[["ctx", "n"], 2], [["step", "m"], 1]]


def test_an_output_alone_replaces_the_data():
    assert pipe([task("one", output="'{{ output.data + 1 }}'")]).run(ok_of(1)).output["data"] == 2


def test_neither_applies_to_an_error():
    it = pipe([task("one", rules("{else: {then: {do: continue}}}"), output="'{{ 1 }}'", set="{ctx.n: 1}")])
    ended = it.run(error_of(data=5))
    assert (ended.output["data"], it.frame.ctx) == (5, {})


@pytest.mark.parametrize(
    "broken, kind",
    [
        ({"output": "'{{ output.data.none.x }}'"}, "template"),
        ({"set": "{ctx.n: '{{ output.data.none.x }}'}"}, "template"),
        ({"set": "{ctx.n_ref: '{{ output.data.n }}'}"}, "reference"),
    ],
)
def test_an_error_in_output_or_set_turns_the_output_into_an_error(broken, kind):
    it = pipe([task("one", **broken)])
    ended = it.run(ok_of({"n": 1}))
    assert (ended.well, ended.error["kind"], ended.output["data"]) == (False, kind, {"n": 1})
    assert it.frame.ctx == {}


def test_set_and_rules_see_the_tasks_input_over_the_steps():
    it = pipe(
        ["{name: one, kind: python, input: {code: 'result = 1', n: 2}, set: {ctx.a: '{{ input.n }}', ctx.b: '{{ input.k }}'}, spec: {policy: "
         + rules("{when: '{{ input.n == 2 }}', then: {do: continue, set: {ctx.c: '{{ n }}'}}}") + "}}"],
        input={"n": 1, "k": 5},
    )  # fmt: skip
    it.run()
    assert it.frame.ctx == {"a": 2, "b": 5, "c": 2}


@pytest.mark.parametrize("part, well", [("input", False), ("output", False)])
def test_validate_fails_the_task_with_kind_validation(part, well):
    it = pipe([f"{{name: one, {CODE}, spec: {{validate: {{{part}: {{required: [x]}}}}}}}}"])
    ended = it.run(*([ok_of({})] if part == "output" else []))
    assert (ended.well, ended.error["kind"]) == (well, "validation")


def test_a_value_that_fits_its_schema_goes_on():
    it = pipe([f"{{name: one, {CODE}, spec: {{validate: {{output: {{required: [x]}}}}}}}}"])
    assert it.run(ok_of({"x": 1})).well


def test_the_data_that_does_not_fit_stays_readable():
    it = pipe([f"{{name: one, {CODE}, spec: {{validate: {{output: {{required: [x]}}}}}}}}"])
    assert it.run(ok_of({"y": 1})).output["data"] == {"y": 1}


def test_what_a_tool_printed_goes_into_the_event_and_not_into_the_output():
    it = pipe([task("one")])
    ended = it.run({**ok_of(1), LOGS: ["hello"]})
    assert LOGS not in ended.output
    assert it.named("task.done")[0].data["logs"] == ["hello"]


def test_what_a_tool_printed_at_last_goes_into_its_error_alone():
    it = pipe([task("one")])
    ended = it.run({**error_of("boom", message="no"), LAST_LINES: ["hello"]})
    assert "logs" not in it.named("task.done")[0].data
    assert ended.error["details"]["log"] == ["hello"]


def test_a_payload_over_the_limit_is_put_aside_in_the_event_but_stays_in_memory():
    it = pipe([task("one"), task("two")], limits={"max_payload_bytes": 100})
    it.run(ok_of("x" * 200), ok_of(2))
    assert it.named("task.done")[0].data["output"]["data"] is None
    assert it.calls[1].prev == "x" * 200
    assert it.around.payloads[0].body == b'"' + b"x" * 200 + b'"'


def test_a_reference_is_made_when_a_template_reads_it_and_again_when_the_data_is_replaced():
    it = pipe([task("one", output="'{{ output.data + 1 }}'", set="{ctx.n_ref: '{{ output.ref }}'}")])
    ended = it.run(ok_of(1))
    assert ended.output["ref"] == it.frame.ctx["n_ref"]
    assert [payload.body for payload in it.around.payloads] == [b"1", b"2"]


def test_a_tools_own_reference_wins():
    own: dict[str, Any] = {"type": "relational", "locator": {}, "auth_reference": None, "meta": {}}
    it = pipe([task("one", set="{ctx.n_ref: '{{ output.ref }}'}")], limits={"max_payload_bytes": 100})
    it.run(ok_of("x" * 200, ref=own))
    assert it.frame.ctx["n_ref"] == own
    assert it.named("task.done")[0].data["output"] == {"status": "ok", "data": None, "ref": own}


# ---- before rules


@pytest.mark.parametrize(
    "then, well, ran",
    [
        ("{do: continue}", True, ["one", "two", "three"]),
        ("{do: skip}", True, ["one", "three"]),
        ("{do: break}", True, ["one"]),
        ("{do: jump, to: three}", True, ["one", "three"]),
        ("{do: fail, message: no}", False, ["one"]),
    ],
)
def test_before_rules_decide_whether_the_tool_runs(then, well, ran):
    two = task(
        "two", f"{{before: [{{when: '{{{{ output.data == 1 }}}}', then: {then}}}]}}", set="{ctx.two: 1}"
    )
    it = pipe([task("one"), two, task("three")])
    ended = it.run(*[ok_of(index + 1) for index in range(len(ran))])
    assert (ended.well, [call.label for call in it.calls]) == (well, ran)
    assert ("two" in it.frame.ctx) == ("two" in ran)
    if not well:
        assert ended.error["message"] == "no"


def test_skip_in_before_leaves_output_and_previous_value_as_they_were():
    it = pipe(
        [
            task("one"),
            task("two", "{before: [{when: true, then: {do: skip, set: {ctx.n: 1}}}]}"),
            task("three"),
        ]
    )
    it.run(ok_of(1), ok_of(3))
    assert (it.calls[1].prev, it.frame.ctx) == (1, {"n": 1})
    data = it.named("task.done")[1].data
    assert data == {"do": "skip", "before": 0, "set": [[["ctx", "n"], 1]]}


def test_a_before_rule_that_lets_the_task_run_may_write():
    it = pipe([task("one", "{before: [{when: true, then: {do: continue, set: {ctx.n: 1}}}]}")])
    it.run()
    assert (it.frame.ctx, len(it.calls)) == ({"n": 1}, 1)


def test_no_before_rule_that_holds_lets_the_task_run():
    it = pipe([task("one", "{before: [{when: false, then: {do: fail}}]}")])
    assert it.run().well


def test_a_pipeline_broken_before_its_first_task_ends_well_with_nothing():
    it = pipe([task("one", "{before: [{when: true, then: {do: break}}]}")])
    ended = it.run()
    assert (ended.output, ended.broke) == ({"status": "ok", "data": None}, True)


def test_before_is_asked_once_per_visit_and_not_per_attempt():
    it = pipe(
        [
            task(
                "one",
                "{before: [{when: true, then: {do: continue, set: {ctx.n: '{{ (ctx.n | default(0)) + 1 }}'}}}], rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, delay: 0}}]}",
            )
        ]
    )
    it.run(error_of(), ok_of(1))
    assert it.frame.ctx == {"n": 1}


# ---- directives


def test_skip_drops_the_output_and_keeps_the_set():
    it = pipe(
        [task("one"), task("two", rules("{when: true, then: {do: skip}}"), set="{ctx.n: 1}"), task("three")]
    )
    ended = it.run(ok_of(1), ok_of(2), ok_of(3))
    assert (it.calls[2].prev, it.frame.ctx, ended.output["data"]) == (1, {"n": 1}, 3)
    assert "two" not in it.frame.results


def test_a_pipeline_whose_last_task_is_skipped_has_the_output_before_it():
    it = pipe([task("one"), task("two", rules("{when: true, then: {do: skip}}"))])
    assert it.run(ok_of(1), ok_of(2)).output["data"] == 1


def test_break_ends_the_pipeline_well():
    it = pipe([task("one", rules("{when: true, then: {do: break}}")), task("two")])
    ended = it.run(ok_of(1))
    assert (ended.well, ended.broke, ended.output["data"]) == (True, True, 1)


def test_fail_ends_the_pipeline_with_the_tools_error_or_its_own_message():
    it = pipe([task("one", rules("{when: true, then: {do: fail, message: 'n is {{ output.data }}'}}"))])
    ended = it.run(ok_of(1))
    assert (ended.well, ended.error["kind"], ended.error["message"]) == (False, "failed", "n is 1")
    it = pipe([task("one", rules("{when: true, then: {do: fail}}"))], at="[2]")
    ended = it.run(error_of("boom"))
    assert (ended.error["message"], ended.error["task"], ended.error["attempt"], ended.error["iteration"]) == (
        "boom!", "one", 1, 2,
    )  # fmt: skip


def test_a_policy_that_fails_without_a_message_says_so():
    it = pipe([task("one", rules("{when: true, then: {do: fail}}"))])
    assert it.run(ok_of(1)).error["message"] == "task 'one' failed by its policy"


def test_jump_goes_on_at_its_target_in_a_new_visit():
    it = pipe([
        task("one"),
        task("two", rules("{when: '{{ output.data < 3 }}', then: {do: jump, to: one}}")),
    ])  # fmt: skip
    it.run(ok_of(1), ok_of(2), ok_of(3), ok_of(4))
    assert [event.visit for event in it.named("task.done")] == [1, 1, 2, 2]
    assert it.named("task.done")[1].data["to"] == "one"
    assert it.calls[2].prev == 2
    assert it.around.jumped


def test_an_unmatched_error_is_continued_and_its_envelope_is_the_output():
    it = pipe([task("one", rules("{when: false, then: {do: fail}}"))])
    ended = it.run(error_of("boom"))
    assert (ended.well, ended.output["status"]) == (True, "error")


def test_an_error_in_a_rule_fails_the_pipeline_with_kind_template():
    it = pipe([task("one", rules("{when: '{{ 1 / 0 }}', then: {do: continue}}"))])
    ended = it.run(ok_of(1))
    assert (ended.well, ended.error["kind"], ended.error["task"]) == (False, "template", "one")


# ---- retry

RETRY = rules("{when: \"{{ output.status == 'error' }}\", then: {do: retry, %s}}")


def test_retry_makes_at_most_so_many_attempts_in_total_and_keeps_the_last_error():
    it = pipe([task("one", RETRY % "attempts: 3, delay: 0, set: {ctx.n: '{{ _attempt }}'}")])
    ended = it.run(error_of("a"), error_of("b"), error_of("c"))
    assert [call.attempt for call in it.calls] == [1, 2, 3]
    assert (ended.well, ended.error["kind"], ended.error["attempt"], it.frame.ctx) == (
        False,
        "c",
        3,
        {"n": 3},
    )
    assert it.told == [("one", "retry"), ("one", "retry"), ("one", "fail")]


def test_retry_waits_in_place_when_the_wait_is_short():
    it = pipe([task("one", RETRY % "delay: 2, backoff: linear")])
    it.run(error_of(), None, error_of(), None, ok_of(1))
    assert [effect.seconds for effect in it.effects if isinstance(effect, Sleep)] == [2, 4]
    assert it.named("task.done")[0].data["delay"] == 2


def test_a_long_wait_parks_the_pipeline_and_a_takeover_goes_on_with_the_next_attempt():
    it = pipe([task("one", RETRY % "delay: 60")])
    effect = it.until(error_of())
    assert isinstance(effect, Park)
    assert effect.event.data == {"until": it.clock + 60_000, "for": "retry"}
    kept = it.frame.checkpoint()
    assert (kept["waiting"], kept["attempt"]) == ("retry", 2)
    other = Pipe(it.around.program)
    other.frame.resume(kept)
    other.run(ok_of(1), answer=ok_of(None))
    assert [call.attempt for call in other.calls] == [2]


def test_a_wait_answered_under_the_lease_goes_on_with_the_next_attempt():
    it = pipe([task("one", RETRY % "delay: 60")])
    ended = it.run(error_of(), ok_of(None), ok_of(1))
    assert (ended.well, [call.attempt for call in it.calls]) == (True, [1, 2])
    assert it.frame.waiting is None


def test_attempts_begin_anew_with_each_visit():
    it = pipe([
        task("one", RETRY % "attempts: 2, delay: 0"),
        task("two", rules("{when: '{{ output.data == 1 }}', then: {do: jump, to: one}}")),
    ])  # fmt: skip
    ended = it.run(error_of(), ok_of(0), ok_of(1), error_of(), ok_of(0), ok_of(2))
    assert ended.well
    assert [(call.label, call.attempt) for call in it.calls] == [
        ("one", 1), ("one", 2), ("two", 1), ("one", 1), ("one", 2), ("two", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options, told",
    [
        ("attempts: '{{ ctx.text }}'", "attempts is 'many'"),
        ("delay: '{{ ctx.text }}'", "a delay is a number"),
        ("attempts: '{{ ctx.none.x }}'", "retry of task 'one'"),
    ],
)
def test_a_retry_that_cannot_be_judged_fails_the_pipeline(options, told):
    it = pipe([task("one", RETRY % options)], ctx={"text": "many"})
    ended = it.run(error_of())
    assert (ended.well, ended.error["kind"]) == (False, "template")
    assert told in ended.error["message"]


# ---- limits and hand-back


def test_the_runs_of_all_tasks_together_are_bounded():
    back = rules("{when: true, then: {do: jump, to: one}}")
    it = pipe([task("one"), task("two", back)], limits={"max_task_runs": 3})
    ended = it.run()
    assert (ended.error["kind"], it.frame.runs) == ("limit", 4)


def test_a_pipeline_that_runs_too_many_tasks_fails_with_kind_limit():
    it = pipe([task("one", rules("{when: true, then: {do: jump, to: one}}"))], limits={"max_task_runs": 3})
    ended = it.run(*[ok_of(1)] * 3)
    assert (ended.well, ended.error["kind"], len(it.calls)) == (False, "limit", 3)


@pytest.mark.parametrize("most", ["2", "'{{ ctx.n }}'"])
def test_a_task_that_is_passed_too_often_fails_with_kind_limit(most):
    one = f"{{name: one, {CODE}, spec: {{limits: {{max_visits: {most}}}, policy: {rules('{when: true, then: {do: jump, to: one}}')}}}}}"
    it = pipe([one], ctx={"n": 2})
    ended = it.run(ok_of(1), ok_of(1))
    assert (ended.well, ended.error["kind"]) == (False, "limit")
    assert ended.error["message"].endswith("loop, raise its spec.limits.max_visits")


@pytest.mark.parametrize("most", ["'{{ ctx.none.x }}'", "'{{ ctx.text }}'"])
def test_a_bound_on_visits_that_is_no_number_fails_with_kind_template(most):
    it = pipe([f"{{name: one, {CODE}, spec: {{limits: {{max_visits: {most}}}}}}}"], ctx={"text": "many"})
    ended = it.run()
    assert (ended.well, ended.error["kind"]) == (False, "template")


def test_a_pipeline_that_is_to_stop_stops_at_its_next_task_boundary():
    it = pipe([task("one"), task("two")])
    it.around.stopping = True
    assert it.run().handed_back
    assert it.frame.checkpoint()["pc"] == "one"


# ---- secrets

KEYCHAIN = {"keychain": "keychain: [{name: tok, kind: env, env: TOK}]"}
SECRET = {"tok": {"value": "hunter22"}}


def test_secrets_are_fetched_when_a_task_needs_them_and_never_written_down():
    it = pipe(
        [
            "{name: one, kind: python, input: {code: 'result = t', t: '{{ keychain.tok.value }}'}, set: {ctx.t: '{{ input.t }}'}}"
        ],
        root=KEYCHAIN,
    )
    it.around.redactor.learn(SECRET["tok"])
    ended = it.run(SECRET, ok_of("got hunter22"))
    assert it.effects[0] == NeedSecrets(frozenset({"tok"}))
    assert it.calls[0].input["t"] == "hunter22"
    assert "hunter22" not in repr([it.around.events, ended, it.frame.ctx, it.frame.writes])


def test_secrets_in_auth_are_fetched_too():
    it = pipe([task("one", auth="'{{ keychain.tok }}'")], root=KEYCHAIN)
    it.run(SECRET, ok_of(1))
    assert it.calls[0].auth == {"value": "hunter22"}


def test_a_plain_auth_name_is_given_to_the_tool():
    it = pipe([task("one", auth="tok")], root=KEYCHAIN)
    it.run(ok_of(1))
    assert it.calls[0].auth == "tok"


def test_a_secret_that_cannot_be_had_is_an_error_of_the_task():
    it = pipe(
        ["{name: one, kind: python, input: {code: 'result = t', t: '{{ keychain.tok.value }}'}}"],
        root=KEYCHAIN,
    )
    ended = it.run(EvaluationError("secret", "no such thing"))
    assert (ended.well, ended.error["kind"]) == (False, "secret")


def test_events_name_where_they_happened():
    it = pipe([task("one")], at="[3]", prefix="call/")
    it.run()
    event = it.named("task.done")[0]
    assert (event.run, event.at, event.label, event.by) == ("start.1", "[3]", "call/one", "w")
    assert it.calls[0].label == "call/one"
    assert it.around.execution_id == ID


def test_a_large_write_of_a_rule_is_told_by_its_size():
    it = pipe([task("one", rules("{when: true, then: {do: continue, set: {ctx.n: '{{ output.data }}'}}}"))])
    it.run(ok_of("x" * 3000))
    assert it.named("task.done")[0].data["set"] == [[["ctx", "n"], {"bytes": 3002}]]


def test_passing_the_end_of_sugar_makes_the_item_readable_by_its_name():
    it = pipe([
        f"{{name: pick, choose: [{{when: '{{{{ true }}}}', then: [{{name: a, {CODE}}}]}}, {{else: [{{name: b, {CODE}}}]}}]}}",
        "{name: after, kind: python, input: {code: 'result = n', n: '{{ pick.data }}'}}",
    ])  # fmt: skip
    it.run(ok_of(7), ok_of(8))
    assert it.calls[1].input["n"] == 7


def test_sugar_that_ran_nothing_has_no_value():
    it = pipe([f"{{name: pick, choose: [{{when: '{{{{ false }}}}', then: [{{name: a, {CODE}}}]}}]}}"])
    assert it.run().output == {"status": "ok", "data": None}
    assert "pick" not in it.frame.results


def test_a_failed_task_says_what_it_was_given_and_what_it_printed():
    it = pipe(
        ['{name: one, kind: python, input: {n: "{{ workload.n }}", m: 2, code: "1/0"}}'], workload={"n": 1}
    )
    ended = it.run({**error_of("boom", message="no"), LOGS: ["one", "two"]})
    assert ended.error["details"] == {"input": {"n": 1, "m": 2}, "log": ["one", "two"]}


def test_what_a_tool_says_of_its_error_is_bounded_in_every_event():
    error = {**error_of("boom")["error"], "message": "m" * 10**6, "details": {"body": "b" * 10**6}}
    it = pipe([task("one")])
    ended = it.run({"status": "error", "data": None, "error": error})
    kept = it.named("task.done")[0].data["output"]["error"]
    for shown in (kept, ended.error, ended.output["error"]):
        assert size_of(shown) < 7_000


def test_a_long_message_of_a_rule_is_cut_and_the_error_stays_what_it_is():
    it = pipe([task("one", rules("{when: true, then: {do: fail, message: \"{{ 'x' * 200000 }}\"}}"))])
    ended = it.run(ok_of(1))
    assert ended.error["kind"] == "failed"
    assert len(ended.error["message"]) < 4_100


def test_a_pipeline_that_never_waits_lets_what_it_said_be_reported():
    it = pipe(
        ["{name: one, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: one}}]}}}"],
        limits={"max_task_runs": 2_500},
    )
    it.run()
    pauses = [effect for effect in it.effects if isinstance(effect, Sleep)]
    assert pauses
    assert {effect.seconds for effect in pauses} == {0}


# ---- one template for all of an input

WHOLE = "{name: t, kind: %s, input: '{{ ctx.given }}'}"


def test_one_template_gives_the_input_of_a_task():
    it = pipe([WHOLE % "sqlite"], ctx={"given": {"query": "select 1"}})
    assert it.until().input == {"query": "select 1"}


def test_an_input_that_is_no_mapping_is_an_error_that_says_what_it_is():
    ended = pipe([WHOLE % "sqlite"], ctx={"given": "x"}).run()
    assert ended.error["kind"] == "template"
    assert ended.error["message"] == (
        "input of task 't': its template gives the text 'x', and an input must be a mapping"
    )


def test_a_kind_of_the_engine_refuses_keys_that_it_does_not_take():
    ended = pipe([WHOLE % "wait"], ctx={"given": {"seconds": 1, "other": 2}}).run()
    assert (ended.error["kind"], "takes no input 'other'" in ended.error["message"]) == ("input", True)
    assert isinstance(pipe([WHOLE % "wait"], ctx={"given": {"seconds": 1}}).until(), Sleep)
