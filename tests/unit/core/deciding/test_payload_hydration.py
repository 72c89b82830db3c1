"""Payloads that were put aside, back where the step's own templates read them."""

from typing import Any

import pytest

from noetl.core.deciding.payload_hydration import (
    DecisionReads,
    ahead,
    arriving_references,
    loop_references,
    may_read_payloads,
    outputs_of,
    report_references,
    result_references,
)
from noetl.core.event import Event
from noetl.core.message import Report, Start, Tick
from noetl.core.shapes import ArcEvent, Retained
from noetl.core.state import Fragment, Lease, LoopState, Run, State, Token
from noetl.core.values.output import externalise
from noetl.core.values.payload_demand import UnreadablePayload
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


def test_what_a_report_writes_is_known_before():
    report = Report("start.1", 1, "w", "b")
    report.events = [_event("step.done", writes=[[["ctx", "a"], marker_of("write")]]), _event("step.done")]
    report.frames = {"": {"sent": [[["ctx", "b"], marker_of("sent")]]}, "[0]": {}}
    assert [ref["locator"]["key"] for ref in report_references(report)] == ["write", "sent"]


def _event(name, **data):
    return Event(name, 0, "w", "start.1", data=data or None)


def away(key, size=1, **more):
    return ok_of(None, ref=a_ref(key, size), **more)


CHAIN = """
- {step: start, tool: {kind: noop}, set: {ctx.s: '{{ one.data }}'}, next: {arcs: [{step: next, when: '{{ two.n == 1 }}'}]}}
- {step: next, input: {x: '{{ three.data }}'}, tool: {kind: noop}, next: {arcs: [{step: far}]}}
- {step: far, tool: {kind: noop, output: '{{ worker.data }}'}, next: {arcs: [{step: later}]}}
- {step: later, input: {x: '{{ four.data }}', y: '{{ one.status }}'}, tool: {kind: noop}, next: {arcs: [{step: one}]}}
""" + "".join(
    f"- {{step: {name}, tool: {{kind: noop}}}}\n" for name in ("one", "two", "three", "four", "worker")
)


def asked(program, state, message, at_hand=()):
    found = result_references(program, state, message, dict.fromkeys(at_hand))
    return sorted((owner, ref["locator"]["key"]) for owner, ref in found)


def running(step, **parts):
    names = ("one", "two", "three", "four", "worker")
    state = State(ID, results={name: away(f"k{name}") for name in names}, **parts)
    state.runs[f"{step}.1"] = Run(f"{step}.1", step)
    state.leases[f"{step}.1"] = Lease(f"{step}.1", f"{step}.1")
    return state


def test_a_decision_needs_what_templates_read_as_far_as_it_can_go():
    program, state = compiled(CHAIN), running("start")
    ends = Report("start.1", 1, "w", "b", [_event("step.done", output=ok_of(1))], final=True)
    # `next` may fail before it starts, so `far` may be reached; it has nothing that could end it at once.
    assert asked(program, state, ends) == [("one", "kone"), ("three", "kthree"), ("two", "ktwo")]
    assert asked(program, state, ends, ["kone", "ktwo"]) == [("three", "kthree")]
    assert asked(program, state, Report("start.1", 1, "w", "b", [_event("task.done")])) == []
    assert asked(program, state, Report("none", 1, "w", "b", final=True)) == []
    assert asked(program, state, Tick()) == [("one", "kone"), ("three", "kthree"), ("two", "ktwo")]
    assert asked(program, running("far"), Tick()) == [("four", "kfour")]
    assert asked(program, running("far"), Tick(), ["kfour"]) == []


def test_tokens_on_their_way_need_what_their_steps_read():
    state = State(ID, results={"four": away("kfour")}, tokens={"t1": Token("t1", "later")})
    assert asked(compiled(CHAIN), state, Tick()) == [("four", "kfour")]


def test_a_retry_needs_what_it_keeps():
    kept: Retained = {"state": {"results": {"four": away("kfour")}}, "tokens": [{"step": "later"}]}
    message = Start("p", "h", ENGINE, kept=kept)
    assert asked(compiled(CHAIN), State(ID), message) == [("four", "kfour")]
    assert asked(compiled(CHAIN), State(ID), Start("p", "h", ENGINE)) == []


def test_a_step_that_just_ended_may_be_read_by_what_follows_it():
    program = compiled("""
        - {step: start, tool: [{name: a, kind: noop}], next: {arcs: [{step: last}]}}
        - {step: last, input: {x: "{{ start.results.a.data }}", y: "{{ start.n }}"}, tool: {kind: noop}}
    """)
    event = _event("step.done", output=away("out"), results={"a": away("task")})
    state = State(
        ID, runs={"start.1": Run("start.1", "start")}, leases={"start.1": Lease("start.1", "start.1")}
    )
    report = Report("start.1", 1, "w", "b", [event, _event("step.done")], final=True)
    assert asked(program, state, report) == [("start", "out"), ("start.results.a", "task")]
    assert asked(program, state, report, ["out"]) == [("start.results.a", "task")]


