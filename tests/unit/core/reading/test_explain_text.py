"""Recorded decisions in words."""

import pytest

from noetl.core.reading import explain_text


@pytest.mark.parametrize(
    "operands, text",
    [({}, ""), ({"ctx.n": 3, "a": "x"}, ' (ctx.n = 3, a = "x")'), ({"a": None}, " (a = null)")],
)
def test_what_a_guard_saw(operands, text):
    assert explain_text.seen(operands) == text


def test_a_long_value_is_cut():
    assert explain_text.value("x" * 200) == '"' + "x" * 78 + "…"


@pytest.mark.parametrize(
    "record, text",
    [
        ({"step": "b", "matched": True}, "the arc to 'b' was taken: it has no condition that could fail"),
        ({"step": "b", "matched": False}, "the arc to 'b' was not taken: its condition never holds"),
        (
            {"step": "b", "matched": False, "asked": False},
            "the arc to 'b' was not asked, because an arc before it was taken",
        ),
        (
            {"step": "b", "matched": True, "seen": {"ctx.n": 1}, "set": [[["a", "b"], 2]]},
            "the arc to 'b' was taken: its condition held (ctx.n = 1); it set ctx.a.b = 2",
        ),
    ],
)
def test_an_arc(record, text):
    assert explain_text.arc(record) == text


@pytest.mark.parametrize(
    "rule, guards, allowed, text",
    [
        (None, [], True, "there is no admission rule"),
        (0, [{"value": True, "seen": {}}], True, "admission rule 0 lets it in: its condition held"),
        ("else", [], False, "the `else` of its admission refuses it"),
        ("default", [], True, "no admission rule held, which lets it in"),
        (
            "default",
            [{"value": False, "seen": {"ctx.a": 1}}],
            False,
            "no admission rule held, which refuses it: rule 0 did not hold (ctx.a = 1)",
        ),
    ],
)
def test_an_admission(rule, guards, allowed, text):
    assert explain_text.admission(rule, guards, allowed=allowed) == text


@pytest.mark.parametrize(
    "error, text",
    [
        (None, "no error was given"),
        ({}, "no error was given"),
        ({"kind": "http", "message": "503"}, "http: 503"),
        ({"code": 1}, "error: no message"),
    ],
)
def test_an_error(error, text):
    assert explain_text.error(error) == text


@pytest.mark.parametrize(
    "error, text",
    [
        (None, "no error was given"),
        ({"kind": "http", "message": "401"}, "http: 401"),
        ({"kind": "http", "message": "401", "details": {"body": "no\n  way"}}, "http: 401: no way"),
    ],
)
def test_an_error_with_the_beginning_of_what_was_answered(error, text):
    assert explain_text.error_and_body(error) == text


@pytest.mark.parametrize(
    "counts, text",
    [
        (None, ""),
        ({"total": 2, "done": 2, "failed": 0, "skipped": 0}, "2 of 2 iterations went well"),
        (
            {"total": 4, "done": 1, "failed": 1, "skipped": 2},
            "1 of 4 iterations went well, 1 failed, 2 never ran to an end",
        ),
    ],
)
def test_a_loop(counts, text):
    assert explain_text.loop(counts) == text


@pytest.mark.parametrize(
    "data, text",
    [
        ({"signal": "go"}, "the signal 'go'"),
        ({"signal": "go", "approval": "go"}, "the signal 'go'"),
        ({"signal": "a.b", "approval": "Go?"}, "the approval 'Go?' (signal 'a.b')"),
        ({"child": "e1", "call": {"path": "a/b"}}, "the playbook a/b (execution e1)"),
        ({"child": "e1"}, "the playbook a playbook (execution e1)"),
        ({"for": "retry"}, "its next attempt"),
        ({"for": "wait"}, "its time"),
        ({"for": "wait", "until": 0}, "its time, 1970-01-01T00:00:00.000Z"),
    ],
)
def test_what_a_task_waits_for(data, text):
    assert explain_text.waiting(data) == text


@pytest.mark.parametrize(
    "data, place, text",
    [
        ({}, "rule", "no rule decided"),
        ({"rule": "else"}, "rule", "the `else` rule"),
        ({"rule": 2, "seen": {"a": 1}}, "rule", "rule 2 held (a = 1)"),
        ({"before": 0}, "before", "rule 0 held"),
    ],
)
def test_a_policy_rule(data, place, text):
    assert explain_text.rule(data, place) == text


@pytest.mark.parametrize(
    "error, text",
    [
        (None, "failed: no error was given"),
        ({"kind": "http", "message": "401"}, "failed: http: 401"),
        ({"kind": "cancelled", "message": "cancelled: cancelled"}, "was cut off"),
        ({"kind": "cancelled", "message": "cancelled: execution failed"}, "was cut off: execution failed"),
    ],
)
def test_what_was_called_off_did_not_fail(error, text):
    assert explain_text.failed(error) == text


@pytest.mark.parametrize(
    "why, text",
    [
        ("returned", "was handed back"),
        ("lost", "never came to a worker"),
        ("resume", "was taken from a process that is gone"),
        ("silent", "was taken from its worker, which fell silent,"),
    ],
)
def test_why_work_goes_out_again(why, text):
    assert explain_text.again(why) == text


def test_an_error_does_not_say_its_kind_twice():
    assert (
        explain_text.error({"kind": "cancelled", "message": "cancelled: execution failed"})
        == "cancelled: execution failed"
    )
    assert explain_text.error({"kind": "python", "message": "KeyError: 'a'"}) == "python: KeyError: 'a'"


def test_the_details_of_an_error_are_told_by_name_and_line():
    details = {
        "input": {"n": 1},
        "traceback": "Traceback:\n  File\n",
        "position": {"line": 2, "column": 3, "text": "\tform x"},
        "body": "<html>\n",
        "stderr": "no",
        "log": ["one", "two"],
        "hint": "add it",
        "statement": 1,
    }
    assert explain_text.details({"details": details}) == [
        ("input", ['{"n":1}']),
        ("trace", ["Traceback:", "  File"]),
        ("sql", ["line 2, column 3", " form x", "  ^"]),
        ("body", ["<html>"]),
        ("stderr", ["no"]),
        ("log", ["one", "two"]),
        ("hint", ["add it"]),
    ]
    assert explain_text.details({"details": {"input": "{cut…"}}) == [("input", ["{cut…"])]
    assert explain_text.details({}) == explain_text.details(None) == []


def test_the_caret_stands_below_its_place_in_a_part_of_a_long_line():
    place = {"line": 1, "column": 303, "text": "abcdef", "text_from": 301}
    assert explain_text.details({"details": {"position": place}}) == [
        ("sql", ["line 1, column 303", "abcdef", "  ^"])
    ]


def test_a_child_tells_the_details_of_its_cause():
    cause = {"details": {"traceback": "line 3", "input": {"of": "child"}}}
    error = {"details": {"input": {"of": "parent"}, "error": cause}}
    assert explain_text.details(error) == [("input", ['{"of":"parent"}']), ("trace", ["line 3"])]
