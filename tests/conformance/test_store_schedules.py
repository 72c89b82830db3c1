"""The store port, on every product: schedules, whose ticks are fired once, and triggers."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from noetl.adapters.postgres.store import PostgresStore
from noetl.errors import NotFound
from noetl.ports.schedule import Fired, Schedule, Skipped, Trigger
from noetl.ports.store import Store
from tests.conformance.stores import NOW, Clock, Ground, emptied


def schedule(name: str = "nightly", **more: Any) -> Schedule:
    given: dict[str, Any] = {"path": "tests/hello", "cron": "0 3 * * *", "next_at": NOW + 1000}
    return Schedule(name=name, **{**given, "created_at": NOW, "by": "ann", **more})


def trigger(name: str = "orders", **more: Any) -> Trigger:
    given: dict[str, Any] = {"kind": "webhook", "path": "tests/hello", "secret": "d" * 64}
    return Trigger(name=name, **{**given, "created_at": NOW, "by": "ann", **more})


FULL = schedule(
    version=3,
    workload={"a": [1, {"b": None}], "ü": 1.5},
    cron=None,
    timezone="Europe/Berlin",
    every_s=90,
    enabled=False,
    catch_up="none",
    overlap="queue",
    next_at=None,
    last_at=1,
    last_execution="e",
    last_error="it went wrong",
    skipped=Skipped(3, 10, 30, "no server ran then", 7),
)


async def test_a_schedule_is_kept_as_it_was_given(store: Store) -> None:
    for given in (FULL, schedule("plain")):
        assert await store.put_schedule(given)
        assert await store.schedule(given.name) == given


async def test_schedules_are_listed_by_name(store: Store) -> None:
    for name in ("b", "c", "a"):
        await store.put_schedule(schedule(name))
    assert [one.name for one in await store.schedules()] == ["a", "b", "c"]


async def test_a_changed_schedule_keeps_its_maker_and_what_its_last_tick_did(store: Store) -> None:
    await store.put_schedule(FULL)
    other = schedule(FULL.name, path="tests/other", created_at=NOW + 5, by="bob")
    assert await store.put_schedule(other)
    kept = {name: getattr(FULL, name) for name in ("last_at", "last_execution", "last_error", "skipped")}
    assert await store.schedule(FULL.name) == replace(other, created_at=NOW, by="ann", **kept)


async def test_a_new_schedule_takes_no_name_that_is_taken(store: Store) -> None:
    assert await store.put_schedule(schedule(), new=True)
    assert not await store.put_schedule(schedule(path="tests/other"), new=True)
    assert (await store.schedule("nightly")).path == "tests/hello"


async def test_a_schedule_that_is_not_there_is_told_as_such(store: Store) -> None:
    for attempt in (store.schedule("no"), store.delete_schedule("no")):
        with pytest.raises(NotFound, match="'no'"):
            await attempt
    await store.put_schedule(schedule())
    await store.delete_schedule("nightly")
    assert await store.schedules() == []


async def test_schedules_are_due_by_the_clock_of_the_store(store: Store, clock: Clock) -> None:
    assert await store.clock() == NOW
    for name, next_at in (("later", NOW + 9), ("soon", NOW + 5), ("paused", None), ("sooner", NOW + 1)):
        await store.put_schedule(schedule(name, next_at=next_at))
    assert await store.due_schedules() == []
    clock.now = NOW + 5
    assert [one.name for one in await store.due_schedules()] == ["sooner", "soon"]
    assert [one.name for one in await store.due_schedules(1)] == ["sooner"]


async def test_a_schedule_goes_on_to_its_next_tick_once(store: Store, clock: Clock) -> None:
    given = schedule()
    await store.put_schedule(given)
    clock.now = NOW + 1000
    missed = Skipped(2, NOW, NOW + 500, "no server ran then", 2)
    fired = Fired(NOW + 2000, NOW + 1000, execution="e1", skipped=missed)
    attempts = [store.advance_schedule("nightly", NOW + 1000, fired) for _ in range(8)]
    assert sorted(await asyncio.gather(*attempts)) == [False] * 7 + [True]
    assert await store.due_schedules() == []
    after = replace(given, next_at=NOW + 2000, last_at=NOW + 1000, last_execution="e1", skipped=missed)
    assert await store.schedule("nightly") == after
    await store.put_schedule(schedule())
    clock.now = NOW + 1000
    assert await store.advance_schedule("nightly", NOW + 1000, Fired(NOW + 2000, NOW + 1000))
    assert (await store.schedule("nightly")).skipped == missed


async def test_a_tick_that_started_nothing_keeps_the_last_execution_and_says_why(store: Store) -> None:
    await store.put_schedule(schedule(last_execution="e1"))
    assert await store.advance_schedule("nightly", NOW + 1000, Fired(None, NOW + 1000, error="no playbook"))
    found = await store.schedule("nightly")
    assert (found.next_at, found.last_execution, found.last_error) == (None, "e1", "no playbook")
    assert not await store.advance_schedule("nightly", NOW + 1000, Fired(None, NOW))
    assert not await store.advance_schedule("other", NOW + 1000, Fired(None, NOW))


async def test_a_trigger_is_kept_as_it_was_given(store: Store) -> None:
    on_bus = trigger(
        "bus",
        kind="nats",
        version=2,
        workload={"a": {"b": [None, True]}},
        payload_key="order",
        secret=None,
        subject="orders.*",
        queue="q",
        enabled=False,
    )
    for given in (trigger(), on_bus):
        assert await store.put_trigger(given)
        assert await store.trigger(given.name) == given
    assert [one.name for one in await store.triggers()] == ["bus", "orders"]


async def test_a_changed_trigger_keeps_its_maker(store: Store) -> None:
    assert await store.put_trigger(trigger(), new=True)
    assert not await store.put_trigger(trigger(path="tests/other"), new=True)
    other = trigger(path="tests/other", created_at=NOW + 5, by="bob")
    assert await store.put_trigger(other)
    assert await store.trigger("orders") == replace(other, created_at=NOW, by="ann")


async def test_a_webhook_keeps_its_secret_until_it_gets_another_and_nothing_else_has_one(
    store: Store,
) -> None:
    webhook = Trigger(name="t", kind="webhook", path="p", secret="1")
    for given, kept in (
        (webhook, "1"),
        (replace(webhook, secret=None), "1"),
        (replace(webhook, secret="2"), "2"),
    ):
        await store.put_trigger(given)
        assert (await store.trigger("t")).secret == kept
    await store.put_trigger(replace(webhook, kind="nats", secret=None))
    assert (await store.trigger("t")).secret is None


async def test_a_trigger_that_is_not_there_is_told_as_such(store: Store) -> None:
    for attempt in (store.trigger("no"), store.delete_trigger("no")):
        with pytest.raises(NotFound, match="'no'"):
            await attempt
    await store.put_trigger(trigger())
    await store.delete_trigger("orders")
    assert await store.triggers() == []


async def test_the_clock_of_a_database_is_its_own(ground: Ground) -> None:
    store = await emptied(await PostgresStore.open(ground.database()))
    try:
        now = await store.clock()
        await store.put_schedule(schedule("past", next_at=now))
        await store.put_schedule(schedule("future", next_at=now + 3_600_000))
        assert now > NOW // 2
        assert [one.name for one in await store.due_schedules()] == ["past"]
        assert await store.advance_schedule("past", now, Fired(now + 3_600_000, now))
        assert await store.due_schedules() == []
    finally:
        await store.close()
