"""The store port, on every product: ticks, decided with their schedule and moved on once; backfills."""

import asyncio

import pytest
from msgspec.structs import replace

from noetl.errors import NotFound
from noetl.ports.notification import Notification
from noetl.ports.schedule import Fired, Schedule
from noetl.ports.store import Store
from noetl.ports.tick import HISTORY_KEPT, REMOVED, Backfill, Tick
from tests.conformance.stores import NOW, Clock, begin

OWNER = "schedule/s"


def tick(number: int, status: str = "starting", owner: str = OWNER) -> Tick:
    return Tick(owner=owner, tick=number, status=status, at=NOW)  # type: ignore[arg-type]


def backfill(backfill_id: str = "b", created_at: int = NOW) -> Backfill:
    return Backfill(
        id=backfill_id,
        schedule=None,
        path="p",
        version=None,
        workload={"ü": [1]},
        cron=None,
        timezone="UTC",
        every_s=60,
        first_at=1,
        last_at=2,
        parallel=1,
        total=2,
        created_at=created_at,
        by="ann",
    )


async def scheduled(store: Store, next_at: int = 1) -> None:
    await store.put_schedule(Schedule(name="s", path="p", every_s=1, next_at=next_at))


async def test_a_tick_is_kept_with_the_schedule_that_goes_on_or_not_at_all(store: Store) -> None:
    await scheduled(store)
    assert await store.advance_schedule("s", 1, Fired(2, 1), [tick(1)])
    assert not await store.advance_schedule("s", 1, Fired(9, 1), [tick(7, "skipped")])
    assert list(await store.ticks(OWNER)) == [tick(1)]
    assert (await store.schedule("s")).next_at == 2


async def test_of_servers_that_decide_at_once_one_does(store: Store) -> None:
    await scheduled(store)
    decided = [store.advance_schedule("s", 1, Fired(2, 1), [replace(tick(1), why=str(n))]) for n in range(5)]
    assert sum(await asyncio.gather(*decided)) == 1
    assert len(await store.ticks(OWNER)) == 1


async def test_a_tick_that_was_decided_before_stays_as_it_is(store: Store) -> None:
    await scheduled(store)
    await store.advance_schedule("s", 1, Fired(1, 1), [tick(1)])
    assert await store.advance_schedule("s", 1, Fired(2, 1), [tick(1, "skipped")])
    assert list(await store.ticks(OWNER)) == [tick(1)]


async def test_a_tick_moves_on_once(store: Store, clock: Clock) -> None:
    await scheduled(store)
    await store.advance_schedule("s", 1, Fired(2, 1), [tick(1)])
    running = replace(tick(1, "running"), execution="e")
    moved = await asyncio.gather(*(store.move_tick(running, "starting") for _ in range(5)))
    assert sum(moved) == 1
    assert await store.move_tick(tick(1, "failed"), "running")
    (after,) = await store.ticks(OWNER)
    assert (after.status, after.execution) == ("failed", "e"), "what it started stays known"
    assert not await store.move_tick(tick(5, "failed"), "running")


async def test_a_refused_tick_is_noted_with_who_is_told_of_it_and_once(store: Store) -> None:
    """In one commit: a server that dies in between leaves nobody out."""
    await scheduled(store)
    await store.put_notification(Notification(name="n", target="mail:a@example.com"))
    await store.advance_schedule("s", 1, Fired(2, 1), [tick(1)])
    refused = replace(tick(1, "refused"), why="it is gone")
    told = ["n", "deleted a moment ago"]
    moved = await asyncio.gather(*(store.refuse_tick(refused, told, "p", "{}") for _ in range(3)))
    assert sum(moved) == 1
    assert [(one.notification, one.path, one.detail) for one in await store.deliveries()] == [
        ("n", "p", "{}")
    ]
    (after,) = await store.ticks(OWNER)
    assert (after.status, after.why) == ("refused", "it is gone")


async def test_ticks_are_read_the_newest_first_and_open_ones_the_oldest_first(store: Store) -> None:
    await scheduled(store)
    given = [tick(1, "skipped"), tick(2, "running"), tick(3, "queued"), tick(4)]
    await store.advance_schedule("s", 1, Fired(2, 1), given)
    assert [one.tick for one in await store.ticks(OWNER, 2)] == [4, 3]
    assert [one.tick for one in await store.ticks(OWNER, 9, 3)] == [2, 1]
    assert [one.tick for one in await store.open_ticks(OWNER)] == [2, 3, 4]
    assert [one.tick for one in await store.open_ticks()] == [2, 3, 4]
    assert await store.open_ticks("schedule/other") == []


async def test_old_ticks_are_forgotten_unless_they_are_open(store: Store) -> None:
    await scheduled(store)
    many = [tick(1, "running"), *(tick(number, "skipped") for number in range(2, HISTORY_KEPT + 12))]
    await store.advance_schedule("s", 1, Fired(2, 1), many)
    kept = await store.ticks(OWNER, 10_000)
    assert (len(kept), kept[-1].tick) == (HISTORY_KEPT + 1, 1)


