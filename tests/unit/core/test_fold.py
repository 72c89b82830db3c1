"""The fold: what each event changes, and that nothing else does."""

import pytest

from noetl.core.event import CATALOGUE, Event
from noetl.core.fold import TRANSITIONS, evolve, fold, outer_index
from noetl.core.state import State, snapshot_of
from noetl.errors import InvariantViolation
from tests.unit.core.build import T0


def event(name, run=None, at=None, label=None, **data):
    return Event(name, T0, "s", run, at, label, None, None, data or None)


def after(*events):
    return fold(State("e1"), events)


SCHEDULED = (
    event("token.enqueued", token="t1", step="s"),
    event("step.scheduled", "s.1", step="s", tokens=["t1"], lease="s.1"),
)
LOOP = (
    event("token.enqueued", token="t1", step="s"),
    event("step.scheduled", "s.1", step="s", tokens=["t1"], lease="s.1", total=3, collection=[1, 2, 3]),
)


def test_an_event_that_nobody_knows_is_an_error():
    with pytest.raises(InvariantViolation, match=r"'step\.exploded'"):
        after(event("step.exploded"))


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(TRANSITIONS)))
def test_an_event_that_changes_nothing_still_has_its_number(name):
    state = after(event(name))
    assert state == State("e1", seq=1)


@pytest.mark.parametrize(
    "address, index",
    [
        ("[3]", 3),
        ("[12]", 12),
        ("[3][0]", None),
        ("[3]/call", None),
        ("[3]/call[0]", None),
        ("/call", None),
        ("", None),
        (None, None),
    ],
)
def test_the_index_of_an_outer_iteration(address, index):
    assert outer_index(address) == index


def test_tokens_are_counted_wherever_they_go():
    state = after(
        *(event("token.enqueued", token=f"t{n}", step="s") for n in range(1, 5)),
        event("token.held", token="t1", step="s"),
        event("token.refused", token="t2", step="s"),
        event("token.discarded", token="t3", step="s"),
        event("step.scheduled", "s.1", step="s", tokens=["t4"]),
    )
    assert (state.enqueued, state.consumed, state.refused, state.discarded) == (4, 1, 1, 1)
    assert [(token.id, token.held) for token in state.tokens.values()] == [("t1", True)]
    assert state.leases == {}


def test_a_run_has_a_timeout_from_its_start_and_a_deadline_of_its_own():
    state = after(
        SCHEDULED[0],
        event("step.scheduled", "s.1", step="s", tokens=["t1"], timeout_ms=500, deadline=T0 + 100),
        event("step.started", "s.1", worker="w"),
    )
    assert (state.runs["s.1"].timeout_at, state.runs["s.1"].deadline) == (T0 + 500, T0 + 100)


def test_a_step_starts_once_however_often_it_is_taken_over():
    state = after(
        *SCHEDULED,
        Event("step.started", 5, "w", "s.1", data={"worker": "w1"}),
        Event("step.started", 9, "w", "s.1", data={"worker": "w2"}),
    )
    assert (state.runs["s.1"].started_at, state.leases["s.1"].worker) == (5, "w2")


def test_a_started_step_or_checkpoint_of_a_lease_that_is_gone_changes_only_the_run():
    state = after(
        *SCHEDULED,
        event("step.started", "s.1", lease="gone"),
        event("step.checkpointed", "s.1", lease="gone", frames={"": {"pc": "t"}}),
    )
    assert (state.runs["s.1"].started_at, state.runs["s.1"].frame) == (T0, {"": {"pc": "t"}})
    assert state.leases["s.1"].progressed is False


def test_checkpoints_forget_the_blocks_that_are_over():
    frames = {"[0]": {"inside": "[0]/b"}, "[0]/b": {"pc": "t"}, "[0]/b[1]": {"pc": "t"}, "[0]/a": {"pc": "t"}}
    state = after(*LOOP, event("step.checkpointed", "s.1", frames=frames))
    assert set(state.runs["s.1"].frame) == set(frames)
    evolve(state, event("step.checkpointed", "s.1", frames={"[0]": {"inside": "[0]/b"}}))
    assert set(state.runs["s.1"].frame) == {"[0]", "[0]/b", "[0]/b[1]"}
    evolve(state, event("step.checkpointed", "s.1", frames={"[0]": {"pc": "t"}}))
    assert set(state.runs["s.1"].frame) == {"[0]"}


def test_a_child_of_a_block_that_is_over_is_forgotten_and_others_are_not():
    call = {"call": {"path": "p"}}
    state = after(
        *LOOP,
        event("task.parked", "s.1", "[0]/b", "t", child="c1", **call),
        event("task.parked", "s.1", "[1]", "t", child="c2", **call),
        event("step.checkpointed", "s.1", frames={"[0]": {"pc": "t"}}),
    )
    assert state.children == {"c2": "s.1 [1]"}


