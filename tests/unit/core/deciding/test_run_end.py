"""The end of a step run: its output and set, the terminal event, references, what is kept for later steps."""

import json

import pytest

from tests.unit.core.build import error_of, ok_of

SMALL = "executor: {spec: {limits: {max_payload_bytes: 1000}}}"
BIG = "x" * 1500


def test_the_step_output_replaces_the_data_before_the_step_set(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, output: '{{ output.data.n + 1 }}', set: {ctx.n: '{{ output.data }}'}}"
    )
    world.done("start.1", {"n": 1})
    assert (world.state.output, world.state.ctx) == (2, {"n": 2})
    assert world.data("step.done")["set"] == [[["ctx", "n"], 2]]


@pytest.mark.parametrize(
    "broken, kind",
    [
        ("output: '{{ output.data.none.x }}'", "template"),
        ("set: {ctx.n: '{{ output.data.none.x }}', ctx.m: 1}", "template"),
        ("set: {ctx.n_ref: '{{ output.data.x }}'}", "reference"),
        ("spec: {validate: {output: {type: array}}}", "validation"),
    ],
)
def test_an_error_at_the_boundary_makes_the_run_fail_and_nothing_of_its_set_applies(begin, broken, kind):
    world = begin(f"- {{step: start, tool: {{kind: noop}}, {broken}}}")
    world.done("start.1", {"x": 1})
    assert world.data("step.failed", "start.1")["error"]["kind"] == kind
    assert world.state.status == "failed"
    assert world.state.ctx == {}


def test_a_loop_step_that_fails_at_its_boundary_keeps_its_counts(begin):
    world = begin("""
        - step: start
          loop: {in: [1], iterator: x}
          tool: {kind: noop}
          set: {ctx.n: "{{ output.data.none.x }}"}
    """)
    world.report("start.1", world.item("start.1", 0, 5), world.event("loop.done", "start.1"), final=True)
    output = world.data("step.failed")["output"]
    assert (output["data"], output["loop"]) == (None, {"total": 1, "done": 1, "failed": 0, "skipped": 0})


