"""Expectations against facts: what is met says nothing, what is not says what was seen, at its place."""

from collections import Counter
from typing import Any

import pytest

from noetl.core.testing.expectations import Facts, arc_name, unmet_expectations
from noetl.dsl.testing.suite import read_suite

FACTS: dict[str, Any] = {
    "status": "completed",
    "output": {"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "more": False},
    "ctx": {"total": 3, "deep": {"page": 2}},
    "workload": {"goal": 5},
    "steps": ["start", "load", "load"],
    "arcs": Counter({"start -> load": 2}),
    "failures": [
        {"step": "load", "error": {"kind": "http", "message": "503: busy"}, "taken_by": "a", "answered": True}
    ],
    "failed_iterations": 4,
    "calls": [("load.fetch", {"url": "x/1", "method": "GET"}), ("load.fetch", {"url": "x/2"})],
}
FAILED: dict[str, Any] = {
    "status": "failed",
    "error": {"kind": "http", "message": "503: busy", "step": "load"},
}

MET = [
    "{}",
    "{status: completed}",
    "{output: {rows: [{id: 1}, {name: b}]}}",
    "{output: {more: false}}",
    "{ctx: {total: 3, deep.page: 2, gone: null, total.below: null}}",
    "{steps: [start, load, load]}",
    "{steps: {load: 2, other: 0}}",
    "{arcs: {start -> load: 2}}",
    "{calls: {load.fetch: 2}}",
    "{calls: {load.fetch: [{url: x/1}, {url: x/2}]}}",
    "{failures: [{step: load, answered: true, taken_by: a, error: {message: busy}}]}",
    "{failures: [{}]}",
    "{that: ['{{ failures[0].answered and failed_iterations == 4 }}']}",
    "{that: ['{{ ctx.total == 3 and output.rows | length == 2 }}', true]}",
    "{that: ['{{ steps.load == 2 and workload.goal == 5 and status == ''completed'' }}']}",
]
UNMET = [
    ("{status: failed}", 36, "the execution is completed, expected failed"),
    ("{error: {kind: x}}", 35, "there is no error, expected one"),
    ("{output: 1}", 36, "output is {rows: [{id: 1, name: a}, {id: 2, name: b}], more: false}, expected 1"),
    ("{output: {rows: [{id: 1}, {id: 3}]}}", 58, "output.rows[1].id is 2, expected 3"),
    ("{output: {rows: [{id: 1}]}}", 43, "output.rows is [{id: 1, name: a}, {id: 2, name: b}], expected [{id: 1}]"),
    ("{output: {more: 0}}", 43, "output.more is false, expected 0"),
    ("{output: {next: 1}}", 37, "output has no 'next'; it is {rows:"),
    ("{ctx: {deep.page: 3}}", 45, "ctx.deep.page is 2, expected 3"),
    ("{steps: [start]}", 35, "the steps that ran are [start, load, load], expected [start]"),
    ("{steps: {load: 1, start: 2}}", 42, "step 'load' was run 2 times, expected once"),
    ("{arcs: {start -> load: 0}}", 50, "arc 'start -> load' was taken 2 times, expected never"),
    ("{calls: {load.fetch: 3}}", 48, "task 'load.fetch' was called 2 times, expected 3 times"),
    ("{calls: {load.fetch: [{url: x/1}]}}", 48, "task 'load.fetch' was called 2 times, expected once"),
    ("{calls: {load.fetch: [{url: x/1}, {url: z}]}}", 67, "input of call 2 of 'load.fetch'.url is x/2, expected z"),
    ("{failures: []}", 38, "the failures that arcs took are of [load], expected 0"),
    ("{failures: [{answered: false}]}", 50, "failures[0].answered is true, expected false"),
    ("{failures: [{error: {kind: x}}]}", 54, "failures[0].error.kind is http, expected x"),
    ("{that: ['{{ ctx.total > 3 }}']}", 35, "{{ ctx.total > 3 }} does not hold: ctx.total is 3"),
    ("{that: [false]}", 35, "false does not hold"),
    ("{that: ['{{ ctx.total.x | default(0) > 1 }}']}", 35, "does not hold: ctx.total.x is null"),
    ("{that: ['{{ ctx.total + ''a'' }}']}", 35, "{{ ctx.total + 'a' }}: "),
]  # fmt: skip


def verdict(expect: str, facts: dict[str, Any]) -> list[Any]:
    suite = read_suite(f"playbook: x\ntests: [{{name: a, expect: {expect}}}]")
    assert suite.ok, suite.diagnostics
    return unmet_expectations(suite.cases[0], Facts(**facts))


@pytest.mark.parametrize("expect", MET)
def test_what_is_met_says_nothing(expect):
    assert verdict(expect, FACTS) == []


@pytest.mark.parametrize("expect, column, message", UNMET)
def test_what_is_not_met_says_what_was_seen_at_its_place(expect, column, message):
    found = {one.column: one.message for one in verdict(expect, FACTS)}
    assert column in found, found
    assert message in found[column]


def test_a_failure_is_expected_by_its_error_and_a_part_of_the_message_is_enough():
    assert verdict("{error: {kind: http, message: busy, step: load}}", FAILED) == []
    assert verdict("{status: failed, error: {}}", FAILED) == []
    assert [one.message for one in verdict("{error: {message: gone, kind: 1}}", FAILED)] == [
        "error.message is \"503: busy\", expected gone",
        "error.kind is http, expected 1",
    ]  # fmt: skip


def test_a_failure_that_nobody_expects_says_why_at_the_name_of_the_test():
    (found,) = verdict("{}", FAILED)
    assert (found.message, found.column) == ("the execution is failed, expected completed: 503: busy", 16)


def test_long_values_are_shortened():
    (found,) = verdict("{output: 1}", {"status": "completed", "output": ["x" * 1000]})
    assert len(found.message) < 300
    assert "…" in found.message


def test_an_arc_is_named_by_its_ends():
    assert arc_name("a", "b") == "a -> b"
