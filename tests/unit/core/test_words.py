"""Recorded decisions in words."""

import pytest

from noetl.core import words


def test_a_long_value_is_cut():
    assert words.value({"a": 1}) == '{"a":1}'
    assert words.value("x" * 100) == '"' + "x" * 79 + "…"


@pytest.mark.parametrize("operands, told", [({}, ""), ({"a.b": 1, "c": "x"}, ' (a.b = 1, c = "x")')])
def test_what_a_guard_read_stands_in_brackets(operands, told):
    assert words.seen(operands) == told


@pytest.mark.parametrize(
    "record, told",
    [
        (
            {"asked": False, "matched": False},
            "the arc to 'x' was not asked, because an arc before it was taken",
        ),
        ({"matched": True}, "the arc to 'x' was taken: it has no condition that could fail"),
        (
            {"matched": True, "seen": {"a": 1}, "set": [[["n"], 2]]},
            "the arc to 'x' was taken: its condition held (a = 1); it set ctx.n = 2",
        ),
        (
            {"matched": False, "seen": {"a": 1}},
            "the arc to 'x' was not taken: its condition did not hold (a = 1)",
        ),
        ({"matched": False}, "the arc to 'x' was not taken: its condition never holds"),
    ],
)
def test_why_an_arc_was_taken_or_not(record, told):
    assert words.arc({"step": "x", **record}) == told


GUARDS = [{"value": False, "seen": {"a": 1}}, {"value": True, "seen": {"b": 2}}]


@pytest.mark.parametrize(
    "rule, guards, allowed, told",
    [
        (None, [], True, "there is no admission rule"),
        (1, GUARDS, True, "admission rule 1 lets it in: its condition held (b = 2)"),
        (1, GUARDS, False, "admission rule 1 refuses it: its condition held (b = 2)"),
        ("else", GUARDS[:1], False, "the `else` of its admission refuses it: rule 0 did not hold (a = 1)"),
        ("else", [], True, "the `else` of its admission lets it in"),
        (
            "default",
            GUARDS[:1],
            False,
            "no admission rule held, which refuses it: rule 0 did not hold (a = 1)",
        ),
        ("default", [], True, "no admission rule held, which lets it in"),
    ],
)
def test_which_admission_rule_decided(rule, guards, allowed, told):
    assert words.admission(rule, guards, allowed=allowed) == told


@pytest.mark.parametrize(
    "item, told",
    [
        (None, "no error was given"),
        ({"kind": "boom", "message": "m"}, "boom: m"),
        ({"kind": "boom"}, "boom: no message"),
    ],
)
def test_an_error_is_its_kind_and_message(item, told):
    assert words.error(item) == told


@pytest.mark.parametrize(
    "counts, told",
    [
        (None, ""),
        ({"total": 3, "done": 3, "failed": 0, "skipped": 0}, "3 of 3 iterations went well"),
        (
            {"total": 3, "done": 1, "failed": 1, "skipped": 1},
            "1 of 3 iterations went well, 1 failed, 1 never ran to an end",
        ),
    ],
)
def test_how_the_iterations_of_a_loop_went(counts, told):
    assert words.loop(counts) == told


@pytest.mark.parametrize(
    "data, told",
    [
        ({"signal": "go"}, "the signal 'go'"),
        ({"child": "c1", "call": {"path": "a/b"}}, "the playbook a/b (execution c1)"),
        ({"child": "c1"}, "the playbook a playbook (execution c1)"),
        ({"for": "retry"}, "its next attempt"),
        ({"for": "wait"}, "its time"),
    ],
)
def test_what_a_parked_task_waits_for(data, told):
    assert words.waiting(data) == told


@pytest.mark.parametrize(
    "data, told",
    [
        ({}, "no rule decided"),
        ({"rule": "else"}, "the `else` rule"),
        ({"rule": 0, "seen": {"a": 1}}, "rule 0 held (a = 1)"),
    ],
)
def test_which_policy_rule_chose_a_directive(data, told):
    assert words.rule(data) == told
