"""Which rule an output meets, and how long a retry waits."""

from dataclasses import replace

import pytest

from noetl.core.pipeline.task_policy import by_status, choose, options, rendered_set, seconds, wait_s
from noetl.core.program.evaluator import EvaluationError
from noetl.core.values.output import externalise
from noetl.core.values.scope import Scope
from tests.unit.core.build import T0, compiled, ok_of


def task_of(policy):
    return (
        compiled(f"- {{step: start, tool: {{name: t, kind: noop, spec: {{policy: {policy}}}}}}}")
        .steps["start"]
        .pipeline.tasks[0]
    )


def rule(**then):
    parts = ", ".join(f"{key}: {value}" for key, value in then.items())
    return task_of(f"{{rules: [{{when: true, then: {{do: retry, {parts}}}}}]}}").rules[0]


SCOPE = Scope({"output": {"status": "error", "n": 3}})


@pytest.mark.parametrize(
    "rules, do, index",
    [
        ("[{when: '{{ output.n > 1 }}', then: {do: skip}}, {when: true, then: {do: fail}}]", "skip", 0),
        ("[{when: '{{ output.n > 5 }}', then: {do: skip}}, {when: true, then: {do: fail}}]", "fail", 1),
        ("[{when: false, then: {do: skip}}, {else: {then: {do: break}}}]", "break", "else"),
        ("[{when: '{{ output.none.x }}', then: {do: skip}}]", None, None),
    ],
)
def test_the_first_rule_that_holds_decides(rules, do, index):
    choice = choose(task_of(f"{{rules: {rules}}}").rules, SCOPE, "t")
    assert (choice and choice.do, choice and choice.rule) == (do, index)


def test_what_the_rule_that_held_saw_is_told():
    choice = choose(task_of("{rules: [{when: '{{ output.n == 3 }}', then: {do: skip}}]}").rules, SCOPE, "t")
    assert choice is not None
    assert choice.seen == {"output.n": 3}


@pytest.mark.parametrize("guard", ["{{ output.n / 0 }}", "{{ 'perhaps' }}"])
def test_a_guard_that_cannot_be_judged_is_never_no_match(guard):
    rules = task_of(f'{{rules: [{{when: "{guard}", then: {{do: skip}}}}]}}').rules
    with pytest.raises(EvaluationError, match="t rule 0") as caught:
        choose(rules, SCOPE, "t")
    assert caught.value.kind == "template"


@pytest.mark.parametrize(
    "policy, status, do",
    [
        ("{rules: [{when: false, then: {do: skip}}]}", "error", "continue"),
        ("{rules: [{when: false, then: {do: skip}}]}", "ok", "continue"),
        ("{on_unmatched: by_status, rules: [{when: false, then: {do: skip}}]}", "error", "fail"),
        ("{on_unmatched: by_status, rules: [{when: false, then: {do: skip}}]}", "ok", "continue"),
    ],
)
def test_no_match_continues_unless_it_goes_by_status(policy, status, do):
    assert by_status(task_of(policy), status).do == do


@pytest.mark.parametrize("status, do", [("ok", "continue"), ("error", "fail")])
def test_without_a_policy_ok_continues_and_an_error_fails(status, do):
    task = compiled("- {step: start, tool: {kind: noop}}").steps["start"].pipeline.tasks[0]
    assert by_status(task, status).do == do


def test_a_rule_writes_what_its_set_says_or_nothing():
    assert rendered_set(rule(set="{ctx.n: '{{ output.n }}'}"), SCOPE) == [[["ctx", "n"], 3]]
    assert rendered_set(rule(), SCOPE) == []


def test_options_are_rendered_with_their_defaults():
    assert options(rule(delay="'{{ output.n }}'"), SCOPE, "t") == {
        "attempts": 3,
        "delay": 3,
        "max_delay": 300,
    }


def test_an_option_that_cannot_be_rendered_is_an_error():
    with pytest.raises(EvaluationError, match="here"):
        options(rule(delay="'{{ output.none.x }}'"), SCOPE, "here")


@pytest.mark.parametrize(
    "backoff, waits",
    [("none", [2, 2, 2]), ("linear", [2, 4, 6]), ("exponential", [2, 4, 8])],
)
def test_the_wait_grows_with_the_attempt_as_the_backoff_says(backoff, waits):
    found = rule(backoff=backoff)
    given = {"delay": 2, "max_delay": 300}
    assert [wait_s(found, given, attempt, T0, lambda: 0.0) for attempt in (1, 2, 3)] == waits


def test_max_delay_caps_the_wait_however_many_attempts_there_were():
    given = {"delay": 2, "max_delay": 60}
    assert wait_s(rule(backoff="exponential"), given, 5000, T0, lambda: 0.0) == 60


@pytest.mark.parametrize("spread, factor", [(0.0, 1.0), (0.5, 1.125), (0.999999, 1.25)])
def test_jitter_only_lengthens_by_at_most_a_quarter(spread, factor):
    found = replace(rule(), jitter=True)
    wait = wait_s(found, {"delay": 4, "max_delay": 300}, 1, T0, lambda: spread)
    assert wait == pytest.approx(4 * factor, rel=1e-4)
    assert wait <= 5


@pytest.mark.parametrize(
    "value, expected",
    [
        (2, 2.0),
        (0.5, 0.5),
        ("3", 3.0),
        (" 1.5 ", 1.5),
        (-4, 0.0),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0),
        ("Tue, 14 Nov 2023 22:13:30 -0000", 10.0),
        ("Tue, 14 Nov 2023 23:13:30 +0100", 10.0),
        ("Tue, 14 Nov 2023 22:13:10 GMT", 0.0),
    ],
)
def test_a_delay_is_a_number_a_numeric_string_or_an_http_date(value, expected):
    assert seconds(value, T0) == expected


@pytest.mark.parametrize("value", [None, True, "soon", [], {}, "inf", float("nan"), float("inf"), ""])
def test_anything_else_is_no_delay(value):
    with pytest.raises(EvaluationError, match="a delay is a number of seconds or a date"):
        seconds(value, T0)


def test_a_guard_that_reads_a_payload_which_is_gone_says_so():
    found = task_of("{rules: [{when: '{{ load.n == 1 }}', then: {do: retry}}]}")
    scope = Scope({}, steps={"load": ok_of(None, ref=externalise("e1", 3)[0])}, most=9)
    with pytest.raises(EvaluationError) as caught:
        choose(found.rules, scope, "t")
    assert (caught.value.kind, caught.value.message.startswith("t rule 0: load.n: the payload")) == (
        "reference",
        True,
    )