def test_iterations_are_marked_from_pending_to_their_end_and_back_when_their_lease_is_lost():
    state = after(*LOOP, *(event("loop.iteration.started", "s.1", f"[{index}]") for index in range(2)))
    evolve(state, event("loop.iteration.done", "s.1", "[0]", output={"data": 1}))
    assert bytes(state.runs["s.1"].loop.marks) == b"drp"
    evolve(state, event("lease.expired", "s.1", lease="s.1", epoch=2, takeovers=1))
    assert bytes(state.runs["s.1"].loop.marks) == b"dpp"
    evolve(state, event("loop.iteration.failed", "s.1", "[1]", error={"kind": "boom"}))
    assert bytes(state.runs["s.1"].loop.marks) == b"dfp"


def test_events_of_inner_iterations_leave_the_outer_marks_alone():
    state = after(
        *LOOP,
        event("loop.iteration.started", "s.1", "[0][1]"),
        event("loop.iteration.done", "s.1", "[0][1]", output={}),
    )
    assert (bytes(state.runs["s.1"].loop.marks), state.iterations) == (b"ppp", 1)


def test_iterations_of_a_block_inside_a_plain_step_are_kept_by_address():
    state = after(
        *SCHEDULED,
        event("loop.iteration.failed", "s.1", "/b[0]", error={"kind": "boom"}),
        event("loop.started", "s.1", total=1),
    )
    assert state.runs["s.1"].outcomes == {"/b[0]": {"error": {"kind": "boom"}}}


@pytest.mark.parametrize("total", [None, 3])
def test_a_granted_lease_is_known_by_its_range(total):
    facts = {} if total is None else {"total": total}
    state = after(SCHEDULED[0], event("step.scheduled", "s.1", step="s", tokens=["t1"], **facts))
    evolve(state, event("lease.granted", "s.1", lease="s.1:0", lo=0, hi=2, share=2))
    assert (state.leases["s.1:0"].hi, state.leases["s.1:0"].share) == (2, 2)
    if total is not None:
        assert state.runs["s.1"].loop.next == 2
    evolve(state, event("lease.expired", "s.1", lease="s.1:0", epoch=2))
    assert [lease.out for lease in state.leases.values()] == [False]
    evolve(state, event("lease.granted", "s.1", lease="s.1:0", lo=0, hi=2))
    assert [lease.out for lease in state.leases.values()] == [True]
    evolve(state, event("lease.closed", "s.1", lease="s.1:0"))
    assert state.leases == {}


def test_the_end_of_a_run_takes_its_leases_and_children_along_and_keeps_its_result():
    state = after(
        *SCHEDULED,
        event("task.parked", "s.1", None, "t", child="c", call={"path": "p"}),
        event("step.done", "s.1", output={"status": "ok", "data": 5}, result=True),
    )
    assert (state.runs, state.leases, state.children) == ({}, {}, {})
    assert (state.results["s"]["data"], state.output, state.steps["s"].status) == (5, 5, "done")


@pytest.mark.parametrize(
    "data, kept",
    [
        ({"keep": False, "output": {"status": "ok", "data": 1}}, None),
        ({"error": {"kind": "boom"}}, {"status": "error", "error": {"kind": "boom"}}),
    ],
)
def test_what_is_kept_of_a_run(data, kept):
    assert after(*SCHEDULED, event("step.failed", "s.1", **data)).results.get("s") == kept


def test_a_payload_that_was_put_aside_is_the_output_as_its_reference():
    state = after(
        *SCHEDULED, event("step.done", "s.1", output={"status": "ok", "data": None, "ref": "R"}, result=True)
    )
    assert state.output == "R"


def test_pause_moves_timeouts_but_no_deadline_and_resume_forgets_until():
    bounded = event("step.scheduled", "s.1", step="s", tokens=["t1"], timeout_ms=500, deadline=T0 + 100)
    open_ended = event("step.scheduled", "s.2", step="s", tokens=["t2"], timeout_ms=500)
    state = after(SCHEDULED[0], event("token.enqueued", token="t2", step="s"), bounded, open_ended)
    fold(state, [event("step.started", "s.1", worker="w")])
    state.until = "x"
    fold(state, [Event("execution.paused", T0 + 10), Event("execution.resumed", T0 + 60)])
    run, other = state.runs["s.1"], state.runs["s.2"]
    assert (run.timeout_at, run.deadline, other.timeout_at, state.until) == (T0 + 550, T0 + 100, None, None)


