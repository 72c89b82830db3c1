"""The router: which arcs are taken, what they write, what their tokens carry, and what fails."""

import pytest

TWO = "- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop}}\n"


def start(router, **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"- {{step: start, tool: {{kind: noop}}, next: {router}{extra}}}\n{TWO}"


@pytest.mark.parametrize(
    "mode, data, taken, asked",
    [
        ("exclusive", 3, ["a"], [True, False]),
        ("exclusive", 1, ["b"], [True, True]),
        ("exclusive", 0, [], [True, True]),
        ("inclusive", 3, ["a", "b"], [True, True]),
        ("inclusive", 1, ["b"], [True, True]),
    ],
)
def test_exclusive_takes_the_first_arc_that_holds_and_inclusive_every_one(begin, mode, data, taken, asked):
    arcs = "[{step: a, when: '{{ output.data > 2 }}'}, {step: b, when: '{{ output.data > 0 }}'}]"
    world = begin(start(f"{{spec: {{mode: {mode}}}, arcs: {arcs}}}"))
    world.done("start.1", data)
    record = world.data("next.evaluated", "start.1")
    assert record["taken"] == taken
    assert [arc.get("asked", True) for arc in record["arcs"]] == asked
    assert record["arcs"][0]["seen"] == {"output.data": data}
    assert world.live == [f"{name}.1" for name in taken]


def test_an_event_that_no_arc_takes_ends_its_branch(begin):
    world = begin(start("{arcs: [{step: a, when: false}]}"))
    world.done("start.1", "x")
    assert (world.state.status, world.state.output) == ("completed", "x")


def test_guards_are_evaluated_before_any_set_and_sets_apply_in_arc_order(begin):
    arcs = "[{step: a, set: {ctx.n: 1}}, {step: b, when: '{{ ctx.n is not defined }}', set: {ctx.n: '{{ ctx.n + 1 }}', ctx.m: '{{ n }}'}}]"
    world = begin(start(f"{{spec: {{mode: inclusive}}, arcs: {arcs}}}"))
    world.done("start.1")
    assert world.live == ["a.1", "b.1"]
    assert world.state.ctx == {"n": 2, "m": 1}


def test_args_of_an_arc_lie_over_those_of_the_token(begin):
    world = begin(
        "- {step: start, next: {arcs: [{step: a, args: {x: 1, y: 1}}]}}\n"
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b, args: {y: '{{ args.x + 1 }}'}}]}}\n"
        "- {step: b, tool: {kind: noop}}"
    )
    world.done("a.1")
    assert world.state.runs["b.1"].args == {"x": 1, "y": 2}


def test_args_that_were_put_aside_are_passed_on_whole(begin):
    big = "x" * 2000
    world = begin(
        f"- {{step: start, next: {{arcs: [{{step: a, args: {{big: {big}}}}}]}}}}\n"
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b, args: {y: 2}}]}}\n"
        "- {step: b, input: {n: '{{ args.big | length }}'}, tool: {kind: noop}}",
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
    )
    assert "$stored" in world.state.runs["a.1"].args
    world.done("a.1")
    assert world.state.runs["b.1"].input == {"n": 2000}
    assert world.hydrated[world.state.runs["b.1"].args["$stored"]["locator"]["key"]] == {"big": big, "y": 2}


def test_a_failure_that_no_arc_takes_fails_the_execution_at_once(begin):
    world = begin("- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n" + TWO)
    world.failed("a.1")
    assert world.state.status == "failed"
    assert world.state.error == {"kind": "boom", "message": "boom!", "step": "a"}
    assert world.data("step.failed", "b.1")["error"]["kind"] == "cancelled"
    assert world.named("next.evaluated", "b.1") == []


def test_on_failure_drain_lets_other_branches_finish(begin):
    world = begin(
        "- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n" + TWO,
        executor="executor: {spec: {on_failure: drain}}",
    )
    world.failed("a.1")
    assert (world.state.status, world.live) == ("running", ["b.1"])
    world.done("b.1", 1)
    assert (world.state.status, world.state.error["kind"], world.state.output) == ("failed", "boom", None)


ERROR = {"kind": "boom", "message": "boom!", "step": "start"}


@pytest.mark.parametrize("guard", ["", ", when: '{{ ctx.none is not defined }}'", ", when: true"])
def test_a_failure_that_an_arc_took_without_asking_fails_the_execution_in_the_end(begin, guard):
    world = begin(start(f"{{arcs: [{{step: a{guard}}}]}}"))
    world.failed("start.1")
    failure = {"step": "start", "error": ERROR, "taken_by": "a", "answered": False}
    assert (world.state.failures, world.live, world.state.status) == ([failure], ["a.1"], "running")
    world.done("a.1", 5)
    assert (world.state.status, world.state.error, world.state.output) == ("failed", ERROR, None)
    assert world.data("workflow.finished")["error"] == ERROR


@pytest.mark.parametrize(
    "guard", ["event.failed", "event.name == 'step.failed'", "output.status == 'error'", "start.error"]
)
def test_a_failure_that_an_arc_asked_about_is_answered(begin, guard):
    world = begin(start(f'{{arcs: [{{step: a, when: "{{{{ {guard} }}}}"}}]}}'))
    world.failed("start.1")
    assert world.state.failures == [{"step": "start", "error": ERROR, "taken_by": "a", "answered": True}]
    world.done("a.1", 5)
    assert (world.state.status, world.state.error, world.state.output) == ("completed", None, 5)


