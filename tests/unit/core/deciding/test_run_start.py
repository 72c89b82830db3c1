"""The start of a step run: bounds, items, leases, and steps that the server completes itself."""

import pytest

from noetl.core.deciding.run_start import as_items
from noetl.core.program.evaluator import EvaluationError


@pytest.mark.parametrize(
    "value, items",
    [
        ([1, 2], [1, 2]),
        ((1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        ({"a": 1}, [{"key": "a", "value": 1}]),
        ([], []),
    ],
)
def test_lists_mappings_ranges_and_tuples_are_collections(value, items):
    assert as_items(value, "s") == items


@pytest.mark.parametrize("value, told", [("text", "str"), (None, "null"), (3, "int")])
def test_anything_else_is_an_error_that_names_its_type(value, told):
    with pytest.raises(EvaluationError, match=f"gave {told}") as caught:
        as_items(value, "s")
    assert caught.value.kind == "value"


def test_a_plain_step_gets_one_lease_in_its_pool(begin):
    world = begin("- {step: start, spec: {pool: gpu}, tool: {kind: noop}}")
    assert world.dispatched == ["start.1"]
    assert world.commands[0].pool == "gpu"
    assert world.data("step.scheduled")["lease"] == "start.1"


def test_a_step_without_tool_passes_on_the_output_it_came_with(begin):
    world = begin("- {step: start, tool: {kind: noop}, next: {arcs: [{step: through}]}}\n- {step: through}")
    world.done("start.1", 5)
    assert (world.state.status, world.state.output) == ("completed", 5)
    assert world.named("step.done", "through.1")[0].by == "s"


def test_an_entry_step_without_tool_ends_well(begin):
    assert begin("- {step: start}").state.status == "completed"


@pytest.mark.parametrize("where", ["", "spec: {policy: {exec: distributed}}"])
def test_a_loop_over_nothing_is_through_at_once(begin, where):
    world = begin(f"- {{step: start, loop: {{in: [], iterator: x, {where}}}, tool: {{kind: noop}}}}")
    assert world.data("loop.done")["output"]["loop"] == {"total": 0, "done": 0, "failed": 0, "skipped": 0}
    assert (world.state.status, world.state.output) == ("completed", [])


@pytest.mark.parametrize(
    "given, kind, told",
    [
        ("loop: {in: '{{ workload.text }}', iterator: x}", "value", "gave str"),
        ("loop: {in: '{{ workload.none.x }}', iterator: x}", "template", "loop of step run start.1"),
        ("loop: {in: [1], iterator: x, spec: {mode: parallel, max_in_flight: '{{ workload.text }}'}}", "value", "max_in_flight of a loop is 'text'"),
        ("loop: {in: [1], iterator: x, spec: {mode: parallel, max_in_flight: '{{ workload.zero }}'}}", "value", "at least 1"),
        ("loop: {in: [1], iterator: x, spec: {policy: {exec: distributed}, chunk: '{{ workload.zero }}'}}", "value", "chunk of a loop is 0"),
        ("spec: {timeout: '{{ workload.text }}'}", "template", "'text' is not a number of seconds"),
        ("spec: {timeout: '{{ workload.endless }}'}", "template", "is not a number of seconds"),
        ("spec: {policy: {lifecycle: {deadline_s: '{{ workload.none.x }}'}}}", "template", "spec of step run start.1"),
        ("input: {n: 1}, spec: {validate: {input: {required: [m]}}}", "validation", "input of step run start.1"),
        ("spec: {validate: {input: {required: [m]}}}", "validation", "input of step run start.1"),
    ],
)  # fmt: skip
def test_a_step_that_cannot_start_fails_before_it_starts(begin, given, kind, told):
    world = begin(
        f"- {{step: start, {given}, tool: {{kind: noop}}}}",
        workload="workload: {text: text, zero: 0, endless: inf}",
    )
    assert world.state.status == "failed"
    assert world.state.error["kind"] == kind
    assert told in world.state.error["message"]
    assert world.data("step.scheduled")["place"] == "schedule"
    assert world.dispatched == []


def test_the_timeout_runs_from_the_first_start_and_the_deadline_from_the_start_of_the_execution(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: last}]}}\n"
        "- {step: last, spec: {timeout: '{{ workload.t }}', policy: {lifecycle: {deadline_s: 60}}}, tool: {kind: noop}}",
        workload="workload: {t: 10}",
    )
    began = world.now
    world.now += 5_000
    world.done("start.1")
    run = world.state.runs["last.1"]
    assert (run.timeout_ms, run.timeout_at, run.deadline) == (10_000, None, began + 60_000)
    world.now += 5_000
    world.begun("last.1")
    assert world.state.runs["last.1"].timeout_at == began + 20_000


def test_a_templated_deadline_is_recorded_as_a_moment(begin):
    world = begin(
        "- {step: start, spec: {policy: {lifecycle: {deadline_s: '{{ workload.t }}'}}}, tool: {kind: noop}}",
        workload="workload: {t: 1.5}",
    )
    assert world.state.runs["start.1"].deadline == world.now + 1500


def test_the_bounds_of_a_loop_see_the_steps_input(begin):
    world = begin("""
        - step: start
          input: {n: 3, c: 5}
          loop: {in: "{{ range(9) }}", iterator: x, spec: {mode: parallel, max_in_flight: "{{ input.n }}", chunk: "{{ input.c }}", policy: {exec: distributed}}}
          tool: {kind: noop}
    """)
    assert world.data("loop.started") == {"total": 9, "max_in_flight": 3, "chunk": 5}


def test_a_loop_over_a_reference_runs_over_the_payload(world):
    it = world("- {step: start, loop: {in: '{{ workload.rows_ref }}', iterator: x}, tool: {kind: noop}}")
    ref = {"type": "blob", "locator": {"store": "results", "key": "k"}, "auth_reference": None, "meta": {}}
    it.hydrated["k"] = [1, 2, 3]
    it.start(workload={"rows_ref": ref})
    assert it.data("step.scheduled")["total"] == 3
    assert it.order("start.1").loop.items == [1, 2, 3]


def test_a_loop_over_a_reference_that_is_gone_fails_with_kind_reference(world):
    it = world("- {step: start, loop: {in: '{{ workload.rows_ref }}', iterator: x}, tool: {kind: noop}}")
    ref = {"type": "blob", "locator": {"store": "results", "key": "k"}, "auth_reference": None, "meta": {}}
    it.start(workload={"rows_ref": ref})
    assert it.state.error["kind"] == "reference"


def test_inputs_args_and_items_over_the_limit_are_stored_by_reference(begin):
    big = "x" * 1500
    world = begin(
        f"- {{step: start, next: {{arcs: [{{step: work, args: {{big: {big}}}}}]}}}}\n"
        "- {step: work, input: {copy: '{{ args.big }}'}, loop: {in: ['{{ args.big }}'], iterator: x}, tool: {kind: noop}}",
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
    )
    facts = world.data("step.scheduled", "work.1")
    assert all("$stored" in facts[part] for part in ("args", "input", "collection"))
    order = world.order("work.1")
    assert (order.args, order.input, order.loop.items) == ({"big": big}, {"copy": big}, [big])
