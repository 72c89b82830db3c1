"""Work goes to the pool that playbook and step name, and waits for it when nobody serves it."""

import asyncio
import time
import urllib.error
import urllib.request

from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster, Node

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: pools, path: distributed/pools}
executor: {spec: {pool: small}}
workflow:
  - step: first
    tool: {kind: noop}
    next: {arcs: [{step: second}]}
  - step: second
    spec: {pool: large}
    loop: {in: [1, 2, 3, 4], iterator: n, spec: {mode: parallel, chunk: 1, policy: {exec: distributed}}}
    tool: {kind: noop}
    next: {arcs: [{step: third}]}
  - step: third
    tool: {kind: noop}
"""


async def test_each_step_runs_in_its_pool(cluster: Cluster) -> None:
    server = cluster.server()
    small, large = cluster.worker(pool="small"), cluster.worker(pool="large")
    execution_id = await cluster.start(server, PLAYBOOK)
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    ran = {
        (event.run or "").rpartition(".")[0]: (event.data or {})["worker"]
        for event in await cluster.log(execution_id)
        if event.name == "step.started"
    }
    assert ran == {"first": small.said, "second": large.said, "third": small.said}


async def test_work_for_a_pool_that_nobody_serves_waits_and_the_server_says_so(cluster: Cluster) -> None:
    server = cluster.server(ready_s="0.2")
    cluster.worker(pool="small")
    execution_id = await cluster.start(server, PLAYBOOK)
    await cluster.reached(execution_id, "step.done", 1)
    await asyncio.to_thread(wait_until, server, ready=False)
    cluster.worker(pool="large")
    assert (await cluster.finished(execution_id)).status == "completed"
    await asyncio.to_thread(wait_until, server, ready=True)


def wait_until(server: Node, *, ready: bool) -> None:
    """Wait for what a server says of itself."""
    until = time.monotonic() + WITHIN_S
    while _is_ready(server) is not ready:
        assert time.monotonic() < until
        time.sleep(LOOK_S)


def _is_ready(server: Node) -> bool:
    try:
        with urllib.request.urlopen(f"{server.said}/health/ready", timeout=30) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as refused:
        refused.close()
        return False
