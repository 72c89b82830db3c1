"""Payloads that were put aside, back where the step's own templates read them."""

import pytest

from noetl.core.output import externalise
from tests.unit.core.build import ID, ok_of

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
