"""Claims by hand: when the next one goes out, what is believed of it, and what each of them leads to."""

from typing import Any

import pytest

from noetl.core.deciding.loop_claims import claim_key, is_answered
from noetl.core.deciding.secret_names import names_secret
from noetl.core.deciding.waiting_status import status_of
from noetl.core.deciding.waits import lease_of, only_waits, undelivered
from noetl.core.event import Event
from noetl.core.invariants import check_log
from noetl.core.message import Control, Expire, Tick
from noetl.core.reading.execution_retry import retained_by_retry
from noetl.core.reading.explain import explain
from noetl.core.reading.log_history import LogHistory
from noetl.core.reading.loop_view import LoopView
from noetl.core.reading.progress import Progress
from noetl.core.reading.timeline import Timeline
from noetl.core.values.output import externalise
from noetl.core.values.patch import marker
from tests.unit.core.build import ID, T0, World, exactly

TEXT = """
- step: start
  spec: {{policy: {{failure: {{mode: {failure}}}}}}}
  loop:
    in: {{claim: {{kind: {kind}, {input}{bounds}}}, until: empty}}
    iterator: row
    spec: {{mode: parallel, max_in_flight: 2, policy: {{exec: {place}, reduce: {{ctx.sum: sum}}}}}}
  tool: {{name: one, kind: noop, set: {{ctx.sum: 1}}}}
"""
WAITS = "input: {signal: go}, "


def claiming(
    bounds="batch: 4", *, failure="fail_fast", place="distributed", kind="noop", given="", **root
) -> Any:
    text = TEXT.format(bounds=bounds, failure=failure, place=place, kind=kind, input=given)
    world = World(exactly(text, **root))
    world.start()
    return world


def claimed(world: Any, number, count, rows=..., **parts):
    """Report a claim that brought so many rows."""
    lease = f"start.1:claim.{number}"
    data = {"number": number, "key": claim_key(ID, "start.1", number), "count": count, **parts}
    if count:
        data |= {
            "rows": [{"id": n} for n in range(count)] if rows is ... else rows,
            "last": {"id": count - 1},
        }
    started = world.event("step.started", "start.1", worker="w1", epoch=1)
    return world.report(lease, started, world.event("loop.claimed", "start.1", **data), final=True)


def worked(world: Any, *indexes, **parts):
    """Report iterations as done, under whatever lease has them; a lease that is through is closed."""
    for index in indexes:
        lease: Any = lease_of(world.state, world.state.runs["start.1"], f"[{index}]")
        begun = world.event("loop.iteration.started", "start.1", f"[{index}]")
        final = index == lease.hi - 1
        world.report(lease.id, begun, world.item("start.1", index, writes=[[["ctx", "sum"], 1]]), final=final)


def whys(world):
    return [event.data["why"] for event in world.named("event.rejected")]


def test_the_first_decision_sends_out_a_claim_and_no_iteration():
    world = claiming()
    assert world.dispatched == ["start.1:claim.1"]
    order = world.order("start.1:claim.1")
    assert (order.loop, order.claim.number, order.claim.batch, order.claim.key) == (
        None,
        1,
        4,
        "e1/start.1/1",
    )
    assert world.state.runs["start.1"].loop.so_far()["total"] is None


@pytest.mark.parametrize(
    "place, leases", [("local", ["start.1:0"]), ("distributed", ["start.1:0", "start.1:1"])]
)
def test_rows_that_are_in_the_log_go_out_as_iterations(place, leases):
    world = claiming(place=place, bounds="batch: 2")
    claimed(world, 1, 2)
    assert world.dispatched == leases
    assert world.order("start.1:0").loop.items[0] == {"id": 0}
    world.audit()


def test_the_next_claim_goes_out_when_few_are_left_and_knows_the_last_row():
    world = claiming("batch: 4, prefetch: 2")
    claimed(world, 1, 4)
    worked(world, 0, 1)
    assert "start.1:claim.2" not in world.state.leases
    worked(world, 2)
    assert world.order("start.1:claim.2").claim.last == {"id": 3}
    worked(world, 3)
    claimed(world, 2, 0)
    assert world.state.status == "completed"
    assert world.data("loop.done")["output"]["loop"]["batches"] == 1
    assert world.state.ctx["sum"] == 4
    world.audit()


