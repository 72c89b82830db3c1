"""Pipelines that wait without a slot: children, answers, and which leases go out again."""

import pytest

from noetl.core.deciding.waits import child_id, forsaken, only_waits, undelivered
from noetl.core.message import ChildEnded, ControlChild, StartChild
from noetl.core.shapes import ErrorObject, Parent
from noetl.core.state import Lease, LoopState, Parked, Run
from tests.unit.core.build import marker_of

ONE = "- {step: start, tool: {kind: noop}}"


def call(world, **data):
    call = {"path": "a/b", "input": {"x": 1}}
    return world.event("task.parked", "start.1", None, "child", call=call, key="k", **data)


def test_a_child_is_started_under_an_id_made_of_its_key(begin):
    world = begin(ONE)
    decision = world.report("start.1", call(world), returned=True)
    parent: Parent = {
        "execution_id": "e1",
        "run": "start.1",
        "at": "",
        "depth": 1,
        "waits": True,
        "path": "tests/case",
    }
    assert decision.commands == [StartChild(child_id("k"), "a/b", None, {"x": 1}, parent)]
    assert world.state.children == {child_id("k"): "start.1 "}
    assert world.order("start.1").waiting


def test_children_are_nested_at_most_32_deep(world):
    it = world(ONE)
    it.start(parent={"execution_id": "p", "depth": 32})
    it.report("start.1", call(it), returned=True)
    assert it.state.runs["start.1"].parked[""].output["error"]["kind"] == "limit"
    assert it.dispatched == ["start.1"]


@pytest.mark.parametrize(
    "ended, status, told",
    [
        (ChildEnded(child_id("k"), "completed", output=5), "ok", None),
        (
            ChildEnded(child_id("k"), "failed", error={"kind": "boom", "message": "m"}),
            "error",
            "m (child execution",
        ),
        (
            ChildEnded(child_id("k"), "cancelled"),
            "error",
            f"no error was given (child execution {child_id('k')} cancelled)",
        ),
    ],
)
def test_the_end_of_a_child_is_the_answer_of_its_parent(begin, ended, status, told):
    world = begin(ONE)
    world.report("start.1", call(world), returned=True)
    world.send(ended)
    assert world.dispatched == ["start.1"]
    output = world.state.runs["start.1"].parked[""].output
    assert output["status"] == status
    if told:
        assert output["error"]["kind"] == "child"
        assert told in output["error"]["message"]
        assert output["error"]["details"]["execution_id"] == child_id("k")
    assert world.state.children == {}


def test_an_output_that_a_child_put_aside_is_the_payload_of_the_call(begin):
    world = begin(ONE)
    world.report("start.1", call(world), returned=True)
    ref = marker_of("child/1")["$stored"]
    world.send(ChildEnded(child_id("k"), "completed", output=ref))
    output = world.state.runs["start.1"].parked[""].output
    assert (output["status"], output["data"], output["ref"]) == ("ok", None, ref)


def test_the_cause_in_a_child_of_a_child_stands_first_and_once(begin):
    """However deep it is: with the ids on the way to it, and without the errors in between."""
    world = begin(ONE)
    world.report("start.1", call(world), returned=True)
    cause: ErrorObject = {"kind": "python", "message": "KeyError: 'a'", "details": {"traceback": "line 3"}}
    own = {"execution_id": "c2", "path": ["c2", "c3"], "error": cause}
    error: ErrorObject = {
        "kind": "child",
        "message": "KeyError: 'a' (child execution c3 failed, 2 calls down)",
        "details": own,
    }
    world.send(ChildEnded(child_id("k"), "failed", error=error))
    told = world.state.runs["start.1"].parked[""].output["error"]
    assert told["message"] == "KeyError: 'a' (child execution c3 failed, 3 calls down)"
    assert told["details"]["error"] == cause
    assert told["details"]["path"] == [child_id("k"), "c2", "c3"]


def test_the_end_of_a_child_that_nothing_waits_for_changes_nothing(begin):
    world = begin(ONE)
    assert world.send(ChildEnded("unknown", "completed")).events == []


def run_of(loop=None, **parked):
    return Run(
        "r.1", "r", loop=loop, parked={at: Parked("t", output=output) for at, output in parked.items()}
    )


