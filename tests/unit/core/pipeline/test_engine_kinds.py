"""The kinds the engine carries out itself: noop, wait, playbook, workbook."""

from typing import Any

import pytest

from noetl.core.pipeline.effects import CallBlock, Park, ReadPayload, Sleep
from noetl.core.pipeline.engine_kinds import CALL_DEPTH
from noetl.core.pipeline.pipeline import drive
from noetl.core.values.output import ANSWERED, externalise
from noetl.core.values.payload_demand import UnreadablePayload
from tests.unit.core.build import ID, T0, Pipe, compiled, error_of, ok_of

BLOCK = {"workbook": "workbook: {blk: {input: {n: 1}, tool: [{name: inner, kind: noop}]}}"}


def pipe(*tasks, root=None, **parts):
    return Pipe(
        compiled("- step: start\n  tool:\n" + "\n".join(f"    - {task}" for task in tasks), **(root or {})),
        **parts,
    )


CODE = "{name: one, kind: python, input: {code: 'result = 1'}}"


def test_noop_answers_with_the_previous_value_and_never_leaves():
    it = pipe(CODE, "{name: two, kind: noop}")
    assert it.run(ok_of(5)).output == ok_of(5)
    assert len(it.effects) == 1


def test_meta_is_there_when_a_template_reads_it():
    it = pipe("{name: one, kind: noop, set: {ctx.n: '{{ output.meta.attempt }}'}}")
    meta = it.run().output["meta"]
    assert (meta["attempt"], meta["duration_ms"], meta["ts"]) == (1, 0, "2023-11-14T22:13:20.000Z")
    assert it.frame.ctx == {"n": 1}


@pytest.mark.parametrize(
    "given, seconds",
    [
        ("seconds: 2", 2),
        ("seconds: '{{ 3 / 2 }}'", 1.5),
        ("until: '2023-11-14T22:13:23Z'", 3),
        ("until: '2020-01-01T00:00:00Z'", 0),
    ],
)
def test_a_short_wait_is_slept_in_place(given, seconds):
    it = pipe(f"{{name: w, kind: wait, input: {{{given}}}}}")
    assert it.run(None).well
    assert it.effects == [Sleep(seconds)]


@pytest.mark.parametrize(
    "given, data",
    [
        ("seconds: 60", {"for": "wait", "until": T0 + 60_000}),
        ("until: '2023-11-14T23:13:20Z'", {"for": "wait", "until": T0 + 3_600_000}),
        ("signal: go", {"for": "wait", "signal": "go"}),
        ("approval: boss", {"for": "wait", "signal": "boss", "approval": "boss"}),
        ("approval: Ship it?", {"for": "wait", "signal": "start.w", "approval": "Ship it?"}),
    ],
)
def test_any_other_wait_parks_the_pipeline(given, data):
    it = pipe(f"{{name: w, kind: wait, input: {{{given}}}}}")
    effect = it.until()
    assert isinstance(effect, Park)
    assert effect.event.data == data
    assert (effect.event.label, effect.event.visit, effect.event.attempt) == ("w", 1, 1)
    assert it.frame.checkpoint()["waiting"] == "wait"


def test_the_tasks_timeout_bounds_what_it_waits_for():
    it = pipe("{name: w, kind: wait, input: {signal: go}, spec: {timeout: 9}}")
    assert it.until().event.data["expires"] == T0 + 9000
    it = pipe("{name: w, kind: wait, input: {seconds: 3}, spec: {timeout: 1}}")
    ended = it.run(None)
    assert (it.effects, ended.error["kind"]) == ([Sleep(1)], "timeout")


def test_a_moment_without_a_zone_is_refused():
    ended = pipe("{name: w, kind: wait, input: {until: \"{{ '2030-01-01T00:00:00' }}\"}}").run()
    assert ended.error["kind"] == "value"
    assert "names no time zone" in ended.error["message"]


def test_blocks_inside_one_another_are_bounded():
    call = "{name: c, kind: workbook, block: blk}"
    ended = pipe(call, root=BLOCK, prefix="a/" * CALL_DEPTH).run()
    assert ended.error["kind"] == "limit"
    assert isinstance(pipe(call, root=BLOCK, prefix="a/" * (CALL_DEPTH - 1)).until(), CallBlock)


