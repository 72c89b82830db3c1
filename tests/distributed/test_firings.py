"""Ends of playbooks fire triggers over PostgreSQL: once by two servers, and also when one of them is killed."""

import asyncio

import msgspec
import pytest

from noetl.ports.front import Collected, WebhookCall
from noetl.ports.schedule import TriggerAsk, TriggerBatch
from noetl.ports.store import Find, Store
from tests.distributed.cluster import WITHIN_S, Cluster, Node

MANY = 6
FIRST = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: first, path: distributed/first}
workflow:
  - step: start
    tool: {kind: noop}
    output: "{{ execution_id }}"
"""
CALLED = FIRST.replace("first", "called").replace("execution_id", "trigger.payload")
SECRET = "a secret of some length"
NEXT = FIRST.replace("first", "next").replace("execution_id", "trigger.payload.execution_id")


async def wait_for_ends(cluster: Cluster, server: Node) -> None:
    async with cluster.front(server) as front:
        await front.register(FIRST)
        await front.register(NEXT)
        ask = TriggerAsk(name="t", kind="playbook", path="distributed/next", after=["distributed/first"])
        await front.put_trigger(ask, new=True)


async def fired(cluster: Cluster, store: Store, count: int) -> list[str]:
    """Of which ends the executions read that were started, once so many ends have fired."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await store.arrivals("t", 500)
            if len(found) >= count and all(one.state == "fired" for one in found):
                break
            await asyncio.sleep(0.05)
    read = []
    listed = await store.executions(Find(path="distributed/next", limit=500))
    for one in listed.items:
        ended = await cluster.finished(one.execution_id)
        read.append(str(msgspec.json.decode(ended.result or b"")["output"]))
    assert sorted(one.execution or "" for one in found) == sorted(one.execution_id for one in listed.items)
    return sorted(read)


async def test_two_servers_fire_each_end_once_and_what_one_took_is_fired_by_the_other(
    cluster: Cluster,
) -> None:
    servers = cluster.server(), cluster.server()
    cluster.worker()
    await wait_for_ends(cluster, servers[0])
    begun = [await cluster.start(servers[number % 2], FIRST) for number in range(MANY)]
    async with cluster.store() as store:
        assert await fired(cluster, store, MANY) == sorted(begun)
        await call_and_kill(cluster, servers[0])
        async with asyncio.timeout(WITHIN_S):
            while True:
                if not (await store.trigger("calls")).pending:
                    break
                await asyncio.sleep(0.05)
        [execution] = {one.execution for one in await store.arrivals("calls")}
        ended = await cluster.finished(execution or "")
    assert msgspec.json.decode(ended.result or b"")["output"] == [1, 2, 3]


async def call_and_kill(cluster: Cluster, server: Node) -> None:
    """Calls of a webhook that collects, answered by a server that is killed then."""
    batch = TriggerBatch(100, "3s")
    async with cluster.front(server) as front:
        await front.register(CALLED)
        ask = TriggerAsk(name="calls", kind="webhook", path="distributed/called", secret=SECRET, batch=batch)
        await front.put_trigger(ask, new=True)
        for number in (1, 2, 3):
            called = await front.knock("calls", WebhookCall(body=b"%d" % number, secret=SECRET))
            assert called == Collected("collected", "distributed/called")
    server.kill()


@pytest.mark.parametrize("fault", ["before_firing:1", "after_firing:1"])
async def test_a_server_that_is_killed_while_it_fires_leaves_that_to_another(
    cluster: Cluster, fault: str
) -> None:
    first = cluster.server(fault)
    cluster.worker()
    await wait_for_ends(cluster, first)
    execution_id = await cluster.start(first, FIRST)
    await first.gone()
    cluster.server()
    async with cluster.store() as store:
        assert await fired(cluster, store, 1) == [execution_id]
