"""Bare names and results read by name."""

import pytest

from noetl.dsl.rules.name_resolution import STEP, TASK
from tests.playbook_text import loaded, messages


def book(value: str, *, mode: str = "exclusive") -> str:
    return f"""
workload: {{url: x, load: 1}}
workflow:
  - {{step: start, tool: {{kind: noop, set: {{ctx.page: 1}}}}, next: {{spec: {{mode: {mode}}}, arcs: [{{step: mid}}, {{step: side, when: "{{{{ ctx.page }}}}"}}]}}}}
  - step: mid
    input: {{size: 3}}
    loop: {{in: [1], iterator: item}}
    tool:
      - {{name: fetch, kind: noop, set: {{step.n: 1, iter.k: 2}}}}
      - {{name: use, kind: python, input: {{code: "result = x", x: "{{{{ {value} }}}}"}}}}
    next: {{arcs: [{{step: load}}]}}
  - {{step: load, tool: {{kind: noop}}}}
  - {{step: side, tool: {{kind: noop}}}}
"""


@pytest.mark.parametrize(
    "name, full",
    [
        ("item", "iter.item"),
        ("size", "input.size"),
        ("page", "ctx.page"),
        ("n", "step.n"),
        ("k", "iter.k"),
        ("url", "workload.url"),
    ],
)
def test_a_bare_name_is_named_in_full(name, full):
    assert messages(book(name), "prefer-full-name", "undefined-name") == [f"'{name}' is {full} here"]


def test_results_are_read_by_bare_names():
    assert messages(book("fetch.data"), "prefer-full-name", "undefined-name", "shadowed-name") == []
    assert messages(book("start.data"), "prefer-full-name", "undefined-name", "shadowed-name") == []


def test_a_name_that_hides_a_step_is_a_trap():
    assert messages(book("load.data"), "shadowed-name", "prefer-full-name", "read-too-early") == [
        "'load.data' in a task's input means workload.load, not a step of that name"
    ]


def test_a_step_that_cannot_have_run_is_reported_only_without_parallel_branches():
    exclusive = book("side.data").replace(
        "{step: mid}, {step: side", '{step: mid, when: "{{ ctx.page }}"}, {step: side'
    )
    assert messages(exclusive, "read-too-early") == [
        "'side.data' is read in a task's input, but no path leads here from that step"
    ]
    assert messages(book("side.data", mode="inclusive"), "read-too-early") == []


def test_a_cycle_lets_a_step_read_its_last_run():
    text = """
workflow:
  - step: start
    input: {last: "{{ start.data }}"}
    tool: {kind: noop}
    next: {arcs: [{step: start, when: "{{ output.data }}"}]}
"""
    assert messages(text, "read-too-early") == []


@pytest.mark.parametrize(
    "value, full",
    [
        ("fetch.count", "fetch.data.count"),
        ("output.rows[0].id", "output.data.rows.0.id"),
        ("start.total", "start.data.total"),
        ("fetch.results", "fetch.data.results"),
    ],
)
def test_a_field_of_the_payload_is_written_through_data(value, full):
    (finding,) = [f for f in loaded(book(value)).diagnostics if f.code == "fall-through-field"]
    assert finding.hint == f"write {full}"


@pytest.mark.parametrize(
    "value",
    ["fetch.data.count", "fetch.status", "fetch.http.status", "start.results.x", "output.loop", "start.ref"],
)
def test_a_field_of_the_output_is_none_of_the_payload(value):
    assert messages(book(value), "fall-through-field") == []


@pytest.mark.parametrize(
    "value",
    [
        "output.data.status == 'success'",
        "item.status == 'success'",
        "fetch.status == 'ok'",
        "output.status != ctx.page",
    ],
)
def test_only_the_status_of_an_output_is_ok_or_error(value):
    assert messages(book(value), "unknown-status") == []


@pytest.mark.parametrize(
    "value", ["output.status == 'success'", "'done' == fetch.status", "start.status in ['ok', 'failed']"]
)
def test_a_status_is_never_another_word(value):
    assert len(messages(book(value), "unknown-status")) == 1


def test_a_name_nothing_defines_gets_the_nearest_name():
    hints = {f.hint for f in loaded(book("itm")).diagnostics if f.code == "undefined-name"}
    assert hints == {"did you mean 'item'?"}
    hints = {f.hint for f in loaded(book("zzzzz")).diagnostics if f.code == "undefined-name"}
    assert hints == {"if the request brings it, write workload.zzzzz"}


def test_a_bare_name_may_come_with_the_token():
    text = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: b, args: {got: 1}}]}}
  - {step: b, input: {x: "{{ got }}"}, tool: {kind: noop}}
"""
    assert messages(text, "prefer-full-name", "undefined-name") == ["'got' is args.got here"]


def test_a_task_inside_sugar_is_read_outside_by_its_item():
    text = """
workload: {x: 1}
workflow:
  - step: start
    tool:
      - name: pick
        choose: [{when: "{{ workload.x }}", then: [{name: one, kind: noop}]}]
      - {name: use, kind: python, input: {code: "result = x", x: "{{ one.data }}"}}
"""
    (finding,) = loaded(text).diagnostics
    assert finding.code == "undefined-name"
    assert finding.hint == "'one' is a task inside 'pick', whose result is read as pick.data"


def test_a_step_no_token_comes_to_is_not_reported_for_what_it_reads():
    text = """
workflow:
  - {step: start, tool: {kind: noop}}
  - {step: lost, input: {x: "{{ start.data }}"}, tool: {kind: noop}}
"""
    assert messages(text, "read-too-early") == []


def test_the_executor_reads_neither_steps_nor_tasks():
    text = """
executor: {spec: {http: {timeout: "{{ start.data }}"}}}
workflow:
  - {step: start, tool: {kind: noop}}
"""
    assert messages(text, "undefined-name") == [
        "'start' is read in executor.spec, but nothing there defines it"
    ]


def test_a_name_that_only_another_place_defines_is_not_offered_in_place_of_itself():
    text = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: x, path: x}
workflow:
  - {step: start, tool: {kind: noop, input: {x: "{{ a }}"}}, next: {arcs: [{step: other}]}}
  - {step: other, tool: [{name: a, kind: noop}, {kind: noop, input: {x: "{{ a.data }}"}}]}
"""
    hints = {f.hint for f in loaded(text).diagnostics if f.code == "undefined-name"}
    assert hints == {"'a' has a meaning elsewhere in the playbook, not here: hand it over as input"}


TRIGGERED = """
workflow:
  - {{step: {step}, tool: {{name: {task}, kind: noop}}, next: {{arcs: [{{step: use}}]}}}}
  - {{step: use, tool: [{{name: {task}, kind: noop}}, {{kind: noop, input: {{x: "{{{{ {read} }}}}"}}}}]}}
"""


@pytest.mark.parametrize(
    "step, task, read, hides",
    [
        ("trigger", "t", "trigger.tick", STEP),
        ("s", "trigger", "trigger.payload.id", TASK),
        ("trigger", "t", "trigger.data", None),
        ("trigger", "t", "trigger.status", None),
        ("s", "t", "trigger.tick", None),
    ],
)
def test_a_step_or_task_that_hides_what_started_the_execution_is_told(step, task, read, hides):
    told = messages(TRIGGERED.format(step=step, task=task, read=read), "shadowed-name")
    assert (
        told == []
        if hides is None
        else told[0].endswith(f"means {hides} of that name, not what started the execution")
    )
