"""Dynamic nodes: a step's output becomes a piece of workflow that runs before the step's own arcs."""

import pytest

PLAN = """
- step: start
  tool: {kind: noop}
  spec: {synthesize: {from: "{{ output.data.plan }}"%s}}
  set: {step.mine: 1}
  next: {arcs: [{step: last, when: "{{ event.name == '%s' }}", set: {ctx.seen: "{{ output.data }}", ctx.of: "{{ event.step }}", ctx.mine: "{{ step.mine }}"}}]}
- {step: last, tool: {kind: noop}}
"""


def step(name, *arcs, **parts):
    return {
        "step": name,
        "tool": {"kind": "noop"},
        "next": {"arcs": [{"step": arc} for arc in arcs]},
        **parts,
    }


def plan(begin, limits="", event="step.done"):
    return begin(PLAN % (f", limits: {limits}" if limits else "", event))


def test_the_fragment_runs_and_then_the_origins_arcs_see_its_last_event(begin):
    world = plan(begin)
    world.done("start.1", {"plan": [step("one", "two"), step("two")]})
    assert world.live == ["start.1.one.1"]
    assert world.data("workflow.extended")["step"] == "start"
    assert world.named("next.evaluated", "start.1") == []
    world.done("start.1.one.1")
    assert world.live == ["start.1.two.1"]
    world.done("start.1.two.1", "end")
    assert world.live == ["last.1"]
    assert world.state.ctx == {"seen": "end", "of": "start.1.two", "mine": 1}
    assert world.state.fragments["start.1"].ended
    world.done("last.1")


@pytest.mark.parametrize("nothing", [[], None])
def test_an_empty_fragment_is_none(begin, nothing):
    world = plan(begin)
    world.done("start.1", {"plan": nothing})
    assert (world.live, world.state.fragments) == (["last.1"], {})


def test_a_fragment_whose_tokens_are_all_refused_ends_as_its_origin_did(begin):
    world = plan(begin)
    refused = {"policy": {"admit": {"rules": [{"when": "{{ false }}", "then": {"allow": True}}]}}}
    world.done("start.1", {"plan": [step("one", spec=refused)]})
    assert world.live == ["last.1"]
    assert world.state.ctx["seen"] is None


def test_a_failure_inside_that_no_arc_takes_fails_the_execution(begin):
    world = plan(begin)
    world.done("start.1", {"plan": [step("one")]})
    world.failed("start.1.one.1")
    assert (world.state.status, world.state.error["step"]) == ("failed", "start.1.one")


def test_each_run_of_the_origin_has_its_own_fragment(begin):
    world = begin("""
        - step: start
          tool: {kind: noop}
          spec: {synthesize: {from: "{{ output.data }}"}}
          next: {arcs: [{step: start, when: "{{ output.data == 'again' }}"}]}
    """)
    world.done("start.1", [step("one")])
    world.done("start.1.one.1", "again")
    world.done("start.2", [step("one")])
    assert world.live == ["start.2.one.1"]
    world.done("start.2.one.1", "over")
    assert world.state.status == "completed"


def test_a_fragment_inside_a_fragment_ends_first(begin):
    world = plan(begin)
    inner = step("one", spec={"synthesize": {"from": "{{ output.data }}"}})
    world.done("start.1", {"plan": [inner]})
    world.done("start.1.one.1", [step("deep")])
    assert world.live == ["start.1.one.1.deep.1"]
    world.done("start.1.one.1.deep.1", "deep")
    assert world.live == ["last.1"]
    assert world.state.ctx["seen"] == "deep"


def test_args_and_input_of_the_origin_are_there_for_its_arcs(begin):
    world = begin("""
        - {step: start, next: {arcs: [{step: plan, args: {a: 1}}]}}
        - step: plan
          input: {i: "{{ args.a + 1 }}"}
          tool: {kind: noop}
          spec: {synthesize: {from: "{{ output.data }}"}}
          next: {arcs: [{step: last, args: {b: "{{ input.i + args.a }}"}}]}
        - {step: last, tool: {kind: noop}}
    """)
    world.done("plan.1", [step("one")])
    assert world.state.runs["plan.1.one.1"].args == {"a": 1}
    world.done("plan.1.one.1")
    assert world.state.runs["last.1"].args == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    "data, limits, told",
    [
        ({"plan": "text"}, "", "a fragment is a list of steps, not str"),
        ({"plan": [step("one"), step("two")]}, "{max_steps: 1}", "the fragment has 2 steps; at most 1 are allowed"),
        ({"plan": [{"step": "one", "tool": {"kind": "shell", "input": {"command": "ls"}}}]}, "{kinds: [noop]}", "kind 'shell' is not among limits.kinds: noop"),
        ({"plan": [step("one", "nowhere")]}, "", "nowhere"),
        ({"plan": ["text"]}, "", "is not valid"),
        ({}, "", "plan"),
    ],
)  # fmt: skip
def test_an_invalid_fragment_fails_the_step_with_kind_synthesis(begin, data, limits, told):
    world = plan(begin, limits, "step.failed")
    world.done("start.1", data)
    error = world.data("step.failed")["error"]
    assert error["kind"] == "synthesis"
    assert told in error["message"]
    assert world.live == ["last.1"]


def test_a_step_without_tools_can_synthesise_too_and_is_decided_again_as_it_was(begin):
    for output, live in (([step("one")], ["plan.1.one.1"]), ([], []), ("text", [])):
        world = begin("""
            - {step: start, tool: {kind: noop}, next: {arcs: [{step: plan}]}}
            - {step: plan, spec: {synthesize: {from: "{{ output.data }}"}}, next: {arcs: [{step: last, when: "{{ false }}"}]}}
            - {step: last}
        """)
        world.done("start.1", output)
        assert world.live == live


REFUSING = {"policy": {"admit": {"rules": [{"when": "{{ false }}", "then": {"allow": True}}]}}}


@pytest.mark.parametrize(
    "guard, answered, status", [({}, False, "failed"), ({"when": "{{ event.failed }}"}, True, "completed")]
)
def test_a_failure_inside_a_fragment_is_answered_by_the_arc_inside_that_took_it(
    begin, guard, answered, status
):
    world = begin("""
        - {step: start, tool: {kind: noop}, spec: {synthesize: {from: "{{ output.data.plan }}"}}, next: {arcs: [{step: last}]}}
        - {step: last, tool: {kind: noop}}
    """)
    arcs = {"arcs": [{"step": "two", **guard}]}
    world.done("start.1", {"plan": [step("one", next=arcs), step("two", spec=REFUSING)]})
    world.failed("start.1.one.1")
    assert world.live == ["last.1"]  # the origin's arc has the last event of the fragment, the failure
    world.done("last.1")
    assert [(one["step"], one["answered"]) for one in world.state.failures] == [("start.1.one", answered)]
    assert world.state.status == status


def test_a_failed_step_synthesises_nothing(begin):
    world = plan(begin, event="step.failed")
    world.failed("start.1")
    assert (world.live, world.state.fragments) == (["last.1"], {})


def test_a_fragment_may_be_written_as_a_document_has_it(begin):
    world = plan(begin)
    world.done("start.1", {"plan": {"workflow": [step("one")]}})
    assert world.live == ["start.1.one.1"]