def test_rows_are_let_go_when_all_of_their_batch_are_over():
    world = claiming("batch: 2, prefetch: 9")
    claimed(world, 1, 2)
    claimed(world, 2, 2)
    worked(world, 1)
    assert [batch.left for batch in world.state.runs["start.1"].loop.claims.open] == [1, 2]
    worked(world, 0)
    assert [batch.lo for batch in world.state.runs["start.1"].loop.claims.open] == [2]
    claimed(world, 3, 2)
    assert world.order("start.1:2").loop.items == [{"id": 0}]
    worked(world, 2, 3)
    assert [batch.lo for batch in world.state.runs["start.1"].loop.claims.open] == [4]
    world.audit()


def test_a_chunk_over_two_batches_gets_the_rows_of_both():
    world = claiming("batch: 2, prefetch: 9", place="local")
    world.control("pause")
    claimed(world, 1, 2)
    world.control("resume")
    worked(world, 0)
    order = world.order("start.1:0")
    assert order.loop.items == [{"id": 0}, {"id": 1}]
    world.report("start.1:0", returned=True)
    worked(world, 1)
    assert "start.1:0" not in world.state.leases
    world.audit()


def test_a_batch_over_which_iterations_ended_leaves_nothing_in_an_order_for_the_rest():
    world = claiming("batch: 1, prefetch: 9", place="local")
    for number in (1, 2, 3):
        claimed(world, number, 1)
    lease = world.state.leases["start.1:0"]
    lease.hi = 3
    worked(world, 0)
    assert world.order("start.1:0").loop.items == [None, {"id": 0}, {"id": 0}]


def test_after_the_last_batch_that_may_be_nothing_more_is_claimed():
    world = claiming("batch: 2, max_batches: 1")
    claimed(world, 1, 2)
    worked(world, 0, 1)
    assert world.state.status == "completed"
    world.audit()


def test_large_rows_are_read_from_the_result_store():
    world = claiming("batch: 2")
    ref, _ = externalise(ID, [{"id": 5}, {"id": 6}])
    world.hydrated[ref["locator"]["key"]] = [{"id": 5}, {"id": 6}]
    claimed(world, 1, 2, rows=marker(ref))
    assert world.order("start.1:0").loop.items == [{"id": 5}]


@pytest.mark.parametrize("failure", ["fail_fast", "best_effort"])
def test_a_claim_that_fails_lets_what_was_claimed_end_and_fails_the_step(failure):
    world = claiming("batch: 2, prefetch: 9", failure=failure)
    claimed(world, 1, 2)
    error = {"kind": "connect", "message": "away"}
    data = {"number": 2, "key": claim_key(ID, "start.1", 2), "error": error}
    world.report("start.1:claim.2", world.event("loop.claim.failed", "start.1", **data), final=True)
    assert world.live == ["start.1"]
    worked(world, 0, 1)
    assert (world.state.status, world.state.error["message"]) == ("failed", "away")
    assert world.data("step.failed")["output"]["loop"] == {
        "total": 2, "done": 2, "failed": 0, "skipped": 0, "batches": 1,
    }  # fmt: skip
    world.audit()


def test_an_iteration_that_fails_ends_the_loop_and_its_claim():
    world = claiming("batch: 2, prefetch: 9")
    claimed(world, 1, 2)
    world.report("start.1:0", world.item_failed("start.1", 0))
    assert (world.state.status, world.state.leases) == ("failed", {})
    world.audit()


def test_a_best_effort_loop_goes_on_behind_rows_that_failed():
    world = claiming("batch: 1", failure="best_effort")
    claimed(world, 1, 1)
    world.report("start.1:0", world.item_failed("start.1", 0), final=True)
    claimed(world, 2, 0)
    assert world.data("loop.done")["output"]["loop"]["failed"] == 1
    world.audit()


def test_a_claim_whose_worker_was_lost_goes_out_again_with_the_same_key_and_fails_in_the_end():
    world = claiming()
    for _ in range(3):
        world.send(Expire(["start.1:claim.1"]))
        assert world.dispatched == ["start.1:claim.1"]
        assert world.order("start.1:claim.1").claim.key == "e1/start.1/1"
    world.send(Expire(["start.1:claim.1"]))
    assert (world.state.status, world.state.error["kind"]) == ("failed", "worker_lost")
    assert world.named("loop.claim.failed")[0].by == "s"
    world.audit()


def test_the_iterations_that_end_are_no_progress_of_the_claim_beside_them():
    world = claiming("batch: 2, prefetch: 9")
    claimed(world, 1, 2)
    worked(world, 0)
    assert not world.state.leases["start.1:claim.2"].progressed
    world.send(Expire(["start.1:claim.2"]))
    assert world.state.runs["start.1"].loop.marks == bytearray(b"dp")


