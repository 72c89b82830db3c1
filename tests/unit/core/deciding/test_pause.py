"""What a pause does to time: what bounds work stands still, moments stay where they are."""

import pytest

from noetl.core.deciding.operator_commands import next_due
from noetl.core.message import Tick

ONE = "- {step: start, tool: {kind: noop}}"


def parked(world, run="start.1", at=None, **data):
    return world.event("task.parked", run, at, "wait", **data)


@pytest.mark.parametrize("bound", ["expires", "within"])
def test_pause_stops_the_clock_of_what_bounds_a_wait(begin, bound):
    world = begin(ONE)
    world.begun("start.1")
    world.report("start.1", parked(world, signal="go", **{bound: world.now + 10_000}), returned=True)
    assert next_due(world.state) == world.now + 10_000
    world.now += 4_000
    world.control("pause")
    world.now += 60_000
    world.control("resume")
    assert next_due(world.state) == world.now + 6_000
    world.now += 6_000
    world.send(Tick())
    assert world.state.runs["start.1"].parked[""].output["error"]["kind"] == "timeout"


def test_a_bound_of_a_wait_that_began_while_paused_begins_with_the_resume(begin):
    world = begin(ONE)
    world.begun("start.1")
    world.control("pause")
    world.now += 30_000
    world.report("start.1", parked(world, signal="go", expires=world.now + 10_000), returned=True)
    world.now += 60_000
    world.control("resume")
    assert next_due(world.state) == world.now + 10_000


def test_a_wait_for_a_time_ends_at_that_time_paused_or_not(begin):
    world = begin(ONE)
    world.begun("start.1")
    until = world.now + 10_000
    world.report("start.1", parked(world, until=until), returned=True)
    world.control("pause")
    world.now += 60_000
    world.control("resume")
    assert next_due(world.state) == until
    world.send(Tick())
    assert world.state.runs["start.1"].parked[""].output["status"] == "ok"


def test_pause_stops_the_clock_of_a_call_that_is_taken_up_again(begin):
    world = begin(ONE)
    frames = {"": {"pc": "start_task", "inside": "/start_task", "call_ends": world.now + 10_000}}
    world.control("pause")
    world.report("start.1", frames=frames, returned=True)
    world.now += 60_000
    world.control("resume")
    assert world.order("start.1").frames[""]["call_ends"] == world.now + 10_000
