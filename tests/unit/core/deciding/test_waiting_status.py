"""Whether an execution waits, told from its state."""

import pytest

from noetl.core.deciding.waiting_status import status_of
from noetl.core.deciding.waits import child_id
from noetl.core.message import ChildEnded, ChildWaits, TellParent
from noetl.core.state import Lease, LoopState, Parked, Run, State, Token

ONE = "- {step: start, tool: {kind: noop}}"
TIME = Parked("pause", until=1)


def test_a_run_that_waits_without_a_lease_waits_and_one_that_was_answered_runs(begin):
    world = begin(ONE)
    assert status_of(world.state) == "running"
    world.report("start.1", world.event("task.parked", "start.1", None, "pause", signal="go"), returned=True)
    assert (status_of(world.state), world.state.status) == ("waiting", "running")
    world.control("signal", name="go")
    assert status_of(world.state) == "running"
    world.done("start.1")
    assert status_of(world.state) == "completed"


def test_what_is_paused_is_not_said_to_wait(begin):
    world = begin(ONE)
    world.report("start.1", world.event("task.parked", "start.1", None, "pause", signal="go"), returned=True)
    world.control("pause")
    assert status_of(world.state) == "paused"


def test_a_branch_that_runs_keeps_the_execution_from_waiting(begin):
    world = begin(
        "- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n"
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}\n"
        "- {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}\n- {step: meet, tool: {kind: noop}}"
    )
    world.report("a.1", world.event("task.parked", "a.1", None, "pause", until=world.now + 9), returned=True)
    assert status_of(world.state) == "running"
    world.done("b.1")
    assert any(token.held for token in world.state.tokens.values())
    assert status_of(world.state) == "waiting"


def state_of(run: Run, *leases: Lease) -> State:
    known = {lease.id: lease for lease in leases}
    return State("e1", "running", runs={run.id: run}, leases=known, tokens={"t": Token("t", "x", held=True)})


@pytest.mark.parametrize(
    "marks, parked, leases, waits",
    [
        pytest.param(b"r", ["[0]"], [Lease("r.1", "r.1")], True, id="the one that runs waits under its lease"),
        pytest.param(b"rr", ["[0]"], [Lease("r.1", "r.1", share=2)], False, id="another one runs"),
        pytest.param(b"rp", ["[0]"], [Lease("r.1", "r.1", share=2)], False, id="another one may begin"),
        pytest.param(b"rp", ["[0]"], [Lease("r.1", "r.1")], True, id="no other one may begin"),
        pytest.param(b"p", [], [Lease("r.1", "r.1")], False, id="nothing has begun"),
        pytest.param(b"dr", ["[1]/call"], [Lease("r.1", "r.1")], True, id="inside a call"),
        pytest.param(b"r", ["[0]/call[1]"], [Lease("r.1", "r.1")], False, id="inside an inner loop"),
        pytest.param(b"r", ["[0]", "[0]/a"], [Lease("r.1", "r.1")], False, id="twice"),
        pytest.param(b"rr", ["[0]", "[1]"], [Lease("x", "r.1", lo=0, hi=1), Lease("y", "r.1", lo=1, hi=2)], True, id="every chunk waits"),
        pytest.param(b"rr", ["[0]", "[1]"], [Lease("x", "r.1", lo=0, hi=1, out=False), Lease("y", "r.1", lo=1, hi=2)], True, id="one chunk without its lease"),
        pytest.param(b"rr", ["[0]"], [Lease("x", "r.1", lo=0, hi=1, out=False), Lease("y", "r.1", lo=1, hi=2)], False, id="a chunk runs"),
        pytest.param(b"r", ["[0]"], [], False, id="without any lease"),
    ],
)  # fmt: skip
def test_a_loop_waits_when_nothing_of_it_runs_and_nothing_more_may_begin(marks, parked, leases, waits):
    loop = LoopState(total=len(marks), marks=bytearray(marks))
    run = Run("r.1", "r", loop=loop, parked=dict.fromkeys(parked, TIME))
    assert status_of(state_of(run, *leases)) == ("waiting" if waits else "running")


CHILD = {"execution_id": "p", "waits": True, "depth": 1}
GO = {"signal": "go"}


@pytest.mark.parametrize("waits", [True, False])
def test_a_child_tells_the_parent_that_waits_for_it_when_it_begins_and_stops_to_wait(world, waits):
    it = world(ONE)
    it.start(parent={**CHILD, "waits": waits})
    it.report("start.1", it.event("task.parked", "start.1", None, "pause", **GO), returned=True)
    told = [command for command in it.commands if isinstance(command, TellParent)]
    assert told == [TellParent("p", ChildWaits("e1", it.state.seq, waits=True))] * waits
    it.control("signal", name="go")
    told = [command for command in it.commands if isinstance(command, TellParent)]
    assert told == [TellParent("p", ChildWaits("e1", it.state.seq, waits=False))] * waits
    it.done("start.1")
    assert not any(isinstance(one, TellParent) and isinstance(one.message, ChildWaits) for one in it.commands)


def test_a_parent_waits_while_its_child_does(begin):
    world = begin(ONE)
    call = {"path": "a/b", "input": {}}
    world.report(
        "start.1", world.event("task.parked", "start.1", None, "child", call=call, key="k"), returned=True
    )
    child = child_id("k")
    assert status_of(world.state) == "running"
    assert [one.name for one in world.send(ChildWaits(child, 5, waits=True)).events] == ["child.waiting"]
    assert status_of(world.state) == "waiting"
    assert world.send(ChildWaits(child, 9, waits=True)).events == []  # nothing new
    assert world.send(ChildWaits(child, 4, waits=False)).events == []  # an older one that came late
    assert status_of(world.state) == "waiting"
    world.send(ChildWaits(child, 7, waits=False))
    assert status_of(world.state) == "running"
    assert world.send(ChildWaits("unknown", 9, waits=True)).events == []
    world.send(ChildEnded(child, "completed", 5))
    assert status_of(world.state) == "running"