def test_a_run_that_started_while_paused_is_moved_by_what_it_was_paused_for():
    state = after(SCHEDULED[0], event("step.scheduled", "s.1", step="s", tokens=["t1"], timeout_ms=500))
    started = Event("step.started", T0 + 40, "w", "s.1", data={"worker": "w"})
    fold(state, [Event("execution.paused", T0 + 10), started, Event("execution.resumed", T0 + 60)])
    assert state.runs["s.1"].timeout_at == T0 + 40 + 500 + 20


def test_a_first_join_bars_every_other_token_run_and_open_fragment_once():
    origin = {"args": {}, "barred": ["j"]}
    state = after(
        *(event("token.enqueued", token=f"t{n}", step="s") for n in (1, 2, 3)),
        event("workflow.extended", "p.1", step="p", steps=[], origin=origin),
        event("workflow.extended", "q.1", step="q", steps=[], origin=dict(origin)),
        event("workflow.contracted", "q.1", step="q"),
        event("step.scheduled", "j.1", step="j", tokens=["t1"], bars="j"),
        event("step.scheduled", "j.2", step="j", tokens=["t2"], bars="j"),
    )
    assert [token.barred for token in state.tokens.values()] == [["j"]]
    assert state.runs["j.1"].barred == ["j"]
    assert state.runs["j.2"].barred == []
    assert state.fragments["p.1"].run["barred"] == ["j"]
    assert state.fragments["q.1"].run["barred"] == ["j"]


def test_kept_iterations_arrive_in_portions():
    state = after(
        event("token.enqueued", token="t1", step="s"),
        event(
            "loop.restored",
            token="t1",
            step="s",
            total=3,
            collection=[1, 2, 3],
            iterations={"0": {"output": {"data": "a"}}},
        ),
        event(
            "loop.restored",
            token="t1",
            step="s",
            total=3,
            iterations={"2": {"output": {"ref": "R"}, "writes": [1]}},
        ),
    )
    kept = state.kept["t1"]
    assert (kept.collection, bytes(kept.loop.marks), kept.loop.refs, kept.loop.writes) == (
        [1, 2, 3],
        b"dpd",
        {"2": "R"},
        {"2": [1]},
    )


def test_a_kept_loop_of_a_token_that_starts_another_kind_of_run_is_forgotten():
    state = after(
        event("token.enqueued", token="t1", step="s"),
        event("loop.restored", token="t1", step="s", total=1, collection=[1], iterations={}),
        event("step.scheduled", "s.1", step="s", tokens=["t1"]),
    )
    assert (state.kept, state.runs["s.1"].loop) == ({}, None)


def test_a_failure_that_was_taken_is_listed_and_one_that_fails_the_execution_drains():
    state = after(
        event("next.evaluated", "s.1", failure={"step": "s"}),
        event("next.evaluated", "s.2", fails={"kind": "boom"}),
    )
    assert (state.failures, state.failing, state.error) == ([{"step": "s"}], True, {"kind": "boom"})


def test_folding_in_pieces_is_folding_at_once():
    events = [
        *LOOP,
        event("loop.iteration.done", "s.1", "[0]", output={"data": 1}),
        event("ctx.patched", patch=[[["a", "b"], 1]], origin="run"),
    ]
    assert snapshot_of(fold(after(*events[:2]), events[2:])) == snapshot_of(after(*events))


def test_tasks_that_are_over_are_counted():
    assert after(*SCHEDULED, event("task.done", "s.1", None, "t", do="continue")).tasks == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_many_failed_iterations_only_the_first_keeps_what_takes_room(order):
    """It is the one that the loop fails with; a hundred tracebacks in one event would be too many."""
    state = after(*LOOP)
    for index in order:
        error = {"kind": "python", "message": f"m{index}", "details": {"traceback": f"t{index}", "n": 1}}
        evolve(state, event("loop.iteration.failed", "s.1", f"[{index}]", error=error))
    errors = state.runs["s.1"].loop.errors
    assert {index: error["details"] for index, error in errors.items()} == {
        "0": {"traceback": "t0", "n": 1},
        "1": {"n": 1},
        "2": {"n": 1},
    }


def test_of_many_failures_that_arcs_took_the_first_and_the_first_unanswered_are_kept_in_full():
    state = State("e")
    for number, answered in enumerate([True, True, False, False, None]):
        error = {"kind": "python", "details": {"traceback": "t", "n": number}}
        failure = {"step": f"s{number}", "error": error, "taken_by": "x", "answered": answered}
        evolve(state, event("next.evaluated", "s.1", failure=failure, arcs=[], taken=["x"]))
    assert [sorted(one["error"]["details"]) for one in state.failures] == [
        ["n", "traceback"],
        ["n"],
        ["n", "traceback"],
        ["n"],
        ["n"],
    ]