def test_a_worker_that_ends_a_claim_and_says_nothing_of_it_fails_it():
    world = claiming()
    world.report("start.1:claim.1", final=True)
    assert "did not say how claim 1 of start.1 ended" in world.state.error["message"]
    world.audit()


def test_a_claim_that_is_handed_back_goes_out_again():
    world = claiming()
    world.report("start.1:claim.1", returned=True)
    assert world.dispatched == ["start.1:claim.1"]
    world.report("start.1:claim.1", world.event("step.started", "start.1", worker="w1", epoch=2))
    assert world.live == ["start.1"]
    world.audit()


def test_rows_too_many_for_an_event_fail_the_claim():
    world = claiming()
    claimed(world, 1, 1, rows=["x" * 200_000])
    assert world.state.error["message"] == "the event loop.claimed was larger than limits.max_payload_bytes"


def claim_event(**data):
    known = {"number": 1, "key": "e1/start.1/1", "count": 0}
    return Event("loop.claimed", T0, "w", "start.1", data=known | data)


@pytest.mark.parametrize(
    "event, why",
    [
        (claim_event(number=2), "the claim is number 1 with the key e1/start.1/1"),
        (claim_event(key="e1/start.1/1/2"), "the claim is number 1 with the key e1/start.1/1"),
        (claim_event(count=2, rows=[1]), "its rows are not the 2 that it tells of"),
        (claim_event(count=2, rows={"id": 1}), "its rows are not the 2 that it tells of"),
        (claim_event(count=-1), "it is malformed: Expected `int` >= 0 - at `$.count`"),
        (Event("loop.started", T0, "w", "start.1", data={"total": 0}), "not for a worker to report"),
        (Event("loop.done", T0, "w", "start.1"), "not for a worker to report"),
        (Event("task.started", T0, "w", "start.1", "[0]", "claim", 1, 1), "the claim has no iteration [0]"),
        (Event("task.started", T0, "w", "start.1", None, "one", 1, 1), "the program has no task 'one'"),
    ],
)
def test_what_cannot_be_true_of_a_claim_is_rejected(event, why):
    world = claiming()
    world.report("start.1:claim.1", event)
    assert whys(world) == [why]


def test_a_claim_is_answered_once_and_by_its_own_lease():
    world = claiming("batch: 2, prefetch: 9")
    answer = claim_event(count=1, rows=[1])
    world.report("start.1:claim.1", answer, answer)
    claimed(world, 1, 2)
    world.report("start.1:0", claim_event(number=2, key="e1/start.1/2"))
    assert whys(world)[0] == "claim 1 is over"
    assert whys(world)[-1] == "not for a worker to report"
    assert not is_answered(world.state.runs["start.1"], world.state.leases["start.1:0"])


def test_a_claim_that_waits_needs_no_worker_and_goes_on_with_its_answer():
    world = claiming(kind="wait", given=WAITS)
    park = world.event("task.parked", "start.1", None, "claim", signal="go")
    frame = {"pc": "claim", "waiting": "wait", "visits": {"claim": 1}}
    world.report("start.1:claim.1", park, frames={"": frame}, returned=True)
    run, lease = world.state.runs["start.1"], world.state.leases["start.1:claim.1"]
    assert (only_waits(run, lease), lease.out, status_of(world.state)) == (True, False, "waiting")
    world.send(Tick())
    world.control("signal", name="go", payload=[1])
    assert world.dispatched == ["start.1:claim.1"]
    assert not only_waits(run, lease)
    assert status_of(world.state) == "running"
    assert [deliver.lease for deliver in undelivered(world.state, {})] == ["start.1:claim.1"]
    assert world.order("start.1:claim.1").answers[""]["data"] == [1]
    claimed(world, 1, 1)
    assert run.parked == {}
    world.audit()


def test_an_answer_to_a_claim_is_not_brought_to_the_iterations_beside_it():
    world = claiming("batch: 1, prefetch: 9", kind="wait", given=WAITS)
    claimed(world, 1, 1)
    park = world.event("task.parked", "start.1", None, "claim", signal="go")
    frame = {"pc": "claim", "waiting": "wait", "visits": {"claim": 2}}
    world.report("start.1:claim.2", park, frames={"": frame}, returned=True)
    world.control("signal", name="go")
    assert world.dispatched == ["start.1:claim.2"]
    assert [deliver.lease for deliver in undelivered(world.state, {})] == ["start.1:claim.2"]


