"""Tokens on the move: join, input, admission, schedule, in this order; the end when none is left."""

from noetl.core.message import Tick


def test_input_is_rendered_before_admission_and_an_error_in_it_is_the_steps(begin):
    world = begin("""
        - step: start
          input: {x: "{{ ctx.missing.x }}"}
          spec: {policy: {admit: {rules: [{when: "{{ false }}", then: {allow: true}}]}}}
          tool: {kind: noop}
          next: {arcs: [{step: rescue, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: rescue, tool: {kind: noop}}
    """)
    assert world.data("step.failed", "start.1")["error"]["kind"] == "template"
    assert world.data("step.scheduled", "start.1")["place"] == "input"
    assert world.live == ["rescue.1"]


def test_a_static_input_needs_no_rendering(begin):
    world = begin("- {step: start, input: {x: 1}, tool: {kind: noop}}")
    assert world.data("step.scheduled", "start.1")["input"] == {"x": 1}


def test_the_execution_stops_before_the_step_it_was_to_run_until(world):
    it = world("- {step: start, next: {arcs: [{step: last}]}}\n- {step: last, tool: {kind: noop}}")
    it.start(until="last")
    assert it.state.status == "paused"
    assert it.data("execution.paused")["why"] == "--until last reached"
    it.control("resume")
    assert it.live == ["last.1"]


def test_joined_tokens_merge_their_args_in_arrival_order(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet, args: {x: a, y: a}}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet, args: {x: b}}]}}
        - {step: meet, tool: {kind: noop}}
    """)
    world.done("b.1")
    world.done("a.1")
    assert world.data("step.scheduled", "meet.1")["args"] == {"x": "a", "y": "a"}
    assert world.data("step.scheduled", "meet.1")["event"]["step"] == "a"


def test_nothing_moves_while_the_execution_is_paused(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, tool: {kind: noop}}
    """)
    world.control("pause")
    world.done("a.1")
    world.done("b.1")
    assert (world.live, len(world.state.tokens)) == ([], 2)
    world.send(Tick())
    assert world.live == []
    world.control("resume")
    assert world.live == ["meet.1"]


def test_one_template_gives_the_input_of_a_step_and_must_give_a_mapping(begin):
    text = """
        - {step: start, input: "{{ workload.given }}", tool: {kind: noop}}
    """
    world = begin(text, workload="workload: {given: {x: 1}}")
    assert world.data("step.scheduled", "start.1")["input"] == {"x": 1}
    world = begin(text, workload="workload: {given: [1]}")
    error = world.data("step.failed", "start.1")["error"]
    assert (error["kind"], "gives a list of 1" in error["message"]) == ("template", True)
