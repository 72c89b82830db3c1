"""How an execution ends, and who is told."""

import pytest

from noetl.core.message import ChildEnded, Recall, TellParent

TWO = "- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop}}"


def test_the_workflow_ends_when_nothing_is_left_and_says_how_much_there_was(begin):
    world = begin(TWO)
    world.now += 50
    world.done("a.1", 1)
    assert world.named("workflow.finished") == []
    world.done("b.1", 2)
    assert world.data("workflow.finished") == {
        "status": "completed", "output": 2, "duration_ms": 50,
        "counts": {"steps": 3, "tasks": 0, "iterations": 0, "failed_iterations": 0},
    }  # fmt: skip
    assert world.data("playbook.processed") == {"status": "completed"}


@pytest.mark.parametrize("waits, told", [(True, 1), (False, 0)])
def test_a_parent_that_waits_is_told_how_it_ended(world, waits, told):
    it = world("- {step: start, tool: {kind: noop}}")
    it.start(parent={"execution_id": "p", "waits": waits})
    it.done("start.1", 5)
    found = [command for command in it.commands if isinstance(command, TellParent)]
    assert len(found) == told
    if told:
        assert found == [TellParent("p", ChildEnded("e1", "completed", 5))]


def test_a_failed_execution_discards_its_tokens_and_calls_its_workers_back(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet, when: "{{ event.name == 'step.done' }}"}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet, when: "{{ event.name == 'step.done' }}"}]}}
        - {step: c, tool: {kind: noop}}
        - {step: meet, tool: {kind: noop}}
    """)
    world.done("a.1")
    world.failed("b.1")
    assert world.data("token.discarded")["reason"] == "execution failed"
    assert world.commands == [Recall("c.1", 1, why="execution failed")]
    assert (world.state.status, world.state.output, world.state.discarded) == ("failed", None, 1)


def test_an_execution_ends_once(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, input: {x: "{{ ctx.none.x }}"}, tool: {kind: noop}}
        - {step: b, tool: {kind: noop}}
    """)
    assert (world.state.status, len(world.named("workflow.finished"))) == ("failed", 1)


def test_a_paused_execution_whose_last_step_ends_is_over(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    world.control("pause")
    world.done("start.1", 1)
    assert world.state.status == "completed"