def test_the_tasks_of_a_step_that_just_ended_may_be_read_by_its_own_set():
    program = compiled(
        "- {step: start, tool: [{name: a, kind: noop}], set: {ctx.n: '{{ a.n }}', ctx.m: '{{ start.n }}'}}"
    )
    event = _event("step.done", output=away("out"), results={"a": away("task")})
    state = State(
        ID, runs={"start.1": Run("start.1", "start")}, leases={"start.1": Lease("start.1", "start.1")}
    )
    report = Report("start.1", 1, "w", "b", [event], final=True)
    assert {key for _, key in asked(program, state, report)} == {"out", "task"}


def test_nothing_is_needed_where_no_template_of_the_server_reads_a_step():
    program = compiled(
        "- {step: start, tool: {kind: noop, output: '{{ other.data }}'}}\n- {step: other, tool: {kind: noop}}"
    )
    assert asked(program, running("start"), Tick()) == []


def test_a_fragment_that_is_yet_to_be_made_may_read_anything():
    program = compiled("""
        - {step: one, tool: {kind: noop}, next: {arcs: [{step: start}]}}
        - {step: start, tool: {kind: noop}, spec: {synthesize: {from: "{{ output.data }}"}}}
    """)
    state = State(ID, results={"one": away("kone", results={"a": away("ka")})})
    state.runs["start.1"], state.leases["start.1"] = Run("start.1", "start"), Lease("start.1", "start.1")
    assert asked(program, state, Tick()) == [("one", "kone"), ("one.results.a", "ka")]
    assert program.steps["one"].read_later
    found = ahead(program, state, Tick())
    assert found is not None
    assert found.reads_output_of("start")


def test_steps_of_a_fragment_are_known_by_the_names_their_author_wrote():
    program = compiled(CHAIN)
    state = running("far", fragments={"far.1": Fragment("far.1", "far", run={"fragment": None})})
    state.results = {"far.1.four": away("inside"), "far.1.none": away("other")}
    assert asked(program, state, Tick()) == [("far.1.four", "inside")]


@pytest.mark.parametrize(
    "read, needed",
    [
        ("{set: {ctx.x: '{{ output.data }}'}}", True),
        ("{set: {ctx.x: '{{ output.status }}'}}", False),
        ("{next: {arcs: [{step: last, when: '{{ event.data.output.data == 1 }}'}]}}", True),
        ("{next: {arcs: [{step: last, when: '{{ start.data == 1 }}'}]}}", True),
        ("{next: {arcs: [{step: last, when: '{{ start.status == 1 }}'}]}}", False),
    ],
)
def test_whether_the_own_output_is_read_in_the_decision_that_ends_a_step(read, needed):
    program = compiled(
        "- {step: start, tool: {kind: noop}, " + read[1:] + "\n- {step: last, tool: {kind: noop}}"
    )
    found = DecisionReads.of(program, ["start"], [])
    assert found.reads_output_of("start") is needed


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
    event: ArcEvent = {
        "name": "step.done",
        "data": {"output": {"status": "ok", "data": None, "ref": a_ref()}},
    }
    state = State(ID, tokens={"t1": Token("t1", "last", event=event), "t2": Token("t2", "last")})
    assert list(arriving_references(program, state, Tick())) == ([a_ref()] if read else [])
    kept = Start("p", "h", ENGINE, kept={"state": {}, "tokens": [{"step": "last", "event": event}]})
    assert list(arriving_references(program, State(ID), kept)) == ([a_ref()] if read else [])


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
            output=away("out"),
            writes=[[["ctx", "rows_ref"], a_ref("write")], [["ctx", "n"], 1]],
        ),
        _event("task.started"),
    ]
    found = loop_references(program, State(ID), Report("start.1", 1, "w", "b", events))
    assert [ref["locator"]["key"] for ref in found] == ["out", "write"]


def test_an_event_that_is_malformed_names_nothing_and_the_others_do():
    program = compiled("- {step: start, loop: {in: '{{ ctx.rows_ref }}', iterator: x}, tool: {kind: noop}}")
    wrong = _event("step.failed", output={"status": "?", "ref": a_ref("bad")}, writes=5)
    odd = {**a_ref("odd"), "locator": "odd"}
    right = _event("step.done", output=away("out"), writes=[[["ctx", "a_ref"], odd]])
    report = Report("start.1", 1, "w", "b", [wrong, _event("task.started", output=[1], results={}), right])
    found = loop_references(program, State(ID), report)
    assert [ref["locator"]["key"] for ref in found] == ["out"]
    assert outputs_of(Run("start.1", "start"), report) == ([a_ref("out")], [])


