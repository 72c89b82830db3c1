"""Which worker gets which order, and when an order goes out again: by a clock that goes when told to."""

from collections.abc import Callable
from typing import Any

import pytest

from noetl.control.leases import WorkerLeases
from noetl.core.message import ClaimOrder, Expire, WorkOrder
from noetl.core.state import Lease
from noetl.ports.link import Heartbeat, Hello, Push

LEASE_S = 10.0


class World:
    """A leasing with everything around it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.soon: list[Callable[[], None]] = []
        self.hints: list[str] = []
        self.pushed: list[tuple[str, Push]] = []
        self.handed: list[tuple[str, list[str], Callable[[], None]]] = []
        self.reach = True
        self.said_alive = 0
        self.bus_quiet_s = 0.0
        self.leasing = WorkerLeases(
            self, LEASE_S, later=self.soon.append, clock=lambda: self.now, wall=lambda: 7
        )
        self._beats: dict[str, int] = {}

    def hint(self, pool: str) -> None:
        self.hints.append(pool)

    def push(self, worker_id: str, push: Push) -> None:
        self.pushed.append((worker_id, push))

    def hand(self, worker_id: str, orders: list[WorkOrder], unheard: Callable[[], None]) -> bool:
        if self.reach:
            self.handed.append((worker_id, names(orders), unheard))
        return self.reach

    def knows(self, worker_id: str) -> None:
        """A worker is there, and has had the playbook."""
        self.leasing.meet(hello(worker_id))
        self.leasing.lacks(worker_id, "digest")
        self.beat(worker_id)

    def take(self, who: Hello, room: int, first: str | None = None) -> list[WorkOrder]:
        """A worker that says who it is asks for orders."""
        return self.leasing.take(self.leasing.meet(who), room, first)

    def alive(self) -> None:
        self.said_alive += 1

    def quiet_s(self) -> float:
        return self.bus_quiet_s

    def overdue_after(self, seconds: float) -> tuple[Any, Any]:
        """What is overdue when so much time has passed in which the server looked again and again."""
        until = self.now + seconds
        while self.now < until:
            found = self.leasing.overdue()
            self.now = min(self.now + 1.0, until)
        return self.leasing.overdue() if found == ({}, {}) else found

    def settle(self) -> None:
        while self.soon:
            self.soon.pop(0)()

    def beat(self, worker_id: str, *held: tuple[str, str, int], pool: str = "default") -> None:
        number = self._beats[worker_id] = self._beats.get(worker_id, 0) + 1
        self.leasing.beat(Heartbeat(hello(worker_id, pool), number, list(held)))


@pytest.fixture
def world() -> World:
    return World()


def hello(worker_id: str, pool: str = "default", kinds: tuple[str, ...] = ("noop",)) -> Hello:
    return Hello(worker_id, pool, 4, list(kinds), b"k", 1)


def order(execution: str = "e1", lease: str = "l1", epoch: int = 1, pool: str = "default") -> WorkOrder:
    return WorkOrder(execution, lease, epoch, "s.1", "s", "digest", pool)


def names(orders: list[WorkOrder]) -> list[str]:
    return [f"{one.execution_id}/{one.lease}" for one in orders]


def test_work_that_no_answer_took_along_is_hinted_at_once_per_round(world: World) -> None:
    world.leasing.offer(order())
    world.leasing.offer(order("e2"))
    assert world.hints == []
    world.settle()
    assert world.hints == ["default"]


def test_work_that_an_answer_took_along_is_not_hinted_at(world: World) -> None:
    world.leasing.offer(order())
    assert names(world.take(hello("w"), 4)) == ["e1/l1"]
    world.settle()
    assert world.hints == []


def test_a_claim_waits_for_a_worker_that_can_make_it(world: World) -> None:
    claim = order()
    claim.claim = ClaimOrder(1, 100, "e1/s.1/1")
    world.leasing.offer(claim)
    older, newer = hello("older"), hello("newer")
    newer.claims = True
    assert (names(world.take(older, 4)), names(world.take(newer, 4))) == ([], ["e1/l1"])


def test_workers_with_room_are_given_even_shares_without_being_asked_to_ask(world: World) -> None:
    world.knows("a")
    world.knows("b")
    for number in range(10):
        world.leasing.offer(order(f"e{number}"))
    world.settle()
    given = {worker_id: orders for worker_id, orders, _ in world.handed}
    assert given == {"a": [f"e{n}/l1" for n in range(4)], "b": [f"e{n}/l1" for n in range(4, 8)]}
    assert world.hints == ["default"]  # two wait: nobody is known to have room for them


def test_the_part_of_a_worker_that_has_to_ask_for_the_playbook_is_left_for_it(world: World) -> None:
    world.beat("fresh")
    world.knows("known")
    for number in range(4):
        world.leasing.offer(order(lease=f"l{number}"))
    world.settle()
    assert {worker_id: orders for worker_id, orders, _ in world.handed} == {"known": ["e1/l0", "e1/l1"]}
    assert names(world.take(hello("fresh"), 4)) == ["e1/l2", "e1/l3"]


@pytest.mark.parametrize("why", ["new", "quiet", "draining", "busy", "without the playbook"])
def test_orders_are_given_unasked_only_where_they_can_begin(world: World, why: str) -> None:
    if why == "without the playbook":
        world.beat("w")
    elif why != "new":
        world.knows("w")
    if why == "quiet":
        world.now += 3.1
    if why in ("draining", "busy"):
        running = 4 if why == "busy" else 0
        world.leasing.beat(Heartbeat(hello("w"), 9, running=running, draining=why == "draining"))
    world.leasing.offer(order())
    world.settle()
    assert (world.handed, world.hints) == ([], ["default"])


def test_what_a_worker_is_not_there_to_hear_waits_for_another(world: World) -> None:
    world.knows("gone")
    world.leasing.offer(order())
    world.settle()
    worker_id, given, unheard = world.handed.pop()
    assert (worker_id, given) == ("gone", ["e1/l1"])
    unheard()
    world.settle()
    assert world.handed == []  # not to the same again
    assert names(world.take(hello("there"), 1)) == ["e1/l1"]
    unheard()  # said late, when another one has it
    assert world.leasing.holds("e1", "l1", 1, "there")


def test_what_cannot_be_said_is_hinted_at(world: World) -> None:
    world.knows("w")
    world.reach = False
    world.leasing.offer(order())
    world.settle()
    assert world.hints == ["default"]
    assert names(world.take(hello("w"), 1)) == ["e1/l1"]


def test_a_worker_gets_no_more_than_it_has_room_for_and_its_own_execution_first(world: World) -> None:
    for number in range(4):
        world.leasing.offer(order(f"e{number}"))
    assert names(world.take(hello("w"), 2, "e3")) == ["e3/l1", "e0/l1"]
    assert names(world.take(hello("w"), 9)) == ["e1/l1", "e2/l1"]
    assert world.take(hello("w"), 9) == []


def test_workers_that_ask_get_even_shares_whoever_comes_first(world: World) -> None:
    for worker_id in ("a", "b"):
        world.beat(worker_id)  # neither has had the playbook: both are hinted at, and ask
    for number in range(4):
        world.leasing.offer(order(lease=f"l{number}"))
    world.settle()
    assert world.hints == ["default"]
    assert names(world.take(hello("a"), 4)) == ["e1/l0", "e1/l1"]
    assert world.take(hello("a"), 4) == []  # it has its share
    assert names(world.take(hello("b"), 4)) == ["e1/l2", "e1/l3"]


def test_who_reports_gets_the_next_order_of_a_chain_but_not_all_of_a_loop(world: World) -> None:
    for worker_id in ("a", "b"):
        world.beat(worker_id)
    for number in range(4):
        world.leasing.offer(order(lease=f"l{number}"))
    assert names(world.take(hello("a"), 4)) == ["e1/l0", "e1/l1"]
    assert world.take(hello("a"), 4, "e1") == []
    assert names(world.take(hello("b"), 4)) == ["e1/l2", "e1/l3"]
    world.leasing.offer(order(lease="l4"))
    assert names(world.take(hello("a"), 4, "e1")) == ["e1/l4"]


@pytest.mark.parametrize("why", ["it does not ask", "it is gone", "it cannot do it"])
def test_the_share_of_a_worker_that_does_not_take_it_goes_to_the_others(world: World, why: str) -> None:
    world.beat("a")
    if why == "it cannot do it":
        world.leasing.beat(Heartbeat(hello("b", kinds=()), 1))
    else:
        world.beat("b")
    world.now += {"it is gone": 3.1}.get(why, 0.0)
    for number in range(4):
        world.leasing.offer(order(lease=f"l{number}"))
    world.now += 1.1 if why == "it does not ask" else 0.0
    assert len(world.take(hello("a"), 4)) == 4


def test_orders_go_only_to_their_pool_and_to_workers_that_have_the_kinds(world: World) -> None:
    world.leasing.needs = lambda order: frozenset({"gpu"} if order.lease == "l2" else {"noop"})
    world.leasing.offer(order(lease="l2"))
    world.leasing.offer(order(lease="l3"))
    assert world.take(hello("other", "other"), 9) == []
    assert names(world.take(hello("plain"), 9)) == ["e1/l3"]
    assert names(world.take(hello("strong", kinds=("gpu",)), 9)) == ["e1/l2"]


def test_a_worker_that_beats_keeps_its_leases_for_ever(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    for _ in range(20):
        world.now += LEASE_S / 2
        world.beat("w", ("e1", "l1", 1))
        assert world.leasing.overdue() == ({}, {})


def test_a_worker_that_falls_silent_loses_its_leases(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.beat("w", ("e1", "l1", 1))
    world.now += LEASE_S + 0.1
    assert world.leasing.overdue() == ({"e1": {"l1": 1}}, {})


def test_an_order_that_its_worker_never_mentions_did_not_arrive(world: World) -> None:
    world.beat("w")
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    for _ in range(3):
        assert world.leasing.overdue() == ({}, {})
        world.now += 1.1
        world.beat("w")
    assert world.leasing.overdue() == ({}, {"e1": {"l1": 1}})


def test_an_order_that_was_reported_on_has_arrived_whatever_beats_say(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.leasing.reported("e1", "l1", 1, "w")
    for _ in range(5):
        world.now += 1.1
        world.beat("w")
    assert world.leasing.overdue() == ({}, {})


def test_a_lease_from_another_server_is_given_time_to_be_heard(world: World) -> None:
    assert world.leasing.adopt("e1", Lease("l1", "s.1", 2, "w"))
    world.now += LEASE_S / 2
    world.beat("w", ("e1", "l1", 2))
    assert world.overdue_after(LEASE_S / 2 + 1) == ({}, {})
    assert world.overdue_after(LEASE_S) == ({"e1": {"l1": 2}}, {})


def holders_after_a_stranger_named_it(world: World, pool: str = "default") -> list[str]:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.beat("stranger", ("e1", "l1", 1), pool=pool)
    world.leasing.reported("e1", "l1", 1, "stranger")
    return [name for name in ("stranger", "w") if world.leasing.holds("e1", "l1", 1, name)]


def test_a_lease_that_a_beat_gives_away_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    right = WorkerLeases.beat

    def wrong(self: WorkerLeases, beat: Heartbeat) -> None:
        for execution_id, lease, _ in beat.held:
            self._held[execution_id, lease].worker_id = beat.hello.worker_id
        right(self, beat)

    monkeypatch.setattr(WorkerLeases, "beat", wrong)
    assert holders_after_a_stranger_named_it(world) == ["stranger"]


@pytest.mark.parametrize("pool", ["default", "other"])
def test_a_lease_is_not_taken_by_naming_it(world: World, pool: str) -> None:
    assert holders_after_a_stranger_named_it(world, pool) == ["w"]
    for _ in range(4):  # nor is it renewed by that
        world.now += LEASE_S / 3
        world.leasing.overdue()
        world.beat("stranger", ("e1", "l1", 1), pool=pool)
    assert world.leasing.overdue() == ({"e1": {"l1": 1}}, {})


def test_a_lease_that_no_log_says_who_has_is_nobodys_and_goes_out_again(world: World) -> None:
    world.leasing.adopt("e1", Lease("l1", "s.1", 1))
    world.beat("w", ("e1", "l1", 1))
    assert not world.leasing.holds("e1", "l1", 1, "w")
    assert world.overdue_after(3.5) == ({}, {"e1": {"l1": 1}})


def test_a_lease_that_waits_for_a_worker_is_not_taken_by_naming_it(world: World) -> None:
    world.leasing.offer(order())
    world.beat("stranger", ("e1", "l1", 1))
    assert not world.leasing.holds("e1", "l1", 1, "stranger")
    assert names(world.take(hello("w"), 1)) == ["e1/l1"]


def held_by_a_silent_worker(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.beat("w", ("e1", "l1", 1))
    assert world.leasing.overdue() == ({}, {})


def test_silence_does_not_count_while_the_bus_is_away_and_counts_anew_once_it_is_back(world: World) -> None:
    held_by_a_silent_worker(world)
    world.bus_quiet_s = LEASE_S
    assert world.overdue_after(5 * LEASE_S) == ({}, {})
    world.bus_quiet_s = 0.0
    assert world.overdue_after(LEASE_S - 1) == ({}, {})
    assert world.overdue_after(2) == ({"e1": {"l1": 1}}, {})


def test_silence_does_not_count_while_this_process_stood_still(world: World) -> None:
    held_by_a_silent_worker(world)
    world.now += 3600.0
    assert world.leasing.overdue() == ({}, {})
    assert world.overdue_after(LEASE_S - 1) == ({}, {})
    assert world.overdue_after(2) == ({"e1": {"l1": 1}}, {})


def test_silence_does_not_count_while_beats_come_that_cannot_be_read(world: World) -> None:
    held_by_a_silent_worker(world)
    for _ in range(5):
        assert world.overdue_after(LEASE_S - 1) == ({}, {})
        world.leasing.missed()
    assert world.overdue_after(LEASE_S + 1) == ({"e1": {"l1": 1}}, {})


def test_an_order_is_not_lost_because_the_bus_was_away(world: World) -> None:
    world.leasing.adopt("e1", Lease("l1", "s.1", 1))
    world.bus_quiet_s = LEASE_S
    assert world.overdue_after(5 * LEASE_S) == ({}, {})
    world.bus_quiet_s = 0.0
    assert world.overdue_after(2.5) == ({}, {})
    assert world.overdue_after(1) == ({}, {"e1": {"l1": 1}})


def test_a_lease_that_nobody_began_and_nobody_mentions_goes_out_soon(world: World) -> None:
    world.leasing.adopt("e1", Lease("l1", "s.1", 1))
    assert world.leasing.overdue() == ({}, {})
    world.now += 3.5
    assert world.leasing.overdue() == ({}, {"e1": {"l1": 1}})


def test_a_lease_that_still_waits_here_is_not_adopted(world: World) -> None:
    world.leasing.offer(order())
    world.leasing.adopt("e1", Lease("l1", "s.1", 1))
    world.now += 3 * LEASE_S
    assert world.leasing.overdue() == ({}, {})
    assert names(world.take(hello("w"), 1)) == ["e1/l1"]


@pytest.mark.parametrize(("give_back", "what"), [(True, "give_back"), (False, "stop")])
def test_a_recall_is_said_until_the_worker_lets_go(world: World, give_back: bool, what: str) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.leasing.recall("e1", "l1", give_back)
    world.beat("w", ("e1", "l1", 1))
    assert [(worker, push.what, push.epoch) for worker, push in world.pushed] == [("w", what, 1)] * 2
    world.leasing.let_go("e1", "l1", 1)
    world.beat("w", ("e1", "l1", 1))
    assert len(world.pushed) == 2


def test_a_lease_of_an_execution_that_was_given_up_is_stopped_whoever_gave_it_out(world: World) -> None:
    world.leasing.abandon("e1")
    world.beat("w", ("e1", "l1", 3), ("e2", "l1", 1))
    told = ("w", Push("stop", "e1", "l1", 3))
    assert world.pushed == [told]
    world.now += LEASE_S + 1
    world.leasing.overdue()
    world.beat("w", ("e1", "l1", 3))
    assert world.pushed == [told]


@pytest.mark.parametrize("again", ["offered", "adopted"])
def test_what_goes_on_after_it_was_given_up_is_not_stopped(world: World, again: str) -> None:
    world.leasing.abandon("e1")
    if again == "offered":
        world.leasing.offer(order())
    else:
        world.leasing.adopt("e1", Lease("l1", "s.1", epoch=1, out=True, worker="other"))
    world.beat("w", ("e1", "l2", 1))
    assert world.pushed == []


@pytest.mark.parametrize("give_back", [True, False])
def test_a_recalled_order_that_waits_is_not_handed_out(world: World, give_back: bool) -> None:
    returned: list[Any] = []
    world.leasing.on_return = returned.append
    world.leasing.offer(order())
    world.leasing.recall("e1", "l1", give_back)
    assert world.take(hello("w"), 1) == []
    assert names(returned) == (["e1/l1"] if give_back else [])


def test_an_answer_reaches_the_holder_or_goes_along_with_the_order(world: World) -> None:
    world.leasing.offer(order())
    world.leasing.deliver("e1", "l1", "[0]", "t.1.1", {"status": "ok"})
    taken = world.take(hello("w"), 1)
    assert taken[0].answers == {"[0]": {"status": "ok"}}
    world.leasing.deliver("e1", "l1", "[1]", "t.1.1", {"status": "ok"})
    assert [(worker, push.what, push.address) for worker, push in world.pushed] == [("w", "deliver", "[1]")]


def test_answers_that_may_have_been_missed_are_said_again_with_each_beat(world: World) -> None:
    again = Push("deliver", "e1", "l1", 1, "[0]", "t.1.1")
    world.leasing.answers = lambda execution_id, lease, push: push(again)
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.beat("w", ("e1", "l1", 1))
    assert world.pushed == [("w", again)]


def test_a_lease_that_goes_out_again_is_held_by_its_new_worker_alone(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("old"), 1)
    world.leasing.offer(order(epoch=2))
    world.take(hello("new"), 1)
    assert world.leasing.holds("e1", "l1", 2, "new")
    assert not world.leasing.holds("e1", "l1", 1, "old")
    assert not world.leasing.holds("e1", "l1", 2, "old")
    world.leasing.let_go("e1", "l1", 1)
    assert world.leasing.holds("e1", "l1", 2, "new")


def test_a_playbook_is_sent_once_to_each_worker(world: World) -> None:
    world.beat("w")
    assert world.leasing.lacks("w", "d1")
    assert not world.leasing.lacks("w", "d1")
    assert world.leasing.lacks("w", "d2")
    assert world.leasing.lacks("unknown", "d1")


def test_the_fleet_shows_who_was_heard_and_what_they_hold(world: World) -> None:
    world.leasing.offer(order())
    world.take(hello("w"), 1)
    world.beat("w", ("e1", "l1", 1))
    world.beat("idle", pool="other")
    shown = {worker.worker_id: worker for worker in world.leasing.fleet()}
    assert [lease["step_run_id"] for lease in shown["w"].leases] == ["s.1"]
    assert shown["idle"].pool == "other"
    assert (world.leasing.waiting, world.leasing.out) == (0, 1)
    world.now += LEASE_S + 1
    world.beat("idle", pool="other")
    assert [worker.worker_id for worker in world.leasing.fleet()] == ["idle"]
    world.overdue_after(20 * LEASE_S)
    assert world.leasing.lacks("w", "d1")  # it is forgotten, and would be told everything anew


def test_speaking_says_that_the_server_is_there_and_where_work_waits(world: World) -> None:
    world.leasing.offer(order(pool="gpu"))
    world.leasing.speak()
    assert (world.said_alive, world.hints) == (1, ["gpu"])


def test_how_long_work_has_waited_for_a_worker_is_known(world: World) -> None:
    assert world.leasing.longest_wait_ms() == 0
    world.leasing.offer(order())
    world.now += 5
    world.leasing.offer(order("e2"))
    assert world.leasing.longest_wait_ms() == 5000
    world.take(hello("w"), 1)
    assert world.leasing.longest_wait_ms() == 0


def test_a_lease_that_was_heard_of_while_its_end_waited_is_not_overdue_any_more(world: World) -> None:
    for lease in ("l1", "l2"):
        world.leasing.offer(WorkOrder("e1", lease, 1, "s.1", "s", "digest"))
    world.settle()
    world.take(hello("w"), 9)
    assert world.overdue_after(LEASE_S + 1) == ({"e1": {"l1": 1, "l2": 1}}, {})
    assert world.leasing.still_overdue("e1", Expire({"l1": 1, "l2": 1})) == {"l1": 1, "l2": 1}
    world.beat("w", ("e1", "l1", 1))
    assert world.leasing.still_overdue("e1", Expire({"l1": 1, "l2": 1, "l3": 1})) == {"l2": 1}
    assert world.leasing.still_overdue("e1", Expire({"l2": 2})) == {}  # given out again since then


def test_a_lease_is_overdue_for_the_reason_that_was_seen_or_not_at_all(world: World) -> None:
    world.leasing.adopt("e1", Lease("l1", "s.1", 1))
    assert world.overdue_after(LEASE_S - 1) == ({}, {"e1": {"l1": 1}})
    assert world.leasing.still_overdue("e1", Expire({"l1": 1}, "silent")) == {}
    assert world.leasing.still_overdue("e1", Expire({"l1": 1}, "lost")) == {"l1": 1}


def test_the_longest_wait_is_that_of_the_order_that_came_first_and_is_still_there(world: World) -> None:
    for lease in ("a", "b", "c"):
        world.leasing.offer(order(lease=lease))
        world.now += 1.0
    assert world.leasing.longest_wait_ms() == 3000
    world.leasing.offer(order(lease="a"))  # anew: the earlier one is void
    assert world.leasing.longest_wait_ms() == 2000
    world.leasing.recall("e1", "b", give_back=False)
    assert world.leasing.longest_wait_ms() == 1000
    world.leasing.recall("e1", "c", give_back=False)
    assert world.leasing.longest_wait_ms() == 0
