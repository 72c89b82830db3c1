"""Ticks every second over PostgreSQL, while servers are killed: none is lost, none starts twice."""

import asyncio
import time

from msgspec.structs import replace

from noetl.core.event import iso
from noetl.ports.schedule import ScheduleAsk
from noetl.ports.store import Find, Store
from noetl.ports.tick import BackfillAsk
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster

QUICK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: quick, path: tests/quick}
workflow:
  - step: start
    tool: {kind: noop}
    output: "{{ trigger.tick }}"
"""
FAST = ScheduleAsk(name="fast", path="tests/quick", every_s=1, catch_up="all", overlap="allow")


async def until_ticks(store: Store, count: int, owner: str = "schedule/fast") -> None:
    """Wait until so many executions of ticks are over."""
    until = time.monotonic() + WITHIN_S
    while True:
        ended = [tick for tick in await store.ticks(owner, 500) if tick.status == "completed"]
        if len(ended) >= count:
            return
        assert time.monotonic() < until, await store.ticks(owner, 20)
        await asyncio.sleep(LOOK_S)


async def until_late(store: Store, late_ms: int) -> None:
    """Wait until ticks have been missed."""
    until = time.monotonic() + WITHIN_S
    while await store.clock() < ((await store.schedule("fast")).next_at or 0) + late_ms:
        assert time.monotonic() < until
        await asyncio.sleep(LOOK_S)


async def started_for(store: Store) -> list[str]:
    """The keys of all executions of the playbook; each tells its tick."""
    listed = await store.executions(Find(path="tests/quick", limit=500))
    assert listed.cursor is None
    return sorted(one.idempotency_key or one.execution_id for one in listed.items)


async def test_ticks_go_on_while_servers_are_killed_and_each_starts_once(cluster: Cluster) -> None:
    first, second = cluster.server(), cluster.server()
    cluster.worker()
    async with cluster.front(first) as front, cluster.store() as store:
        await front.register(QUICK)
        begun = (await front.put_schedule(FAST, new=True)).next_at or 0
        await until_ticks(store, 3)
        first.kill()
        await until_ticks(store, 6)
        second.kill()
        await until_late(store, 3000)
        third = cluster.server()
        await until_ticks(store, 12)
        async with cluster.front(third) as other:
            await other.put_schedule(replace(FAST, enabled=False))
        await until_over(store)
        ticks = [tick.tick for tick in reversed(await store.ticks("schedule/fast", 500))]
        assert ticks == list(range(begun, begun + len(ticks) * 1000, 1000)), "one was lost"
        assert await started_for(store) == [f"schedule/fast/{iso(tick)}" for tick in ticks]
        for tick in await store.ticks("schedule/fast", 500):
            await cluster.finished(tick.execution or "")


async def until_over(store: Store) -> None:
    until = time.monotonic() + WITHIN_S
    while await store.open_ticks():
        assert time.monotonic() < until, await store.open_ticks()
        await asyncio.sleep(LOOK_S)


async def test_a_backfill_goes_on_when_its_server_is_killed_and_starts_each_tick_once(
    cluster: Cluster,
) -> None:
    first, _ = cluster.server(), cluster.server()
    cluster.worker()
    async with cluster.front(first) as front, cluster.store() as store:
        await front.register(QUICK)
        ask = BackfillAsk(path="tests/quick", every_s=60, from_="2026-01-01T00:00Z", to="2026-01-01T00:19Z")
        ask.parallel = 3
        backfill = (await front.add_backfill(ask)).backfill
        owner = f"backfill/{backfill.id}"
        await until_ticks(store, 4, owner)
        first.kill()
        await until_ticks(store, 20, owner)
        ticks = await store.ticks(owner, 500)
        assert {tick.status for tick in ticks} == {"completed"}
        keys = [f"backfill/tests/quick/{iso(tick.tick)}" for tick in reversed(ticks)]
        assert await started_for(store) == keys
        for tick in ticks:
            await cluster.finished(tick.execution or "")