def test_the_output_of_a_run_is_the_one_reported_or_those_of_its_iterations():
    ends = Report(
        "r.1", 1, "w", "b", [_event("step.done", output=away("out")), _event("task.done", output=away("t"))]
    )
    assert outputs_of(Run("r.1", "r"), ends) == ([a_ref("out")], [])
    loop = LoopState(total=4, refs={"0": a_ref("a")}, parts={"1": ["pack", 0], "2": ["pack", 1]})
    more = _event("loop.iteration.done", output={"status": "ok", "part": ["last", 0]})
    large = _event("loop.iteration.done", output={"status": "ok", "ref": a_ref("b")})
    run = Run("r.1", "r", loop=loop)
    assert outputs_of(run, Report("r.1", 1, "w", "b", [more, large])) == ([], [])  # others are on their way
    found = outputs_of(run, Report("r.1", 1, "w", "b", [more, large, _event("loop.done")]))
    assert found == ([a_ref("b"), a_ref("a")], ["last", "pack"])


@pytest.mark.parametrize("payload", [None, UnreadablePayload("limit", "too much")])
def test_an_output_that_could_not_be_had_is_an_error_of_the_step(begin, payload):
    world = begin(READS % "output.data.n")
    output = put_aside(world, {"n": 3}, at_hand=False)
    if payload is not None:
        world.hydrated[output["ref"]["locator"]["key"]] = payload
    world.report("start.1", world.event("step.done", "start.1", output=output), final=True)
    kind, told = (
        ("limit", "output.data: too much") if payload else ("reference", "output.data: the payload e1/")
    )
    assert (world.state.error["kind"], told in world.state.error["message"]) == (kind, True)


PLAIN = "- {step: start, tool: {kind: noop}}"
LOOPS = "- {step: start, loop: {in: '{{ workload.items }}', iterator: i}, tool: {kind: noop}}"
NAMES = "- {step: start, tool: {kind: noop}, next: {arcs: [{step: end}]}}\n- {step: end, input: {x: '{{ start.data }}'}, tool: {kind: noop}}"
KEPT: Retained = {"tokens": [], "state": {}}


def _found(program, state, message):
    """Everything that would be looked up in the result store before a decision."""
    found: list[Any] = [*loop_references(program, state, message)]
    found += arriving_references(program, state, message)
    if isinstance(message, Report):
        found += report_references(message)
        lease = state.leases.get(message.lease)
        if lease is not None:
            refs, packs = outputs_of(state.runs[lease.run], message)
            found += [*refs, *packs]
    return [*found, *result_references(program, state, message, {})]


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        ({}, False),
        ({"output": ok_of(1)}, False),
        ({"output": "malformed"}, False),
        ({"output": ok_of(None, ref=a_ref())}, True),
        ({"output": {"status": "ok", "part": ["k", 0]}}, True),
        ({"output": ok_of(1), "results": {"one": ok_of(None, ref=a_ref())}}, False),
        ({"output": ok_of(1), "writes": [[["ctx", "a"], marker_of("write")]]}, True),
        ({"output": ok_of(1), "step": {"a": marker_of("write")}}, True),
    ],
)
def test_a_report_is_looked_into_only_when_something_in_it_may_rest_elsewhere(data, looks):
    program, state = compiled(PLAIN), State(ID, leases={"start.1": Lease("start.1", "start.1")})
    state.runs["start.1"] = Run("start.1", "start")
    report = Report("start.1", 1, "w", "b", [_event("task.started"), _event("step.done", **data)], final=True)
    assert may_read_payloads(program, state, report) is looks
    assert bool(_found(program, state, report)) is looks


@pytest.mark.parametrize(
    ("workflow", "message", "looks"),
    [
        (PLAIN, Start("x", "h", ENGINE), False),
        (PLAIN, Start("x", "h", ENGINE, kept=KEPT), True),
        (LOOPS, Start("x", "h", ENGINE, workload={"items": a_ref()}), True),
        (LOOPS, Report("start.1", 1, "w", "b"), True),
        (NAMES, Report("start.1", 1, "w", "b"), True),
        (PLAIN, Report("start.1", 1, "w", "b"), False),
        (PLAIN, Report("start.1", 1, "w", "b", frames={"": {}}), True),
        (PLAIN, Tick(), True),
    ],
)
def test_what_a_program_may_read_elsewhere_is_looked_for(workflow, message, looks):
    program, state = compiled(workflow), State(ID)
    assert may_read_payloads(program, state, message) is looks
    assert looks or not _found(program, state, message)


def test_tokens_and_iterations_that_brought_references_are_looked_at():
    program, state, report = compiled(PLAIN), State(ID), Report("start.1", 1, "w", "b")
    state.tokens["t1"] = Token("t1", "start")
    assert may_read_payloads(program, state, report)
    state.tokens.clear()
    loop = LoopState(2, bytearray(b"pp"))
    state.leases["start.1"], state.runs["start.1"] = Lease("start.1", "start.1"), Run("start.1", "start")
    state.runs["start.1"].loop = loop
    assert not may_read_payloads(program, state, report)
    loop.refs["0"] = a_ref()
    assert may_read_payloads(program, state, report)