async def test_how_an_execution_ended_is_known_of_its_tick(store: Store, clock: Clock) -> None:
    await scheduled(store)
    over = await begin(store, 1, status="failed", ended_at=NOW)
    runs = await begin(store, 2)
    given = [replace(tick(n, "running"), execution=one) for n, one in enumerate((over, runs, "gone"))]
    await store.advance_schedule("s", 1, Fired(2, 1), given)
    ended, gone = sorted(await store.ended_ticks(), key=lambda one: one.tick)
    assert (ended.tick, ended.status, ended.execution, ended.why) == (0, "failed", over, None)
    assert (gone.tick, gone.status, gone.why) == (2, "failed", REMOVED)


async def test_how_an_execution_ended_is_noted_before_it_is_deleted(store: Store) -> None:
    """A tick that stays open for what is gone would hold up its schedule for ever."""
    await scheduled(store)
    over = await begin(store, 1, status="completed", ended_at=NOW)
    given = [replace(tick(1, "running"), execution=over), tick(2, "queued")]
    await store.advance_schedule("s", 1, Fired(3, 2), given)
    assert list(await store.delete([over], NOW)) == [over]
    assert [(one.tick, one.status) for one in await store.ticks(OWNER)] == [(2, "queued"), (1, "completed")]
    assert list(await store.ended_ticks()) == []


async def test_a_tick_of_a_backfill_starts_only_while_that_runs(store: Store) -> None:
    own = "backfill/b"
    await store.put_backfill(backfill(), [tick(number, "planned", own) for number in (1, 2)])
    assert await store.move_tick(tick(1, "starting", own), "planned", "b")
    assert await store.move_backfill("b", ["running"], "paused")
    assert not await store.move_tick(tick(2, "starting", own), "planned", "b")
    assert await store.move_tick(tick(1, "running", own), "starting")
    assert await store.move_backfill("b", ["paused"], "running")
    assert await store.move_tick(tick(2, "starting", own), "planned", "b")


async def test_a_tick_that_runs_is_told_to_readers_as_its_execution_stands(store: Store) -> None:
    waits = await begin(store, 1, status="waiting")
    held = await begin(store, 2, status="paused")
    runs = await begin(store, 3)
    executions = (waits, held, runs, "gone")
    given = [replace(tick(n, "running", "backfill/b"), execution=one) for n, one in enumerate(executions)]
    await store.put_backfill(backfill(), [*given, tick(9, "planned", "backfill/b")])
    told = await store.ticks("backfill/b")
    assert [one.status for one in told] == ["planned", "running", "running", "paused", "waiting"]
    counts = (await store.backfill("b")).counts
    assert counts == {"planned": 1, "running": 2, "paused": 1, "waiting": 1}
    assert [one.status for one in await store.open_ticks()] == ["running"] * 4, "what is done about them"


async def test_a_deleted_schedule_has_no_ticks(store: Store) -> None:
    await scheduled(store)
    await store.advance_schedule("s", 1, Fired(2, 1), [tick(1)])
    await store.delete_schedule("s")
    assert await store.ticks(OWNER) == []


async def test_what_the_last_tick_started_is_noted_with_its_schedule(store: Store) -> None:
    await scheduled(store)
    await store.advance_schedule("s", 1, Fired(2, 1), [tick(1)])
    await store.note_tick("s", 1, "e", None)
    await store.note_tick("s", 0, "other", "late news")
    after = await store.schedule("s")
    assert (after.last_execution, after.last_error) == ("e", None)


async def test_a_backfill_is_kept_with_its_ticks_and_counts_them(store: Store) -> None:
    planned = [tick(number, "planned", "backfill/b") for number in (1, 2)]
    await store.put_backfill(backfill(), planned)
    kept = await store.backfill("b")
    assert kept == replace(backfill(), counts={"planned": 2})
    assert list(await store.backfills()) == [kept]
    assert list(await store.running_backfills()) == [backfill()]
    assert [one.tick for one in await store.planned_ticks("backfill/b", 1)] == [1]
    with pytest.raises(NotFound, match="'no'"):
        await store.backfill("no")


async def test_a_backfill_changes_only_from_what_was_expected(store: Store) -> None:
    await store.put_backfill(backfill(), [tick(1, "running", "backfill/b"), tick(2, "planned", "backfill/b")])
    assert await store.move_backfill("b", ["running"], "paused")
    assert not await store.move_backfill("b", ["running"], "paused")
    assert await store.running_backfills() == []
    assert await store.move_backfill("b", ["running", "paused"], "cancelled")
    after = await store.backfill("b")
    assert (after.status, after.counts) == ("cancelled", {"running": 1, "cancelled": 1})


async def test_backfills_that_are_over_are_forgotten_with_their_ticks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("noetl.adapters.sql.ticks", "noetl.adapters.memory.ticks"):
        monkeypatch.setattr(f"{module}.BACKFILLS_KEPT", 1)
    for number in range(4):
        name = f"b{number}"
        await store.put_backfill(backfill(name, NOW + number), [tick(1, "completed", f"backfill/{name}")])
        await store.move_backfill(name, ["running"], "done")
    assert [one.id for one in await store.backfills()] == ["b3", "b2"]
    assert await store.ticks("backfill/b0") == []
    assert len(await store.ticks("backfill/b2")) == 1
