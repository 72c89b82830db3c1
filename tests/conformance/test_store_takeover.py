"""The store port, on every product: executions that nobody alive owns are taken over in batches, each by one."""

import asyncio

import pytest

from noetl.errors import Conflict
from noetl.ports.store import Append, Store, Stuck, reading
from tests.conformance.stores import LEASE_MS, NOW, Clock, begin, eid, end, row, rows


async def taken(store: Store, owner: str, *own: str, limit: int = 100) -> list[str]:
    """The executions that an owner gets."""
    return [one.summary.execution_id for one in await store.take_over(owner, LEASE_MS, own, (), limit)]


async def test_what_nobody_alive_owns_is_taken_over_and_nothing_else(store: Store, clock: Clock) -> None:
    died, unowned = await begin(store, 1, owner="dead"), await begin(store, 2)
    await begin(store, 3, owner="dead", status="paused")
    over = await begin(store, 4, owner="dead")
    await end(store, over, NOW)
    stuck = await begin(store, 5, owner="dead")
    await store.set_aside(stuck, "dead", Stuck("log", "?", NOW))
    assert await taken(store, "b") == [unowned]
    clock.now += LEASE_MS + 1
    alive = await begin(store, 6, owner="alive")
    await store.heartbeat("b", LEASE_MS)
    assert await taken(store, "b") == [died]
    assert await taken(store, "b") == []
    with pytest.raises(Conflict, match="run by b"):
        await store.commit(Append(died, 1, [row(2)], owner="dead"))
    await store.commit(Append(died, 1, [row(2)], owner="b"))
    assert not await store.claim(alive, "b", LEASE_MS)


async def test_what_is_paused_is_taken_over_when_its_parent_is_over(store: Store) -> None:
    parent = await begin(store, 1, owner="alive")
    child = await begin(store, 2, status="paused", parent=parent)
    assert await taken(store, "b") == []
    await end(store, parent, NOW)
    assert await taken(store, "b") == [child]
    assert await taken(store, "b") == []


async def test_a_takeover_is_bounded_and_what_is_due_first_comes_first(store: Store) -> None:
    for number, due_at in ((1, 30), (2, 10), (3, 20)):
        await begin(store, number, due_at=due_at)
    assert sorted(await taken(store, "a", limit=2)) == [eid(2), eid(3)]
    assert await taken(store, "b", limit=2) == [eid(1)]


async def test_what_an_owner_does_not_want_is_left_to_others(store: Store) -> None:
    for number in (1, 2, 3):
        await begin(store, number)
    found = await store.take_over("a", LEASE_MS, (), [eid(1), eid(3)])
    assert [one.summary.execution_id for one in found] == [eid(2)]
    assert sorted(await taken(store, "b")) == [eid(1), eid(3)]


async def test_of_two_who_take_over_at_once_each_execution_has_one(store: Store) -> None:
    ids = {await begin(store, number) for number in range(60)}
    found = await asyncio.gather(*(taken(store, f"o{n % 2}", limit=10) for n in range(8)))
    got = [execution_id for some in found for execution_id in some]
    while left := await taken(store, "o1"):
        got += left
    assert (len(got), set(got)) == (60, ids)


async def test_an_owner_gets_its_own_again_only_when_it_asks_and_still_owns_them(store: Store) -> None:
    mine, also, other = [await begin(store, n, owner=owner) for n, owner in ((1, "a"), (2, "a"), (3, "b"))]
    over, paused = await begin(store, 4, owner="a"), await begin(store, 5, owner="a", status="paused")
    await end(store, over, NOW)
    unowned = await begin(store, 6)
    assert sorted(await taken(store, "a", mine, other, over, paused, eid(99))) == [mine, paused, unowned]
    assert len(await taken(store, "a", mine, also, limit=1)) == 1


async def test_what_is_taken_over_from_the_dead_is_noted_as_being_read(store: Store, clock: Clock) -> None:
    died, unowned = await begin(store, 1, owner="a"), await begin(store, 2)
    deciding = await begin(store, 3, owner="a")
    await store.note_in_hand([deciding], "a")
    clock.now += LEASE_MS + 1
    found = {one.summary.execution_id: one for one in await store.take_over("b", LEASE_MS)}
    assert {key: one.in_hand for key, one in found.items()} == {died: "", unowned: None, deciding: "a"}
    assert all(one.size > 0 for one in found.values())
    assert found[died].summary == await store.summary(died)
    clock.now += LEASE_MS + 1
    found = {one.summary.execution_id: one for one in await store.take_over("c", LEASE_MS)}
    assert {found[died].in_hand, found[deciding].in_hand} == {reading("b")}
    await store.put_down([died, deciding], "b")
    assert await store.take_in_hand(died, "c") == reading("c")
    await store.put_down([died], "c")
    await store.put_down([deciding], reading("c"))
    assert await store.take_in_hand(deciding, "c") is None


async def test_a_decision_that_begins_while_others_are_read_stays_noted(store: Store, clock: Clock) -> None:
    read, decided = await begin(store, 1, owner="a"), await begin(store, 2, owner="a")
    clock.now += LEASE_MS + 1
    assert len(await store.take_over("b", LEASE_MS)) == 2
    await store.note_in_hand([decided], "b")
    await store.put_down([read, decided], reading("b"))
    clock.now += LEASE_MS + 1
    found = {one.summary.execution_id: one for one in await store.take_over("c", LEASE_MS)}
    assert (found[read].in_hand, found[decided].in_hand) == ("", "b")


async def test_logs_are_read_together_as_each_is_alone(store: Store) -> None:
    ids = [await begin(store, number) for number in (1, 2, 3)]
    await store.commit(Append(ids[0], 1, rows(1, 2, first=2)))
    await store.commit(Append(ids[1], 1, rows(1, first=2), snapshot=b"{}"))
    await store.commit(Append(ids[1], 2, rows(1, first=3)))
    found = await store.logs([*ids, eid(9)])
    assert found == {execution_id: await store.log(execution_id) for execution_id in ids}
    assert await store.logs([]) == {}
