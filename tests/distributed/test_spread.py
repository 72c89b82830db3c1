"""A distributed loop runs on all workers of its pool, as many iterations at once as it may."""

import pytest

from tests.distributed.cluster import Cluster
from tests.engine.web import Web

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: spread, path: distributed/spread}}
workload: {{url: ""}}
workflow:
  - step: spread
    loop:
      in: "{{{{ range({items}) | list }}}}"
      iterator: n
      spec: {{mode: parallel, max_in_flight: {limit}, policy: {{exec: distributed}}}}
    tool: {{kind: http, input: {{url: "{{{{ workload.url }}}}/together/{limit}/{{{{ iter.n }}}}"}}}}
"""


@pytest.mark.parametrize("items, limit, workers", [(16, 8, 2), (16, 8, 3), (24, 12, 2)])
async def test_a_small_loop_has_all_it_may_in_flight_over_all_workers(
    cluster: Cluster, web: Web, items: int, limit: int, workers: int
) -> None:
    cluster.lease_s = 30.0  # however slow the first call of a worker is, its leases stay with it
    server = cluster.server()
    named = {cluster.worker().said for _ in range(workers)}
    await cluster.knows(server, workers)
    text = PLAYBOOK.format(items=items, limit=limit)
    execution_id = await cluster.start(server, text, {"url": web.url})
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    assert web.most_together == limit
    log = await cluster.log(execution_id)
    assert {(event.data or {})["worker"] for event in log if event.name == "step.started"} == named
    assert [event.by for event in log if event.name == "loop.started"] == ["s"]
