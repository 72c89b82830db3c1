"""The store port, on every product: what is over, its family, and forgetting it."""

import asyncio
import itertools

import pytest

from noetl.errors import NotFound
from noetl.ports.store import Store
from tests.conformance.stores import begin, eid, end, rows


async def test_ended_are_those_that_were_over_at_a_moment_by_id(store: Store) -> None:
    for number, at in ((4, 40), (2, 20), (3, 30), (1, 10)):
        await end(store, await begin(store, number), at)
    await begin(store, 5)
    assert [one.execution_id for one in await store.ended(30)] == [eid(1), eid(2), eid(3)]
    assert [one.execution_id for one in await store.ended(30, after=eid(1), limit=1)] == [eid(2)]
    assert [(one.hash, one.ended_at) for one in await store.ended(10)] == [("h", 10)]


async def test_a_family_is_everyone_linked_by_parent_or_retry(store: Store) -> None:
    await begin(store, 1)
    await begin(store, 2, parent=eid(1))
    await begin(store, 3, parent=eid(2))
    await begin(store, 4, retry_of=eid(1))
    await begin(store, 5, parent=eid(4))
    await begin(store, 6)
    await begin(store, 7, parent=eid(99))
    for number in (1, 2, 3, 4, 5):
        found = await store.family(eid(number))
        assert sorted(one.execution_id for one in found) == [eid(n) for n in (1, 2, 3, 4, 5)]
    assert [one.execution_id for one in await store.family(eid(6))] == [eid(6)]
    assert [one.execution_id for one in await store.family(eid(7))] == [eid(7)]
    assert list(await store.family(eid(98))) == []


async def test_only_what_is_over_can_be_deleted_and_then_it_is_gone(store: Store) -> None:
    over, open_ = await begin(store, 1, idempotency_key="k"), await begin(store, 2)
    await end(store, over, 5, idempotency_key="k")
    assert list(await store.delete([over, open_, eid(9)], 4)) == []
    assert list(await store.delete([over, open_, eid(9)], 5)) == [over]
    for question in (store.summary(over), store.rows(over), store.log(over)):
        with pytest.raises(NotFound):
            await question
    assert await store.by_key("k") is None
    assert len(await store.rows(open_)) == 1
    await begin(store, 3, idempotency_key="k")
    assert await store.rows(eid(3)) == rows(1)


async def test_two_that_delete_the_same_at_once_share_it(store: Store) -> None:
    for number in range(60):
        more = {"parent": eid(number - number % 3)} if number % 3 else {}
        await end(store, await begin(store, number, **more), 5, **more)
    kept = await begin(store, 60, parent=eid(0))
    every = [eid(number) for number in range(60)]
    gone = await asyncio.gather(*(store.delete(every, 5) for _ in range(3)))
    assert sorted(itertools.chain(*gone)) == sorted(every[3:])
    assert {one.execution_id for one in (await store.executions()).items} == {*every[:3], kept}


@pytest.mark.parametrize("far", [False, True], ids=["a retry of it", "a retry of its retry"])
async def test_what_was_retried_since_it_was_asked_for_is_not_deleted(store: Store, far: bool) -> None:
    old = await begin(store, 1)
    await end(store, old, 5)
    begun = 1
    if far:
        await end(store, await begin(store, 2, retry_of=eid(1)), 6, retry_of=eid(1))
        begun = 2
    assert old in [one.execution_id for one in await store.ended(10)]
    await begin(store, 3, retry_of=eid(begun))
    assert list(await store.delete([old], 10)) == []
    assert await store.rows(old)
