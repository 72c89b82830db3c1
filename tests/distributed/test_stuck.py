"""An execution that takes its owners down is set aside before it takes the third, and nobody else is."""

import asyncio

import msgspec

from noetl.control.stuck_executions import stuck_of
from noetl.ports.store import Find, Stuck
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster

BUG = "on_deadly_report:1"
DEADLY = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: deadly, path: distributed/deadly}
workflow:
  - step: start
    tool: {kind: noop}
"""
INNOCENT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: innocent, path: distributed/innocent}
workflow:
  - step: start
    loop: {in: "{{ range(40) | list }}", iterator: n, spec: {mode: sequential}}
    tool: {kind: wait, input: {seconds: 0.5}}
"""


async def stuck(cluster: Cluster, execution_id: str) -> Stuck:
    """Wait until an execution is stuck; why."""
    async with cluster.store() as store, asyncio.timeout(WITHIN_S):
        while (why := stuck_of(await store.summary(execution_id))) is None:
            assert not all(node.died() for node in cluster.nodes)
            await asyncio.sleep(LOOK_S)
        return why


async def test_an_execution_that_took_its_owner_down_twice_is_not_taken_over_a_third_time(
    cluster: Cluster,
) -> None:
    first, second = cluster.server(BUG), cluster.server(BUG)
    cluster.worker()
    innocent = [await cluster.start(server, INNOCENT) for server in (first, first, second)]
    deadly = await cluster.start(first, DEADLY)
    await first.gone()
    await second.gone()
    third = cluster.server(BUG)
    why = await stuck(cluster, deadly)
    assert (why.reason, "signal 9" in why.error) == ("owners", True)
    async with cluster.front(third) as front:
        await front.release(deadly)  # it is tried apart again
        assert (await stuck(cluster, deadly)).since > why.since
        assert [one.execution_id for one in (await front.executions(Find(status="stuck"))).items] == [deadly]
        told = await front.why(deadly)
        assert "ended the processes" in told["summary"]
    for execution_id in innocent:
        assert (await cluster.finished(execution_id)).status == "completed"
    assert not third.died()
    repaired = cluster.server()
    assert third.stop() == 0
    async with cluster.front(repaired) as front:
        await front.release(deadly)
    summary = await cluster.finished(deadly)
    assert summary.status == "completed"
    assert msgspec.json.decode(summary.result or b"")["counts"]["steps"] == 1