def test_an_answer_to_an_iteration_is_not_brought_to_the_claim_beside_it():
    world = claiming("batch: 1, prefetch: 9")
    claimed(world, 1, 1)
    world.report(
        "start.1:0",
        world.event("loop.iteration.started", "start.1", "[0]"),
        world.event("task.parked", "start.1", "[0]", "one", signal="go"),
        frames={"[0]": {"pc": "one", "waiting": "wait", "visits": {"one": 1}}},
        returned=True,
    )
    run = world.state.runs["start.1"]
    assert not only_waits(run, world.state.leases["start.1:claim.2"])
    assert status_of(world.state) == "running"
    assert lease_of(world.state, run, "[7]") is None
    world.control("signal", name="go")
    assert world.dispatched == ["start.1:0"]
    assert [deliver.lease for deliver in undelivered(world.state, {})] == ["start.1:0"]


def test_while_paused_nothing_is_claimed_and_resume_goes_on():
    world = claiming()
    world.control("pause")
    claimed(world, 1, 4)
    assert world.dispatched == []
    world.control("resume")
    assert world.dispatched == ["start.1:0", "start.1:1"]
    world.audit()


def test_cancel_counts_what_was_claimed():
    world = claiming()
    claimed(world, 1, 4)
    worked(world, 0)
    world.send(Control("cancel"))
    assert world.data("step.failed")["output"]["loop"] == {
        "total": 4, "done": 1, "failed": 0, "skipped": 3, "batches": 1,
    }  # fmt: skip
    world.audit()


@pytest.mark.parametrize("bound", ["batch", "prefetch", "max_batches"])
def test_a_bound_that_is_no_number_fails_the_step_before_it_starts(bound):
    world = claiming(f'{bound}: "{{{{ workload.n }}}}"', workload="workload: {n: none}")
    assert world.state.error["message"].startswith(f"{bound} of a loop is 'none'")


def test_bounds_of_templates_are_decided_again_as_they_were():
    bounds = ", ".join(f'{name}: "{{{{ workload.n }}}}"' for name in ("batch", "prefetch", "max_batches"))
    world = claiming(bounds, workload="workload: {n: 3}")
    assert world.data("step.scheduled")["claim"] == {"batch": 3, "prefetch": 3, "max_batches": 3}
    world.audit()


def test_a_claim_may_ask_for_the_secrets_that_it_names_and_rows_may_name_some():
    world = claiming(kind="postgres", given="auth: db, input: {query: select 1}, ")
    run = world.state.runs["start.1"]
    assert names_secret(world.program, world.state, run, "db")
    text = TEXT.format(bounds="batch: 1", failure="fail_fast", place="local", kind="noop", input="")
    other = World(
        exactly(text.replace("one, kind: noop", 'one, kind: http, auth: "{{ iter.row }}", input: {url: x}'))
    )
    other.start()
    claimed(other, 1, 1, rows=["key"])
    assert names_secret(other.program, other.state, other.state.runs["start.1"], "key")


# ---- what a log says afterwards -----------------------------------------------------------------------------


def read(reader, world):
    for seq, event in enumerate(world.events, 1):
        reader.read(seq, event)
    return reader


def halfway():
    world = claiming("batch: 2, prefetch: 9")
    claimed(world, 1, 2)
    worked(world, 0)
    return world


def test_progress_has_no_total_before_the_end():
    world = halfway()
    counts = read(Progress(ID), world).view()["steps"]["start"]["loop"]
    assert counts == {
        "total": None,
        "done": 1,
        "failed": 0,
        "running": 0,
        "queued": 1,
        "claimed": 2,
        "batches": 1,
    }
    claimed(world, 2, 0)
    assert read(Progress(ID), world).view()["steps"]["start"]["loop"]["total"] == 2
    worked(world, 1)
    counts = read(Progress(ID), world).view()["steps"]["start"]["loop"]
    assert counts == {
        "total": 2,
        "done": 2,
        "failed": 0,
        "running": 0,
        "queued": 0,
        "claimed": 2,
        "batches": 1,
    }


def test_the_view_of_a_loop_and_the_timeline_grow_with_its_batches():
    world = halfway()
    retry = Event("task.done", T0, "w", "start.1", None, "claim", 2, 1, {"do": "retry", "delay": 0})
    world.report("start.1:claim.2", retry)
    view = read(LoopView(), world).view("start.1")
    assert (view["marks"], view["batches"], view["retries"]) == ("dp", 1, {})
    assert read(Timeline(), world).view()["runs"][0]["loop"] == {"total": 2, "done": 1, "failed": 0}


