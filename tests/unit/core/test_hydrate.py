"""Payloads that were put aside, back where the step's own templates read them."""

import pytest

from noetl.core.event import Event
from noetl.core.hydrate import arriving_references, loop_references, outputs_of, report_references
from noetl.core.message import Report, Start, Tick
from noetl.core.output import externalise
from noetl.core.state import LoopState, Run, State, Token
from tests.unit.core.build import ENGINE, ID, compiled, marker_of, ok_of

READS = "- {step: start, tool: {kind: noop}, set: {ctx.n: '{{ %s }}'}}"


def put_aside(world, value, at_hand=True):
    ref, payload = externalise(ID, value)
    if at_hand:
        world.hydrated[payload.key] = value
    return ok_of(None, ref=ref)


@pytest.mark.parametrize("read", ["output.data.n", "output.n", 'output["data"].n'])
def test_a_payload_the_worker_put_aside_is_read_in_place(begin, read):
    world = begin(READS % read)
    output = put_aside(world, {"n": 3})
    world.report("start.1", world.event("step.done", "start.1", output=output), final=True)
    assert world.state.ctx == {"n": 3}


def test_a_payload_nobody_reads_is_not_needed(begin):
    world = begin(READS % "output.status")
    output = put_aside(world, {"n": 3}, at_hand=False)
    world.report("start.1", world.event("step.done", "start.1", output=output), final=True)
    assert world.state.ctx == {"n": "ok"}


def test_a_payload_over_max_hydrate_bytes_is_an_error_of_kind_limit(begin):
    world = begin(READS % "output.data.n", executor="executor: {spec: {limits: {max_hydrate_bytes: 5}}}")
    output = put_aside(world, {"n": 3}, at_hand=False)
    world.report("start.1", world.event("step.done", "start.1", output=output), final=True)
    assert world.state.error["kind"] == "limit"
    assert "kind: resolve" in world.state.error["message"]


def test_what_a_tool_stored_elsewhere_is_not_loaded(begin):
    world = begin(READS % "output.data")
    ref = {"type": "relational", "locator": {"table": "t"}, "auth_reference": None, "meta": {}}
    world.report("start.1", world.event("step.done", "start.1", output=ok_of(None, ref=ref)), final=True)
    assert world.state.ctx == {"n": None}


def a_ref(key="k", size=1):
    return {
        "type": "blob",
        "locator": {"store": "results", "key": key},
        "auth_reference": None,
        "meta": {"bytes": size},
    }


def test_what_deciding_on_a_report_reads_is_known_before():
    program = compiled("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: last}]}}
        - {step: last, input: {x: "{{ event.data.output.data }}"}, tool: {kind: noop}}
    """)
    report = Report("start.1", 1, "w", "b")
    report.events = [
        _event(
            "step.done",
            output={"status": "ok", "ref": a_ref("out")},
            writes=[[["ctx", "a"], marker_of("write")]],
        ),
        _event("step.done", output={"status": "ok", "ref": a_ref("huge", 10**9)}),
        _event("task.done", output={"status": "ok", "ref": a_ref("detail")}),
        _event("step.done"),
    ]
    report.frames = {"": {"sent": [[["ctx", "b"], marker_of("sent")]]}, "[0]": {}}
    found = [ref["locator"]["key"] for ref in report_references(program, report)]
    assert found == ["write", "sent", "out"]


def _event(name, **data):
    return Event(name, 0, "w", "start.1", data=data or None)


def test_an_output_that_no_other_step_reads_is_not_needed():
    program = compiled("- {step: start, tool: {kind: noop}}")
    report = Report("start.1", 1, "w", "b", [_event("step.done", output={"status": "ok", "ref": a_ref()})])
    assert list(report_references(program, report)) == []


@pytest.mark.parametrize(
    "step, read",
    [
        ("{step: last, set: {ctx.x: '{{ output.data }}'}}", True),
        ("{step: last, set: {ctx.x: '{{ output.status }}'}}", False),
        ("{step: last, input: {x: '{{ event.data.output.data }}'}, tool: {kind: noop}}", True),
        ("{step: last, tool: {kind: noop}, set: {ctx.x: '{{ output.data }}'}}", False),
    ],
)
def test_payloads_that_tokens_carry_to_steps_that_read_them_are_needed(step, read):
    program = compiled(f"- {{step: start, next: {{arcs: [{{step: last}}]}}}}\n- {step}")
    event = {"name": "step.done", "data": {"output": {"status": "ok", "data": None, "ref": a_ref()}}}
    state = State(ID, tokens={"t1": Token("t1", "last", event=event), "t2": Token("t2", "last")})
    assert list(arriving_references(program, state)) == ([a_ref()] if read else [])


@pytest.mark.parametrize(
    "collection, found",
    [
        ("'{{ workload.rows_ref }}'", ["workload"]),
        ("'{{ ctx.rows_ref }}'", ["ctx"]),
        ("'{{ load.ref }}'", ["load"]),
        ("'{{ bare_ref }}'", ["bare"]),
        ("'{{ rows_ref }}'", ["ctx"]),
        ("'{{ input.rows_ref }}'", ["load"]),
        ("[1, 2]", []),
    ],
)
def test_references_that_a_loop_may_run_over_are_known_before(collection, found):
    given = 'input: {rows_ref: "{{ load.ref }}"},' if "input." in collection else ""
    program = compiled(
        "- {step: load, tool: {kind: noop}, next: {arcs: [{step: start}]}}\n"
        f"- {{step: start, {given} loop: {{in: {collection}, iterator: x}}, tool: {{kind: noop}}}}"
    )
    state = State(ID, ctx={"rows_ref": a_ref("ctx")}, results={"load": ok_of(None, ref=a_ref("load"))})
    workload = {"rows_ref": a_ref("workload"), "bare_ref": a_ref("bare")}
    message = Start("p", "h", ENGINE, workload=workload)
    assert sorted(ref["locator"]["key"] for ref in loop_references(program, state, message)) == found
    state.workload = workload
    assert sorted(ref["locator"]["key"] for ref in loop_references(program, state, Tick())) == found


def test_references_that_a_report_makes_may_be_what_the_next_loop_runs_over():
    program = compiled("- {step: start, loop: {in: '{{ ctx.rows_ref }}', iterator: x}, tool: {kind: noop}}")
    events = [
        _event(
            "step.done",
            output={"ref": a_ref("out")},
            writes=[[["ctx", "rows_ref"], a_ref("write")], [["ctx", "n"], 1]],
        ),
        _event("task.started"),
    ]
    found = loop_references(program, State(ID), Report("start.1", 1, "w", "b", events))
    assert [ref["locator"]["key"] for ref in found] == ["out", "write"]


def test_the_outputs_of_a_run_are_those_of_its_iterations_and_of_the_report():
    report = Report(
        "r.1", 1, "w", "b", [Event("step.done", 1, data={"output": ok_of(1)}), Event("task.started", 1)]
    )
    assert outputs_of(Run("r.1", "r"), report) == [ok_of(1), {}]
    loop = LoopState(total=2, refs={"0": {"type": "blob"}}, parts={"1": ["key", 0]})
    found = outputs_of(Run("r.1", "r", loop=loop), Report("r.1", 1, "w", "b"))
    assert found == [{"ref": {"type": "blob"}}, {"part": ["key", 0]}]