@pytest.mark.parametrize(
    "marks, parked, lease, waits",
    [
        pytest.param(None, {}, Lease("r.1", "r.1"), False, id="nothing waits"),
        pytest.param(None, {"": None}, Lease("r.1", "r.1"), True, id="the one pipeline waits"),
        pytest.param(None, {"": {"status": "ok"}}, Lease("r.1", "r.1"), False, id="its answer is there"),
        pytest.param(b"pd", {"[0]": None}, Lease("r.1", "r.1"), True, id="every open iteration waits"),
        pytest.param(b"pp", {"[0]": None}, Lease("r.1", "r.1", share=2), False, id="another iteration can run"),
        pytest.param(b"pp", {"[0]": None}, Lease("r.1", "r.1"), True, id="what waits counts in max_in_flight"),
        pytest.param(b"pr", {"[0]": None, "[1]/b": None}, Lease("r.1", "r.1"), True, id="waits inside a block"),
        pytest.param(b"ddp", {"[2]": None}, Lease("r.1:0", "r.1", lo=0, hi=2), False, id="another chunk waits, this one is to be closed"),
        pytest.param(b"pdp", {"[0]": None}, Lease("r.1:0", "r.1", lo=0, hi=2), True, id="the rest of the chunk is done"),
    ],
)  # fmt: skip
def test_a_lease_goes_out_unless_all_it_stands_for_waits(marks, parked, lease, waits):
    loop = None if marks is None else LoopState(total=len(marks), marks=bytearray(marks))
    assert only_waits(run_of(loop, **parked), lease) is waits


def test_an_answer_finds_the_chunk_its_iteration_belongs_to(begin):
    world = begin("""
        - step: start
          loop: {in: "{{ range(4) }}", iterator: x, spec: {mode: parallel, max_in_flight: 2, chunk: 2, policy: {exec: distributed}}}
          tool: {kind: noop}
    """)
    world.report("start.1:2", world.event("task.parked", "start.1", "[3]", "t", signal="go"))
    world.report("start.1:2", world.item("start.1", 2), returned=True)
    assert world.dispatched == []
    world.control("signal", name="go")
    assert world.dispatched == ["start.1:2"]
    assert world.order("start.1:2").loop.finished == {"2": {}}


def test_after_a_crash_answers_are_brought_again_to_those_who_wait_under_a_lease(begin):
    world = begin(
        """
        - step: start
          loop: {in: "{{ range(4) }}", iterator: x, spec: {mode: parallel, max_in_flight: 2, chunk: 2, policy: {exec: distributed}}}
          tool: {kind: noop}
        """,
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
    )
    for index in (0, 3):
        event = world.event("task.parked", "start.1", f"[{index}]", "t", signal=f"go{index}")
        world.report(f"start.1:{index // 2 * 2}", event)
    world.control("signal", name="go3", payload="x" * 2000)
    found = undelivered(world.state, world.hydrated)
    assert [(one.lease, one.address, one.output) for one in found] == [
        ("start.1:2", "[3]", {"status": "ok", "data": "x" * 2000})
    ]


def test_after_a_crash_children_that_were_given_up_are_told_so_again(begin):
    world = begin(
        "- {step: start, spec: {policy: {failure: {mode: best_effort}}}, loop: {in: [1, 2, 3], iterator: x, spec: {mode: parallel}}, tool: {kind: noop}, next: {arcs: [{step: last}]}}\n"
        "- {step: last, tool: {kind: noop}}"
    )
    for index, wait in enumerate((True, True, False)):
        call = {"call": {"path": "a/b"}, "key": f"k{index}", "wait": wait}
        world.report("start.1", world.event("task.parked", "start.1", f"[{index}]", "t", **call))
    children = list(world.state.children)
    world.report("start.1", world.item_failed("start.1", 0))
    assert forsaken(world.state) == [ControlChild(children[0], "cancel", "what waited for it is over")]
    world.report("start.1", world.event("loop.done", "start.1"), final=True)
    assert [command.execution_id for command in forsaken(world.state)] == children[:2]


def test_after_a_crash_nothing_is_brought_to_a_lease_that_is_with_nobody(begin):
    world = begin(ONE)
    world.report("start.1", world.event("task.parked", "start.1", None, "t", signal="go"))
    world.control("signal", name="go")
    assert [one.address for one in undelivered(world.state, {})] == [""]
    world.control("pause")
    world.report("start.1", returned=True)
    assert undelivered(world.state, {}) == []