def test_on_a_failed_run_missing_entries_are_left_out_and_recorded(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, set: {ctx.n: "{{ output.data.n.m }}", ctx.k: "{{ output.error.kind }}"}, next: {arcs: [{step: last}]}}
        - {step: last, tool: {kind: noop}}
    """)
    world.failed("start.1")
    assert world.state.ctx == {"k": "boom"}
    assert world.data("step.failed")["left_out"] == ["ctx.n"]


def test_the_first_error_is_never_replaced_by_one_of_the_set(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, set: {ctx.k_ref: '{{ output.error.kind }}'}, next: {arcs: [{step: last}]}}\n- {step: last}"
    )
    world.failed("start.1")
    assert world.data("step.failed")["error"]["kind"] == "boom"
    assert world.data("step.failed")["left_out"] == ["ctx.k_ref"]


def test_a_step_scope_is_read_by_set_and_arcs_and_ends_with_the_run(begin):
    world = begin("""
        - step: start
          tool: {kind: noop}
          set: {step.m: "{{ step.n + 1 }}"}
          next: {arcs: [{step: last, when: "{{ step.m == 3 }}", set: {ctx.m: "{{ step.m + m }}"}}]}
        - {step: last, tool: {kind: noop}}
    """)
    world.done("start.1", None, step={"n": 2})
    assert world.state.ctx == {"m": 6}


def test_writes_of_the_run_come_before_its_set(begin):
    world = begin("- {step: start, tool: {kind: noop}, set: {ctx.b: '{{ ctx.a }}'}}")
    world.done("start.1", None, writes=[[["ctx", "a"], 1]])
    assert world.state.ctx == {"a": 1, "b": 1}
    assert [event.data["origin"] for event in world.named("ctx.patched")] == ["run", "set"]


@pytest.mark.parametrize(
    "executor, data, aside",
    [
        (SMALL, BIG, True),
        (SMALL, "small", False),
        (SMALL, None, False),
        (SMALL, 5, False),
        ("executor: {spec: {policy: {results: {reference_first: true}}}}", "small", True),
        ("executor: {spec: {policy: {results: {reference_first: true}}}}", True, False),
    ],
)
def test_a_payload_over_the_limit_is_put_aside_and_the_event_holds_its_reference(
    begin, executor, data, aside
):
    world = begin("- {step: start, tool: {kind: noop}}", executor=executor)
    world.done("start.1", data)
    output = world.data("step.done")["output"]
    assert ("ref" in output) == aside
    assert output["data"] == (None if aside else data)
    if aside:
        assert json.loads(world.payloads[output["ref"]["locator"]["key"]]) == data
        assert world.state.output == output["ref"]


def test_the_steps_own_templates_read_a_payload_that_was_put_aside(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, set: {ctx.n: '{{ output.data | length }}'}, next: {arcs: [{step: last, when: '{{ output.data | length == 1500 }}'}]}}\n"
        "- {step: last, tool: {kind: noop}}",
        executor=SMALL,
    )
    world.done("start.1", BIG)
    assert (world.state.ctx, world.live) == ({"n": 1500}, ["last.1"])


def test_a_reference_is_made_when_a_template_reads_it(begin):
    world = begin("- {step: start, tool: {kind: noop}, set: {ctx.rows_ref: '{{ output.ref }}'}}")
    world.done("start.1", [{"a": 1}, {"a": 2}])
    ref = world.state.ctx["rows_ref"]
    assert ref["meta"]["content_type"] == "application/x-ndjson"
    assert world.payloads[ref["locator"]["key"]] == b'{"a":1}\n{"a":2}'


def test_a_tools_own_reference_wins(begin):
    own = {"type": "relational", "locator": {"table": "t"}, "auth_reference": None, "meta": {}}
    world = begin("- {step: start, tool: {kind: noop}, set: {ctx.rows_ref: '{{ output.ref }}'}}")
    world.report(
        "start.1", world.event("step.done", "start.1", output=ok_of({"rows": 2}, ref=own)), final=True
    )
    assert world.state.ctx["rows_ref"] == own


def test_only_what_later_templates_name_is_kept(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: other}]}}
        - {step: other, tool: {kind: noop}, next: {arcs: [{step: last}]}}
        - {step: last, input: {n: "{{ start.data.n }}"}, tool: {kind: noop}}
    """)
    world.done("start.1", {"n": 1})
    world.done("other.1", {"n": 2})
    assert list(world.state.results) == ["start"]
    assert world.state.runs["last.1"].input == {"n": 1}


def test_results_of_tasks_that_other_steps_name_are_kept(begin):
    world = begin("""
        - {step: start, tool: [{name: one, kind: noop}], next: {arcs: [{step: last}]}}
        - {step: last, input: {n: "{{ start.results.one.data }}"}, tool: {kind: noop}}
    """)
    world.done("start.1", None, results={"one": ok_of(7)})
    assert world.state.runs["last.1"].input == {"n": 7}


def test_the_output_is_that_of_the_final_step_when_one_is_named(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: last}]}}\n- {step: last, tool: {kind: noop}}",
        executor="executor: {spec: {final_step: start}}",
    )
    world.done("start.1", "mine")
    world.done("last.1", "not mine")
    assert world.state.output == "mine"


def test_an_error_that_was_continued_ends_the_step_well(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    world.report(
        "start.1", world.event("step.done", "start.1", output=error_of(data={"body": 1})), final=True
    )
    assert (world.state.status, world.state.output) == ("completed", {"body": 1})


def test_an_event_carries_output_error_and_loop_to_the_arcs(begin):
    world = begin("""
        - step: start
          loop: {in: [1], iterator: x}
          tool: {kind: noop}
          next: {arcs: [{step: last, when: "{{ event.data.loop.done == 1 and not event.data.error }}"}]}
        - {step: last, tool: {kind: noop}}
    """)
    world.report("start.1", world.item("start.1", 0, 5), world.event("loop.done", "start.1"), final=True)
    assert world.live == ["last.1"]


def test_a_set_of_many_large_values_is_decided_again_as_it_was(begin):
    entries = ", ".join(f"ctx.n{index}: '{{{{ output.data }}}}'" for index in range(4))
    world = begin(f"- {{step: start, tool: {{kind: noop}}, set: {{{entries}}}}}", executor=SMALL)
    world.done("start.1", "x" * 900)
    assert len(world.state.ctx) == 4