@pytest.mark.parametrize("given", ["seconds: '{{ ctx.t }}'", "until: '{{ ctx.t }}'"])
def test_a_wait_for_no_time_is_an_output_that_the_rules_see(given):
    rules = "{rules: [{when: \"{{ output.error.kind == 'value' }}\", then: {do: continue}}]}"
    it = pipe(f"{{name: w, kind: wait, input: {{{given}}}, spec: {{policy: {rules}}}}}", ctx={"t": "soon"})
    ended = it.run()
    assert (ended.well, ended.output["error"]["kind"]) == (True, "value")


@pytest.mark.parametrize("taken_over", [False, True])
@pytest.mark.parametrize(
    "payload, kind",
    [
        ({"approved": True}, None),
        ({"approved": False}, "rejected"),
        ({"approved": False, "reason": "no"}, "rejected"),
        ("go", None),
    ],
)
def test_an_approval_that_was_declined_is_an_error(taken_over, payload, kind):
    it = pipe("{name: w, kind: wait, input: {approval: boss}, set: {ctx.x: '{{ input.approval }}'}}")
    if taken_over:
        it.until()
        kept = it.frame.checkpoint()
        it = Pipe(it.around.program)
        it.frame.resume(kept)
        ended = it.run(answer=ok_of(payload))
        assert it.named("task.started") == []
    else:
        ended = it.run(ok_of(payload))
    assert (ended.error or {}).get("kind") == kind
    assert ended.output["data"] == payload
    assert it.frame.ctx == ({} if kind else {"x": "boss"})
    if kind:
        assert ended.error["message"] == payload.get("reason", "the approval was declined")


@pytest.mark.parametrize(
    "task, at, name",
    [
        ("{kind: wait, input: {approval: Ship it?}}", "", "start"),
        ("{kind: wait, input: {approval: Ship it?}}", "[2]", "start[2]"),
        ("{name: ship, kind: wait, input: {approval: Ship it?}}", "[2]/call[0]", "start.ship[2][0]"),
        ("{name: ship, kind: wait, input: {approval: '" + "a" * 65 + "'}}", "", "start.ship"),
        ("{name: ship, kind: wait, input: {approval: release-1.2}}", "[1]", "release-1.2"),
        ("{name: ship, kind: wait, input: {signal: Any text}}", "", "Any text"),
    ],
)
def test_the_signal_of_an_approval_has_a_short_name(task, at, name):
    it = Pipe(compiled(f"- {{step: start, tool: {task}}}"), at=at)
    assert it.until().event.data["signal"] == name


@pytest.mark.parametrize("given", ["signal: '{{ ctx.none }}'", "approval: '{{ ctx.none }}'"])
def test_a_wait_for_nothing_is_an_error_and_not_for_ever(given):
    ended = pipe(f"{{name: w, kind: wait, input: {{{given}}}}}", ctx={"none": ""}).run()
    assert (ended.error["kind"], ended.error["task"]) == ("value", "w")
    assert "was given without a value" in ended.error["message"]


def test_an_answer_is_held_against_the_tasks_schema_also_after_a_takeover():
    it = pipe("{name: w, kind: wait, input: {signal: go}, spec: {validate: {output: {type: integer}}}}")
    it.until()
    kept = it.frame.checkpoint()
    other = Pipe(it.around.program)
    other.frame.resume(kept)
    assert other.run(answer=ok_of("text")).error["kind"] == "validation"


def test_a_playbook_call_is_parked_under_its_idempotency_key():
    it = pipe(
        "{name: c, kind: playbook, path: 'a/{{ ctx.p }}', version: 2, input: {n: '{{ 1 + 1 }}'}, spec: {timeout: 5}}",
        ctx={"p": "b"},
    )
    data = it.until().event.data
    assert data["call"] == {"path": "a/b", "version": 2, "input": {"n": 2}}
    assert (data["for"], data["wait"], data["expires"]) == ("child", True, T0 + 5000)
    again = pipe("{name: c, kind: playbook, path: 'a/b'}")
    assert again.until().event.data["key"] == data["key"]
    assert it.frame.checkpoint()["waiting"] == "child"