def test_of_several_arcs_that_take_a_failure_one_that_asks_answers_it(begin):
    arcs = "[{step: a}, {step: b, when: '{{ event.failed }}'}]"
    world = begin(start(f"{{spec: {{mode: inclusive}}, arcs: {arcs}}}"))
    world.failed("start.1")
    assert world.state.failures == [{"step": "start", "error": ERROR, "taken_by": "b", "answered": True}]
    world.done("a.1")
    world.done("b.1")
    assert world.state.status == "completed"


def test_the_first_failure_that_nothing_asked_about_is_the_error(begin):
    world = begin(
        "- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n"
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: c}]}}\n"
        "- {step: b, tool: {kind: noop}, next: {arcs: [{step: c}]}}\n"
        "- {step: c, tool: {kind: noop}}"
    )
    world.failed("b.1", "first")
    world.failed("a.1", "second")
    world.done("c.1")
    assert [item["step"] for item in world.state.failures] == ["b", "a"]
    assert (world.state.status, world.state.error["kind"]) == ("failed", "first")


def test_with_drain_the_first_failure_is_the_error_whether_an_arc_took_it_or_not(begin):
    world = begin(
        "- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}}\n"
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: d}]}}\n"
        "- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}\n- {step: d, tool: {kind: noop}}",
        executor="executor: {spec: {on_failure: drain}}",
    )
    world.failed("a.1", "first")
    world.failed("b.1", "second")
    world.failed("c.1", "third")
    world.done("d.1")
    assert (world.state.status, world.state.error["kind"]) == ("failed", "first")


@pytest.mark.parametrize(
    "report, ok, failed", [("done", True, False), ("failed", False, True)], ids=["done", "failed"]
)
def test_arcs_and_admission_read_whether_a_step_went_well(begin, report, ok, failed):
    gate = "spec: {policy: {admit: {rules: [{when: '{{ event.ok or event.failed }}', then: {allow: true}}]}}}"
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: "
        "[{step: well, when: '{{ event.ok }}'}, {step: ill, when: '{{ event.failed }}'}]}}\n"
        f"- {{step: well, tool: {{kind: noop}}, {gate}}}\n- {{step: ill, tool: {{kind: noop}}, {gate}}}"
    )
    getattr(world, report)("start.1")
    arcs = world.data("next.evaluated", "start.1")["arcs"]
    assert [arc["seen"] for arc in arcs] == [{"event.ok": ok}, {"event.failed": failed}]
    assert world.live == ["well.1" if ok else "ill.1"]


def test_the_first_token_came_of_no_step_that_went_well_or_failed(begin):
    gate = (
        "spec: {policy: {admit: {rules: [{when: '{{ event.ok or event.failed }}', then: {allow: false}}]}}}"
    )
    assert begin(f"- {{step: start, tool: {{kind: noop}}, {gate}}}").live == ["start.1"]


@pytest.mark.parametrize(
    "arc, kind, told",
    [
        ("{step: a, when: '{{ 1 / 0 }}'}", "template", "arc 0 of step run start.1"),
        (
            "{step: a, set: {ctx.x: '{{ output.data.none.x }}'}}",
            "template",
            "set of arc 0 of step run start.1",
        ),
        ("{step: a, set: {ctx.x_ref: '{{ output.data.x }}'}}", "reference", "ctx.x_ref ends in _ref"),
        ("{step: a, args: {x: '{{ output.data.none.x }}'}}", "template", "args of arc 0 of step run start.1"),
    ],
)
def test_an_arc_that_cannot_be_judged_fails_the_execution(begin, arc, kind, told):
    world = begin(start(f"{{arcs: [{arc}]}}"))
    world.done("start.1", {"x": 1})
    assert world.state.status == "failed"
    assert world.state.error["kind"] == kind
    assert world.state.error["step"] == "start"
    assert told in world.state.error["message"]


def test_the_data_of_the_event_travels_only_to_steps_that_read_it(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: reads}, {step: not_}, {step: routes}]}}
        - {step: reads, input: {x: "{{ event.data.output.data }}"}, tool: {kind: noop}}
        - {step: not_, tool: {kind: noop}}
        - {step: routes}
    """)
    world.done("start.1", 5)
    carried = {
        event.data["step"]: event.data["event"] for event in world.named("token.enqueued") if event.data
    }
    assert carried["reads"]["data"]["output"]["data"] == 5
    assert "data" not in carried["not_"]
    assert carried["routes"]["data"]["output"]["data"] == 5
    assert world.state.runs["reads.1"].input == {"x": 5}


def test_a_routing_step_passes_on_a_payload_that_was_put_aside_as_its_reference(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: through}]}}\n- {step: through}",
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
    )
    world.done("start.1", "x" * 1500)
    assert world.data("step.done", "through.1")["output"]["data"] is None
    assert world.state.output["type"] == "blob"


def test_a_small_payload_beside_its_reference_stays_in_the_token(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: through, when: '{{ output.ref is defined }}'}]}}\n- {step: through}"
    )
    world.done("start.1", "small")
    assert world.data("step.done", "through.1")["output"]["data"] == "small"


def test_an_arc_that_cannot_be_judged_after_a_failure_tells_of_the_failure_too(begin):
    world = begin(start("{arcs: [{step: a, when: '{{ output.data.n > 1 }}'}]}"))
    world.failed("start.1")
    assert world.state.status == "failed"
    assert "the step had failed: boom!" in world.state.error["message"]
