"""Chunks of distributed loops: all of `max_in_flight` is used from the first moment to the last, and no more."""

from collections import Counter

import pytest

from noetl.core.deciding.loop_chunks import LEASES_OUT, in_flight
from noetl.core.message import Expire

LOOP = """
- step: start
  loop: {in: "{{ range(%d) }}", iterator: x, spec: {mode: %s, %spolicy: {exec: distributed}}}
  spec: {policy: {failure: {mode: best_effort}}}
  tool: {kind: noop}
"""


def loop(items, limit, chunk=None, mode="parallel"):
    bounds = f"max_in_flight: {limit}, " if mode == "parallel" else ""
    return LOOP % (items, mode, bounds + (f"chunk: {chunk}, " if chunk else ""))


def leases(world):
    return [(lease.lo, lease.hi, lease.share) for lease in world.state.leases.values()]


def used(world):
    loop = world.state.runs["start.1"].loop
    return sum(in_flight(loop, lease) for lease in world.state.leases.values())


def end(world, lease, *indexes, final=True):
    world.report(lease, *(world.item("start.1", index) for index in indexes), final=final)


@pytest.mark.parametrize(
    "items, limit",
    [
        (1, 10),
        (5, 10),
        (16, 8),
        (64, 4),
        (30, 10),
        (100, 20),
        (100, 3),
        (12, 12),
        (1000, 1000),
        (399, 40),
        (7, 1),
    ],
)
def test_a_loop_of_any_size_uses_all_of_max_in_flight_at_once(begin, items, limit):
    world = begin(loop(items, limit))
    assert used(world) == min(items, limit)
    assert len(world.state.leases) == min(items, limit, 8)


@pytest.mark.parametrize(
    "limit, chunk, granted",
    [
        (1, 5, [(0, 5, 1)]),
        (2, 5, [(0, 5, 1), (5, 10, 1)]),
        (10, 5, [(lo, lo + 5, 2 if lo < 10 else 1) for lo in range(0, 40, 5)]),
        (40, 5, [(lo, lo + 5, 5) for lo in range(0, 40, 5)]),
        (16, 1, [(lo, lo + 1, 1) for lo in range(16)]),
        (32, 1, [(lo, lo + 2, 2) for lo in range(0, 32, 2)]),
        (16, 100, [(0, 40, 16)]),
        (9, 30, [(0, 30, 5), (30, 40, 4)]),
    ],
)
def test_a_chunk_that_is_asked_for_is_what_a_lease_has_unless_its_share_is_larger(
    begin, limit, chunk, granted
):
    world = begin(loop(40, limit, chunk))
    assert leases(world) == granted
    assert sum(share for _, _, share in granted) <= limit
    assert world.data("loop.started") == {"total": 40, "max_in_flight": limit, "chunk": chunk}


def test_without_a_hint_the_log_says_that_the_engine_chooses(begin):
    world = begin(loop(150, 10))
    assert world.data("loop.started") == {"total": 150, "max_in_flight": 10, "chunk": None}


def test_a_sequential_loop_has_one_lease_at_a_time_of_a_hundred_iterations(begin):
    world = begin(loop(150, 1, mode="sequential"))
    assert leases(world) == [(0, 100, 1)]
    end(world, "start.1:0", *range(100))
    assert leases(world) == [(100, 150, 1)]


