"""Loops: when writes of iterations can conflict, and which settings do something."""

import pytest

from tests.playbook_text import messages


def loop(spec: str, write: str, *, where: str = "set") -> str:
    rules = f"spec: {{policy: {{rules: [{{else: {{then: {{do: continue, set: {{{write}}}}}}}}}]}}}}"
    return f"""
workflow:
  - step: start
    loop: {{in: [1, 2], iterator: item, spec: {{{spec}}}}}
    tool: {{kind: noop, {f"set: {{{write}}}" if where == "set" else rules}}}
"""


@pytest.mark.parametrize("where", ["set", "rule"])
def test_parallel_iterations_that_write_what_they_computed_may_conflict(where):
    text = loop("mode: parallel", 'ctx.a: "{{ iter.item }}"', where=where)
    assert messages(text) == ["parallel iterations of step 'start' may write different values to ctx.a"]


@pytest.mark.parametrize(
    "spec, write",
    [
        ("mode: sequential", 'ctx.a: "{{ iter.item }}"'),
        ("mode: parallel", "ctx.a: 1"),
        ("mode: parallel", 'step.a: "{{ iter.item }}"'),
        ("mode: parallel", 'iter.a: "{{ iter.item }}"'),
        ("mode: parallel, policy: {reduce: {ctx.a: sum}}", 'ctx.a: "{{ iter.item }}"'),
        ("mode: parallel, policy: {reduce: {ctx.a: merge}}", 'ctx.a.deep: "{{ iter.item }}"'),
    ],
)
def test_writes_that_cannot_conflict_are_no_finding(spec, write):
    assert messages(loop(spec, write)) == []


def test_an_inner_parallel_loop_counts():
    text = """
workflow:
  - step: start
    loop: {in: [[1]], iterator: row, loop: {in: "{{ iter.row }}", iterator: cell, spec: {mode: parallel}}}
    tool: {kind: noop, set: {ctx.a: "{{ iter.cell }}"}}
"""
    assert messages(text) == ["parallel iterations of step 'start' may write different values to ctx.a"]


def test_the_set_of_the_step_itself_runs_once():
    text = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: item, spec: {mode: parallel}}
    tool: {kind: noop}
    set: {ctx.all: "{{ output.data }}"}
    next: {arcs: [{step: end, set: {ctx.n: "{{ output.loop.total }}"}}]}
  - {step: end, tool: {kind: noop}}
"""
    assert messages(text) == []


def test_blocks_that_call_one_another_are_followed_once():
    text = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: item, spec: {mode: parallel, policy: {reduce: {ctx.b: append}}}}
    tool: {kind: workbook, block: a}
workbook:
  a: {tool: {kind: workbook, block: b}}
  b: {tool: [{name: x, kind: noop, set: {ctx.b: "{{ ctx.seed }}", ctx.seed: "{{ 1 + 1 }}"}}, {name: y, kind: workbook, block: a}]}
"""
    assert messages(text, "parallel-ctx-write", "unused-reducer") == [
        "parallel iterations of step 'start' may write different values to ctx.seed through block 'b'"
    ]


def test_chunk_and_max_in_flight_do_something_where_they_are_used():
    text = loop("mode: parallel, max_in_flight: 5, chunk: 2, policy: {exec: distributed}", "iter.a: 1")
    assert messages(text) == []
