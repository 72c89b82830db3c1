"""The start of an execution: the request is recorded, then judged, then its first token is on its way."""

from noetl.core.message import ChildEnded, Start, TellParent
from noetl.core.shapes import ErrorObject
from tests.unit.core.build import ENGINE

ONE = "- {step: start, tool: {kind: noop}}"
LOOP = "- {step: start, loop: {in: '{{ range(4) }}', iterator: x, spec: {mode: parallel, max_in_flight: 2, chunk: 2, policy: {exec: distributed}}}, tool: {kind: noop}}"


def test_a_request_is_recorded_evaluated_and_started(world):
    it = world(ONE, workload="workload: {a: 1}")
    it.start(payload={"b": 2}, version=3, idempotency_key="k", diagnostics=[{"code": "x"}], by="me")
    assert [event.name for event in it.events] == [
        "playbook.execution.requested", "playbook.request.evaluated", "workflow.started",
        "token.enqueued", "token.claimed", "step.scheduled",
    ]  # fmt: skip
    assert it.data("playbook.execution.requested") == {
        "path": "tests/case", "version": 3, "payload": {"b": 2}, "idempotency_key": "k", "by": "me",
    }  # fmt: skip
    assert it.data("playbook.request.evaluated") == {
        "hash": "hash", "engine": ENGINE, "workload": {"a": 1}, "diagnostics": [{"code": "x"}],
    }  # fmt: skip
    assert it.data("token.enqueued")["event"] == {"name": "workflow.started", "step": None}


def test_a_request_that_cannot_run_is_recorded_with_the_reason_and_its_parent_is_told(world):
    it = world(ONE)
    error: ErrorObject = {"kind": "keychain", "message": "no 'tok'"}
    answer = it.start(problem=error, parent={"execution_id": "p", "waits": True}).answer
    assert (answer.accepted, answer.why, it.state.status, it.state.error) == (
        False,
        "no 'tok'",
        "failed",
        error,
    )
    assert [event.name for event in it.events] == [
        "playbook.execution.requested", "playbook.request.evaluated", "playbook.processed",
    ]  # fmt: skip
    told = it.commands[0]
    assert told == TellParent("p", ChildEnded("e1", "failed", error=error))


def test_a_large_workload_and_payload_are_stored_by_reference(world):
    it = world(
        "- {step: start, input: {n: '{{ workload.big | length }}'}, tool: {kind: noop, input: {}}}".replace(
            ", input: {}}}", "}}"
        ),
        executor="executor: {spec: {limits: {max_payload_bytes: 100}}}",
    )
    it.start(payload={"big": "x" * 200}, workload={"big": "x" * 200})
    assert "$stored" in it.data("playbook.execution.requested")["payload"]
    assert "$stored" in it.state.workload
    assert it.state.runs["start.1"].input == {"n": 200}


def kept(**loop):
    token = {"step": "start", "from": "before", "event": {"name": "step.done"}}
    return {
        "state": {"ctx": {"a": 1}, "steps": {"before": {"runs": 1, "status": "done"}}},
        "tokens": [token | loop],
    }


def test_a_retry_goes_on_with_what_was_kept(world):
    it = world(ONE)
    it.start(retry_of="e0", kept=kept())
    assert (it.state.ctx, it.state.retry_of, it.live) == ({"a": 1}, "e0", ["start.1"])
    assert it.state.steps["before"].runs == 1
    assert it.data("execution.restored")["of"] == "e0"


def outcomes(*indexes, size=1):
    return {str(index): {"output": {"status": "ok", "data": "x" * size}} for index in indexes}


def test_a_retry_of_a_loop_runs_only_what_was_not_finished(world):
    it = world(LOOP)
    it.start(
        retry_of="e0", kept=kept(loop={"total": 4, "collection": [7, 8, 9, 10], "iterations": outcomes(0, 3)})
    )
    assert it.order("start.1:1").loop.items == [8, 9]
    assert it.order("start.1:1").loop.finished == {}
    it.report("start.1:1", it.item("start.1", 1, "b"), it.item("start.1", 2, "c"), final=True)
    assert it.state.output == ["x", "b", "c", "x"]


def test_kept_iterations_are_restored_in_portions_that_one_event_can_hold(world):
    it = world(LOOP, executor="executor: {spec: {limits: {max_payload_bytes: 300}}}")
    iterations = outcomes(0, 1, 2, size=200)
    it.start(
        retry_of="e0", kept=kept(loop={"total": 4, "collection": [1, 2, 3, 4], "iterations": iterations})
    )
    restored = it.named("loop.restored")
    assert [list(event.data["iterations"]) for event in restored if event.data] == [["0"], ["1"], ["2"]]
    assert ["collection" in (event.data or {}) for event in restored] == [True, False, False]
    assert it.state.runs["start.1"].loop.done == 3


def test_a_kept_loop_whose_token_is_refused_is_forgotten(world):
    it = world(
        "- {step: start, spec: {policy: {admit: {rules: [{when: '{{ false }}', then: {allow: true}}]}}}, loop: {in: [1], iterator: x}, tool: {kind: noop}}"
    )
    it.start(retry_of="e0", kept=kept(loop={"total": 1, "collection": [1], "iterations": {}}))
    assert (it.state.status, it.state.kept) == ("completed", {})


def test_a_start_says_who_asked():
    assert Start("p", "h", "e").by == "cli"


def test_the_version_that_the_executor_names_is_recorded(begin):
    world = begin("- {step: start, tool: {kind: noop}}", executor="executor: {version: 2.1}")
    assert world.data("playbook.request.evaluated")["executor_version"] == "2.1"
    assert world.state.executor_version == "2.1"