@pytest.mark.parametrize("items, limit, most", [(10_000, 10, 170), (10_000, 100, 200), (100_000, 10, 1_070)])
def test_a_large_loop_has_few_chunks_and_small_ones_at_its_end(begin, items, limit, most):
    world = begin(loop(items, limit))
    granted: Counter[int] = Counter()
    while world.live:
        assert used(world) == min(limit, world.state.runs["start.1"].loop.marks.count(b"p"))
        name, lease = next(iter(world.state.leases.items()))
        granted[lease.hi - lease.lo] += 1
        world.now = lease.since + 1000 * (lease.hi - lease.lo)
        end(world, name, *range(lease.lo, lease.hi))
    assert granted.total() <= most
    assert max(granted) == 100
    assert granted[max(1, limit // 8)] > 1


@pytest.mark.parametrize("slow, leases", [(True, 43), (False, 20)])
def test_where_iterations_take_no_time_there_are_fewer_chunks(begin, slow, leases):
    world = begin(loop(1000, 50))
    while world.live:
        name, lease = next(iter(world.state.leases.items()))
        world.now = lease.since + (1000 * (lease.hi - lease.lo) if slow else 1)
        end(world, name, *range(lease.lo, lease.hi))
    assert len(world.named("lease.granted")) == leases


def test_what_a_chunk_does_not_use_any_more_goes_to_the_next_one(begin):
    world = begin(loop(100, 16, 10))
    assert leases(world)[0] == (0, 10, 2)
    end(world, "start.1:0", *range(9), final=False)
    assert leases(world)[-1] == (80, 90, 1)
    assert used(world) == 16
    end(world, "start.1:0", 9)
    assert leases(world)[-1] == (90, 100, 1)
    assert used(world) == 16


def test_a_chunk_that_is_taken_over_takes_no_share_from_the_others(begin):
    world = begin(loop(100, 4, 10))
    end(world, "start.1:0", 0, 1, final=False)
    world.send(Expire({"start.1:0": 1}))
    assert (used(world), len(world.state.leases)) == (4, 4)


def test_leases_that_only_wait_take_no_slot_and_keep_their_share(begin):
    world = begin(loop(200, 20, 1))
    assert (used(world), len(world.state.leases)) == (20, LEASES_OUT)
    for index in (8, 9):
        name = f"start.1:{index}"
        world.report(name, world.event("task.parked", "start.1", f"[{index}]", "t", signal="go"))
        world.report(name, returned=True)
    assert (used(world), len(world.state.leases)) == (20, LEASES_OUT)
    end(world, "start.1:0", 0, 1)
    assert (used(world), len(world.state.leases)) == (20, LEASES_OUT + 1)


def test_a_loop_that_pauses_hands_nothing_out_and_goes_on_with_all_it_may(begin):
    world = begin(loop(40, 4, 2))
    world.control("pause")
    end(world, "start.1:0", 0, 1)
    assert used(world) == 3
    world.control("resume")
    assert used(world) == 4


def kept(total, over):
    iterations = {str(index): {"output": {"status": "ok"}} for index in over}
    loop = {"total": total, "collection": list(range(total)), "iterations": iterations}
    token = {"step": "start", "event": {"name": "workflow.started"}, "args": {}, "loop": loop}
    return {"state": {"ctx": {}, "steps": {}}, "tokens": [token]}


def test_a_retry_hands_out_only_iterations_that_are_left(world):
    it = world(loop(4000, 4))
    left = (30, 700, 701, 1500, 3999)
    it.start(retry_of="e0", kept=kept(4000, set(range(4000)) - set(left)))
    assert leases(it) == [(30, 31, 1), (700, 701, 1), (701, 702, 1), (1500, 1501, 1)]
    for index in left:
        end(it, f"start.1:{index}", index)
    assert it.state.status == "completed"


def test_a_chunk_of_a_retry_gathers_what_is_left_within_a_span(world):
    it = world(loop(4000, 1, 3))
    it.start(retry_of="e0", kept=kept(4000, set(range(4000)) - {5, 600, 1004, 1200}))
    assert leases(it) == [(5, 1005, 1)]
    it = world(loop(4000, 1, 3))
    it.start(retry_of="e0", kept=kept(4000, set(range(4000)) - {5, 600, 1200}))
    assert leases(it) == [(5, 601, 1)]


def test_a_retry_of_a_loop_whose_iterations_are_all_over_ends_at_once(world):
    it = world(loop(3, 2))
    it.start(retry_of="e0", kept=kept(3, range(3)))
    assert (it.state.status, it.live) == ("completed", [])