def test_a_playbook_call_may_not_wait():
    assert pipe("{name: c, kind: playbook, path: a/b, wait: false}").until().event.data["wait"] is False


def test_the_childs_output_is_the_tasks():
    it = pipe("{name: c, kind: playbook, path: a/b}")
    assert it.run(ok_of(5)).output["data"] == 5
    it = pipe("{name: c, kind: playbook, path: a/b}")
    assert it.run(error_of("child")).error["kind"] == "child"


BIG_INPUT = "{name: c, kind: playbook, path: a/b, input: {n: '{{ \"x\" * 70000 }}'}}"


def test_a_large_input_of_a_call_is_put_aside_where_the_server_takes_it_from_there():
    it = pipe(BIG_INPUT)
    it.around.stores_call_input = True
    data = it.until().event.data
    [payload] = it.around.payloads
    assert (data["aside"], data["call"]["input"]["$stored"]["locator"]["key"]) == (True, payload.key)
    small = pipe("{name: c, kind: playbook, path: a/b, input: {n: 1}}")
    small.around.stores_call_input = True
    assert small.until().event.data["call"]["input"] == {"n": 1}


def test_an_older_server_is_told_the_whole_input_of_a_call():
    data = pipe(BIG_INPUT).until().event.data
    assert len(data["call"]["input"]["n"]) == 70_000
    assert "aside" not in data


def stored_answer(size):
    ref, _ = externalise(ID, {"n": 5})
    return {**ok_of(None), "ref": {**ref, "meta": {**ref["meta"], "bytes": size}}}


def test_a_childs_output_that_rests_in_the_result_store_is_read_for_once():
    it = pipe("{name: c, kind: playbook, path: a/b}")
    ended = it.run(stored_answer(9), {"n": 5})
    assert it.effects[-1] == ReadPayload("c", stored_answer(9)["ref"])
    assert (ended.output["data"], ended.output["ref"]) == ({"n": 5}, stored_answer(9)["ref"])


def test_a_childs_output_over_the_limit_stays_where_it_is():
    it = pipe("{name: c, kind: playbook, path: a/b}")
    ended = it.run(stored_answer(10**9))
    assert (ended.output["data"], len(it.effects)) == (None, 1)


def test_a_childs_output_that_is_gone_is_an_error_of_the_task():
    it = pipe("{name: c, kind: playbook, path: a/b}")
    ended = it.run(stored_answer(9), UnreadablePayload("reference", "it is gone"))
    assert (ended.error["kind"], ended.error["message"]) == (
        "reference",
        "the output of task 'c': it is gone",
    )


def test_a_call_that_cannot_be_rendered_is_an_output_of_kind_template():
    it = pipe("{name: c, kind: playbook, path: 'a/{{ ctx.none.x }}'}")
    ended = it.run()
    assert (ended.well, ended.error["kind"]) == (False, "template")


def test_a_block_is_called_behind_its_boundary_and_its_writes_are_the_callers():
    it = pipe("{name: blk, kind: workbook, input: {n: 2}}", root=BLOCK, at="[1]")
    ended = it.run((ok_of(5), [[["ctx", "a"], 1]]))
    call = it.effects[0]
    assert isinstance(call, CallBlock)
    assert (call.block, call.label, call.at, call.input) == ("blk", "blk", "[1]/blk", {"n": 2})
    assert (ended.output["data"], it.frame.ctx, it.frame.inside) == (5, {"a": 1}, None)


def test_a_block_may_be_called_by_another_name_and_each_call_has_its_own_address():
    jump = "{rules: [{when: '{{ output.data == 0 }}', then: {do: jump, to: c}}]}"
    it = pipe(f"{{name: c, kind: workbook, block: blk, spec: {{policy: {jump}}}}}", root=BLOCK)
    it.run((ok_of(0), []), (ok_of(1), []))
    assert [(call.block, call.at) for call in it.effects] == [("blk", "/c"), ("blk", "/c.2.1")]