def test_the_story_tells_what_each_claim_brought():
    world = halfway()
    told = explain(ID, enumerate(world.events, 1))
    assert "claim 1 brought 2 rows" in [reason.text for reason in told.reasons]
    assert "has 1 of 2 rows behind it that were claimed so far" in told.summary
    error = {"kind": "connect", "message": "away"}
    data = {"number": 2, "key": claim_key(ID, "start.1", 2), "error": error}
    world.report("start.1:claim.2", world.event("loop.claim.failed", "start.1", **data), final=True)
    texts = [reason.text for reason in explain(ID, enumerate(world.events, 1)).reasons]
    assert any(text.startswith("claim 2 failed, so that nothing more is claimed") for text in texts)
    other = claiming("batch: 1, prefetch: 9")
    claimed(other, 1, 1)
    claimed(other, 2, 0)
    texts = [reason.text for reason in explain(ID, enumerate(other.events, 1)).reasons]
    assert {"claim 1 brought 1 row", "claim 2 brought no rows: nothing is left to claim"} <= set(texts)


def again(world) -> Any:
    """A retry of what a world did, begun."""
    kept = retained_by_retry(LogHistory.of(ID, world.events), world.program)
    other = World(world.program)
    other.start(kept=kept, retry_of=ID)
    return other


def test_a_retry_goes_on_with_the_rows_that_were_claimed_and_claims_more_under_keys_of_its_own():
    world = halfway()
    claimed(world, 2, 0)
    world.report("start.1:1", world.item_failed("start.1", 1))
    assert world.state.status == "failed"
    other = again(world)
    assert set(other.dispatched) == {"start.1:claim.1", "start.1:1"}
    assert other.order("start.1:1").loop.items == [{"id": 1}]
    assert other.order("start.1:claim.1").claim.last == {"id": 1}
    worked(other, 1)
    claimed(other, 1, 0)
    totals = other.data("loop.done")["output"]["loop"]
    assert totals == {"total": 2, "done": 2, "failed": 0, "skipped": 0, "batches": 1}
    assert other.state.ctx["sum"] == 2
    other.audit()


def test_a_retry_of_a_retry_keeps_them_too_and_leaves_out_rows_that_are_all_done():
    world = claiming("batch: 1, prefetch: 9")
    claimed(world, 1, 1)
    claimed(world, 2, 1)
    worked(world, 0)
    world.report("start.1:1", world.item_failed("start.1", 1))
    other = again(world)
    assert [
        "rows" in event.data["batch"] for event in other.named("loop.restored") if "batch" in event.data
    ] == [
        False,
        True,
    ]
    other.report("start.1:1", other.item_failed("start.1", 1))
    third = again(other)
    assert third.order("start.1:1").loop.items == [{"id": 0}]
    third.audit()


def test_a_retry_of_a_loop_that_claimed_nothing_claims_from_the_beginning():
    world = claiming()
    world.report("start.1:claim.1", final=True)
    assert again(world).dispatched == ["start.1:claim.1"]


# ---- what must hold of any log -------------------------------------------------------------------------------


def event(name, **data):
    at = data.pop("at", None)
    return Event(name, T0, "w", "start.1", at, data=data or None)


@pytest.mark.parametrize(
    "more, says",
    [
        (event("loop.iteration.started", at="[2]"), "iteration start.1[2] started when 2 rows were claimed"),
        (
            event("loop.claimed", number=3, key="e1/start.1/3", count=0),
            "claim 3 of start.1 was answered when the last one was 1",
        ),
        (event("loop.claimed", number=2, key="k", count=0), "claim 2 of start.1 was made with the key k"),
        (
            event("lease.granted", lease="start.1:claim.3", claim=3),
            "claim 3 of start.1 went out while another one was out",
        ),
    ],
)
def test_a_log_with_claims_that_cannot_be_is_found(more, says):
    found = [violation.message for violation in check_log(ID, [*halfway().events, more])]
    assert says in found


def test_an_answer_to_a_claim_that_is_not_out_is_found():
    world = claiming("batch: 2, prefetch: 1")
    claimed(world, 1, 2)
    answer = event("loop.claimed", number=2, key="e1/start.1/2", count=0)
    found = [violation.message for violation in check_log(ID, [*world.events, answer])]
    assert found == ["claim 2 of start.1 was answered, and no lease is out for it"]


def test_an_answer_to_a_claim_of_a_loop_that_claims_nothing_is_found():
    world = World(exactly("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop}}"))
    world.start()
    answer = event("loop.claimed", number=1, key="e1/start.1/1", count=0)
    found = [violation.message for violation in check_log(ID, [*world.events, answer])]
    assert "claim 1 of start.1 was answered when the last one was none" in found
