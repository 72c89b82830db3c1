"""The store port, on every product: who is told what, written by the commit that it tells of, taken by one."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from noetl.errors import Conflict, NotFound
from noetl.ports.notification import Attempt, Delivery, FindDeliveries, Notice, Notification, Outcome
from noetl.ports.store import Append, Store, Stuck
from tests.conformance.stores import NOW, Clock, begin, eid, end, row, rows, summary


def notification(name: str = "ops", **more: Any) -> Notification:
    given: dict[str, Any] = {"target": "webhook:https://example.com/told", "auth": "signing"}
    return Notification(name=name, **{**given, "created_at": NOW, "by": "ann", **more})


async def told(store: Store) -> list[tuple[str, str, str | None]]:
    """What is to be told, the oldest first: to whom, of what, of which execution."""
    found = await store.deliveries()
    return [(one.notification, one.occasion, one.execution_id) for one in reversed(found)]


async def fail(store: Store, execution_id: str, **more: Any) -> None:
    failed = summary(execution_id, status="failed", ended_at=NOW + 9, result=b"{}", **more)
    await store.commit(Append(execution_id, 1, [row(2)], failed))


async def test_a_notification_is_kept_as_it_was_given(store: Store) -> None:
    full = notification(
        "full", occasions=["late", "waiting"], path="team/[x]_%?*", children=True, enabled=False, auth=None
    )
    for given in (full, notification("plain")):
        assert await store.put_notification(given)
        assert await store.notification(given.name) == given
    assert [one.name for one in await store.notifications()] == ["full", "plain"]


async def test_a_changed_notification_keeps_its_maker(store: Store) -> None:
    await store.put_notification(notification())
    other = notification(path="etl/*", by="bob", created_at=NOW + 5)
    assert not await store.put_notification(other, new=True)
    assert await store.put_notification(other)
    assert await store.notification("ops") == replace(other, created_at=NOW, by="ann")


async def test_an_unknown_notification_or_delivery_is_not_found(store: Store) -> None:
    for attempt in (
        store.notification("x"),
        store.delete_notification("x"),
        store.add_delivery("x", "sample", NOW),
        store.delivery(77),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert not await store.redeliver(77)


async def test_the_commit_that_ends_an_execution_writes_what_is_told(store: Store) -> None:
    await store.put_notification(notification("both", occasions=["failed", "completed"]))
    await store.put_notification(notification("good", occasions=["completed"]))
    await store.put_notification(notification("bad", occasions=["failed"]))
    await store.put_notification(notification("off", occasions=["failed"], enabled=False))
    first, second = await begin(store, 1), await begin(store, 2)
    assert await told(store) == []
    await end(store, first, NOW + 5)
    await fail(store, second)
    assert sorted(await told(store)) == [
        ("bad", "failed", second),
        ("both", "completed", first),
        ("both", "failed", second),
        ("good", "completed", first),
    ]
    [found] = await store.deliveries(FindDeliveries(notification="bad"))
    assert (found.at, found.seq, found.path, found.state, found.attempts) == (
        NOW + 9,
        2,
        "tests/case",
        "pending",
        0,
    )
    assert found.key == f"{second}-{found.id}"


async def test_a_commit_that_is_refused_tells_nobody(store: Store) -> None:
    await store.put_notification(notification())
    execution_id = await begin(store)
    await fail(store, execution_id)
    with pytest.raises(Conflict):
        await fail(store, execution_id)
    assert len(await told(store)) == 1


async def test_one_that_begins_and_ends_at_once_is_told_of(store: Store) -> None:
    await store.put_notification(notification())
    await begin(store, status="failed", ended_at=NOW)
    assert await told(store) == [("ops", "failed", eid(1))]


async def test_one_that_waits_and_one_that_is_stuck_are_told_of_each_time(store: Store) -> None:
    await store.put_notification(notification(occasions=["waiting", "stuck"]))
    execution_id = await begin(store, owner="o")
    for number, status in enumerate(("waiting", "waiting", "running", "waiting"), 1):
        changed = summary(execution_id, status=status)
        await store.commit(Append(execution_id, number, [row(number + 1)], changed))
    assert await store.set_aside(execution_id, "o", Stuck("log", "unreadable", NOW + 3))
    assert [occasion for _, occasion, _ in await told(store)] == ["waiting", "waiting", "stuck"]
    assert (await store.deliveries())[0].at == NOW + 3


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*", "any/thing", True),
        ("etl/*", "etl/a/b", True),
        ("etl/*", "etl", False),
        ("etl/?", "etl/a", True),
        ("etl/?", "etl/ab", False),
        ("a_b", "axb", False),
        ("a%", "ab", False),
        ("[a]*", "[a]b", True),
        ("a\\*", "a\\b", True),
    ],
)
async def test_a_pattern_says_of_which_playbooks(
    store: Store, pattern: str, path: str, matches: bool
) -> None:
    await store.put_notification(notification(path=pattern))
    await begin(store, status="failed", ended_at=NOW, path=path)
    assert bool(await told(store)) == matches


async def test_children_are_told_of_where_that_is_wanted(store: Store) -> None:
    await store.put_notification(notification("all", children=True))
    await store.put_notification(notification("parents"))
    await begin(store, status="failed", ended_at=NOW, parent=eid(9))
    assert await told(store) == [("all", "failed", eid(1))]


async def test_what_a_notification_started_is_not_told_to_playbooks(store: Store) -> None:
    await store.put_notification(notification("mail", target="mail:ops@example.com"))
    await store.put_notification(notification("playbook", target="playbook:ops/told", auth=None))
    await begin(store, status="failed", ended_at=NOW, idempotency_key="notification/x-1")
    assert await told(store) == [("mail", "failed", eid(1))]


async def test_an_execution_that_goes_on_as_another_has_not_ended(store: Store) -> None:
    await store.put_notification(notification(occasions=["completed"]))
    first = await begin(store, owner="o")
    after = summary(eid(2), continued_from=first, chain=first)
    ended = summary(first, status="completed", ended_at=NOW + 5, result=b"{}", continued_as=eid(2))
    successor = Append(eid(2), 0, rows(1), after, claim=("o", 30_000))
    await store.commit(Append(first, 1, [row(2)], ended, owner="o", successor=successor))
    assert (await store.summary(first)).continued_as == eid(2)
    assert await told(store) == []


async def test_notices_go_with_their_commit_or_not_at_all(store: Store, clock: Clock) -> None:
    await store.put_notification(notification("late", occasions=["late"]))
    await store.put_notification(notification("named", occasions=[]))
    await store.put_notification(notification("elsewhere", path="other/*"))
    execution_id = await begin(store)
    notices = [
        Notice("late", 2, NOW),
        Notice("late", 2, NOW + 60_000, due_at=NOW + 60_000),
        Notice("step.failed", 2, NOW + 2, ["named", "elsewhere", "nobody"], '{"step":"load"}'),
    ]
    append = Append(execution_id, 1, [row(2)], notices=notices)
    await store.commit(append)
    with pytest.raises(Conflict):
        await store.commit(append)
    assert await told(store) == [("late", "late", execution_id), ("named", "step.failed", execution_id)]
    taken = await store.take_deliveries(1000)
    assert [one.occasion for one in taken] == ["late", "step.failed"]
    clock.now += 60_000
    [came_true] = [one for one in await store.deliveries() if one.at == NOW + 60_000]
    await store.drop_delivery(came_true.id)
    newest = (await store.deliveries())[0]
    assert (newest.detail, newest.seq, newest.at) == ('{"step":"load"}', 2, NOW + 2)


async def test_what_is_due_goes_to_one_alone(store: Store) -> None:
    await store.put_notification(notification())
    for number in range(1, 13):
        await begin(store, number, status="failed", ended_at=NOW)
    taken = await asyncio.gather(*(store.take_deliveries(1000, limit=5) for _ in range(4)))
    numbers = [one.id for some in taken for one in some]
    assert len(numbers) == len(set(numbers)) == 12
    assert {one.attempts for some in taken for one in some} == {1}


async def test_what_a_dead_process_took_is_due_again_under_the_same_key(store: Store, clock: Clock) -> None:
    await store.put_notification(notification())
    await begin(store, status="failed", ended_at=NOW)
    [first] = await store.take_deliveries(1000)
    assert not await store.take_deliveries(1000)
    clock.now += 1001
    [second] = await store.take_deliveries(1000)
    assert (second.key, second.attempts) == (first.key, 2)
    assert not await store.settle_delivery(first.id, 1, _went("delivered"))
    assert await store.settle_delivery(second.id, 2, _went("delivered"))


def _went(state: str, next_at: int | None = None, **more: Any) -> Outcome:
    return Outcome(state, Attempt(NOW, 7, **more), '[{"at":1}]', next_at)


async def test_how_it_went_is_kept(store: Store, clock: Clock) -> None:
    await store.put_notification(notification())
    execution_id = await begin(store, status="failed", ended_at=NOW)
    [one] = await store.take_deliveries(1000)
    assert await store.settle_delivery(one.id, 1, _went("pending", NOW + 60_000, code=503, error="busy"))
    waiting = await store.delivery(one.id)
    assert (waiting.state, waiting.next_at, waiting.code, waiting.error) == (
        "pending",
        NOW + 60_000,
        503,
        "busy",
    )
    assert (waiting.settled_at, waiting.answers) == (None, '[{"at":1}]')
    clock.now += 60_000
    [again] = await store.take_deliveries(1000)
    assert await store.settle_delivery(again.id, 2, _went("delivered", code=200))
    done = await store.delivery(one.id)
    assert (done.state, done.next_at, done.code, done.error) == ("delivered", None, 200, None)
    assert done.settled_at == NOW + 7
    assert await store.deliveries(FindDeliveries(state="failed")) == []
    assert [found.id for found in await store.deliveries(FindDeliveries(execution_id=execution_id))] == [
        one.id
    ]


async def test_what_is_wanted_can_be_narrowed(store: Store) -> None:
    for name in ("a", "b"):
        await store.put_notification(notification(name))
    for number in (1, 2):
        await begin(store, number, status="failed", ended_at=NOW)
    assert {one.notification for one in await store.take_deliveries(1000, but=["a"], limit=1)} == {"b"}
    newest = (await store.deliveries(FindDeliveries(limit=1)))[0]
    older = await store.deliveries(FindDeliveries(before=newest.id))
    assert len(older) == 3
    assert all(one.id < newest.id for one in older)


async def test_a_delivery_can_be_sent_again_and_old_ones_go(store: Store) -> None:
    await store.put_notification(notification())
    await begin(store, status="failed", ended_at=NOW)
    [one] = await store.take_deliveries(1000)
    await store.settle_delivery(one.id, 1, _went("failed"))
    assert await store.prune_deliveries(NOW) == 0
    assert await store.redeliver(one.id)
    [again] = await store.take_deliveries(1000)
    assert (again.key, again.attempts) == (one.key, 1)
    assert await store.prune_deliveries(NOW + 100) == 0
    await store.settle_delivery(one.id, 1, _went("delivered"))
    assert await store.prune_deliveries(NOW + 100) == 1


async def test_what_no_execution_said_has_a_path_and_a_detail_of_its_own(store: Store) -> None:
    await store.put_notification(notification())
    added = await store.add_delivery("ops", "failed", NOW, "etl/load", '{"why":"x"}')
    [kept] = await store.deliveries()
    assert (kept.path, kept.detail, kept.key) == ("etl/load", '{"why":"x"}', f"failed-{NOW}-{added.id}")


async def test_a_sample_belongs_to_no_execution_and_goes_with_its_notification(store: Store) -> None:
    await store.put_notification(notification())
    sample = await store.add_delivery("ops", "sample", NOW)
    assert (sample.execution_id, sample.key) == (None, f"sample-{NOW}-{sample.id}")
    assert isinstance(await store.delivery(sample.id), Delivery)
    await store.delete_notification("ops")
    assert await store.deliveries() == []