RETRY = "{rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, attempts: 3, delay: 0}}]}"


@pytest.mark.parametrize(
    "output, keyed",
    [
        (error_of(), ["[1]/c", "[1]/c", "[1]/c"]),
        ({**error_of(), ANSWERED: True}, ["[1]/c", "[1]/c.1.2", "[1]/c.1.3"]),
    ],
)
def test_a_repeated_call_of_a_block_has_new_keys_only_when_it_was_answered(output, keyed):
    it = pipe(f"{{name: c, kind: workbook, block: blk, spec: {{policy: {RETRY}}}}}", root=BLOCK, at="[1]")
    it.run((dict(output), []), (dict(output), []), (ok_of(1), []))
    assert [call.at for call in it.effects] == ["[1]/c", "[1]/c.1.2", "[1]/c.1.3"]
    assert [call.keyed for call in it.effects] == keyed


def test_keys_inside_a_call_are_made_of_what_the_call_is_keyed_by():
    one, other = (
        pipe("{name: t, kind: playbook, path: a/b}", at=at, keyed=keyed)
        for at, keyed in (("/c", None), ("/c.1.2", "/c"))
    )
    assert one.until().event.data["key"] == other.until().event.data["key"]
    nested = pipe("{name: c, kind: workbook, block: blk}", root=BLOCK, at="/d.1.2", keyed="/d")
    assert nested.until().keyed == "/d/c"


def test_a_call_ends_at_the_same_moment_wherever_it_is_taken_up():
    it = pipe("{name: c, kind: workbook, block: blk, spec: {timeout: 9}}", root=BLOCK)
    assert it.until().ends == T0 + 9000
    kept = it.frame.checkpoint()
    other = Pipe(it.around.program)
    other.clock += 5000
    other.frame.resume(kept)
    assert other.until().ends == T0 + 9000


def test_every_attempt_of_a_call_has_its_own_time():
    it = pipe(f"{{name: c, kind: workbook, block: blk, spec: {{timeout: 9, policy: {RETRY}}}}}", root=BLOCK)
    machine: Any = drive(it.frame)
    assert next(machine).ends == T0 + 9000
    it.clock += 9000
    assert machine.send((error_of("timeout"), [])).ends == T0 + 18_000


@pytest.mark.parametrize(
    "task",
    [
        "{name: t, kind: wait, input: {signal: go}}",
        "{name: t, kind: playbook, path: a/b}",
        "{name: t, kind: noop, output: '{{ ctx.none.x }}', spec: {policy: {rules: [{else: {then: {do: retry, delay: 60}}}]}}}",
    ],
)
def test_whatever_waits_inside_a_call_says_when_the_call_ends(task):
    assert pipe(task, within=T0 + 7).until().event.data["within"] == T0 + 7
    assert "within" not in pipe(task).until().event.data


def test_a_wait_whose_input_cannot_be_rendered_any_more_fails_without_starting_again():
    it = pipe("{name: w, kind: wait, input: {signal: '{{ ctx.s }}'}}", ctx={"s": "go"})
    it.until()
    kept = it.frame.checkpoint()
    other = Pipe(it.around.program)
    other.frame.resume(kept)
    assert other.run(answer=ok_of(1)).error["kind"] == "template"
    assert other.named("task.started") == []


@pytest.mark.parametrize(
    ("given", "seconds"), [("'2.5'", 2.5), ("3", 3), ("none", None), ("'soon'", "'soon'"), ("true", "True")]
)
def test_a_tasks_timeout_that_a_template_makes_is_a_number_of_seconds(given, seconds):
    it = pipe(f'{{name: one, kind: python, input: {{code: x}}, spec: {{timeout: "{{{{ {given} }}}}"}}}}')
    if isinstance(seconds, str):
        ended = it.run()
        assert (ended.error["kind"], it.effects) == ("template", [])
        assert ended.error["message"] == f"spec of task 'one': timeout {seconds} is not a number of seconds"
    else:
        it.run(ok_of(5))
        assert [effect.spec["timeout"] for effect in it.effects] == [seconds]
