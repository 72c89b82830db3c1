"""Work goes to the pool that playbook and step name, and waits for it when nobody serves it."""

from tests.distributed.cluster import Cluster

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
    await cluster.says(server, ready=False)
    cluster.worker(pool="large")
    assert (await cluster.finished(execution_id)).status == "completed"
    await cluster.says(server, ready=True)
