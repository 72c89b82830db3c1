"""Whoever wants to know is told: once by two servers, and also when the one that was about to is killed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from noetl.ports.notification import FindDeliveries, NotificationAsk
from tests.distributed.cluster import WITHIN_S, Cluster, Node
from tests.receiver import Receiver, receiving

MANY = 12
FAILS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fails, path: distributed/fails}
workflow:
  - step: start
    tool: {kind: python, code: "1 / 0"}
"""


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def notify(cluster: Cluster, server: Node, receiver: Receiver) -> None:
    async with cluster.front(server) as front:
        await front.put_credential("signing", {"secret": "it signs"})
        ask = NotificationAsk(name="ops", target=f"webhook:{receiver.url}/told", auth="signing")
        await front.put_notification(ask)


async def settled(cluster: Cluster, count: int) -> Counter[str]:
    """Wait until so many deliveries are not pending any more; how many of which state."""
    async with cluster.store() as store, asyncio.timeout(WITHIN_S):
        while True:
            found = await store.deliveries(FindDeliveries(limit=500))
            if len(found) >= count and all(one.state != "pending" for one in found):
                return Counter(one.state for one in found)
            await asyncio.sleep(0.05)


async def test_two_servers_tell_each_failure_once(cluster: Cluster, receiver: Receiver) -> None:
    servers = cluster.server(), cluster.server()
    cluster.worker()
    await notify(cluster, servers[0], receiver)
    begun = [await cluster.start(servers[number % 2], FAILS) for number in range(MANY)]
    for execution_id in begun:
        assert (await cluster.finished(execution_id)).status == "failed"
    assert await settled(cluster, MANY) == {"delivered": MANY}
    assert sorted(call.json["execution_id"] for call in receiver.calls) == sorted(begun)


@pytest.mark.parametrize(("fault", "calls"), [("before_telling:1", 1), ("after_telling:1", 2)])
async def test_a_server_that_is_killed_while_it_tells_leaves_that_to_another(
    cluster: Cluster, receiver: Receiver, fault: str, calls: int
) -> None:
    first = cluster.server(fault)
    cluster.worker()
    await notify(cluster, first, receiver)
    execution_id = await cluster.start(first, FAILS)
    await first.gone()
    cluster.server()
    assert (await cluster.finished(execution_id)).status == "failed"
    assert await settled(cluster, 1) == {"delivered": 1}
    told = [(call.json["execution_id"], call.headers["webhook-id"]) for call in receiver.calls]
    assert [one for one, _ in told] == [execution_id] * calls
    assert len({key for _, key in told}) == 1, "a repeat can be told by its id"
