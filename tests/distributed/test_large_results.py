"""Large results in a cluster: workers load what their tasks read, through whatever result store there is."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.distributed.cluster import Cluster
from tests.engine.web import Web
from tests.servers import S3Server

ETL = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: etl, path: distributed/etl}
workload: {rows: 2000, url: ""}
workflow:
  - step: produce
    tool:
      kind: python
      input:
        n: "{{ workload.rows }}"
        code: |
          result = {"rows": [{"id": i, "name": "x" * 100} for i in range(n)], "count": n}
    next: {arcs: [{step: each, when: "{{ produce.count == workload.rows }}"}]}
  - step: each
    loop:
      in: "{{ produce.data.rows }}"
      iterator: row
      spec: {mode: parallel, max_in_flight: 8, chunk: 250, policy: {exec: distributed}}
    tool: {kind: noop, output: {id: "{{ iter.row.id }}", of: "{{ produce.count }}", pad: "{{ iter.row.name * 3 }}"}}
    next: {arcs: [{step: last}]}
  - step: last
    input: {ends: "{{ each.data | length }}"}
    tool:
      - {name: first, kind: python, input: {v: "{{ each.data }}", code: "result = [len(v), v[-1]['id'], v[-1]['of']]"}}
      - {name: tell, kind: http, input: {url: "{{ workload.url }}/slow/0.3", method: GET}}
      - {name: result, kind: noop, output: "{{ first.data + [input.ends, produce.data.rows[7].id, produce.count] }}"}
"""


def wanted(rows: int) -> list[int]:
    return [rows, rows - 1, rows, rows, 7, rows]


async def came(cluster: Cluster, execution_id: str, rows: int) -> None:
    """The execution went well, and its log has nothing large in it."""
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    assert msgspec.json.decode(summary.result or b"")["output"] == wanted(rows)
    assert max(len(msgspec.json.encode(event)) for event in await cluster.log(execution_id)) < 140_000


@pytest.fixture
def results(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A result store of the kind that the test names, as the setting says it."""
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return f"s3://{server.new_bucket()}/results"
    return str(tmp_path / "results") if request.param == "folder" else str(request.param)


@pytest.mark.parametrize(
    ("results", "link"),
    [("postgres", "direct"), ("nats", "nats"), ("folder", "direct"), ("s3", "direct")],
    indirect=["results"],
)
async def test_a_worker_loads_what_its_tasks_read(cluster: Cluster, web: Web, results: str) -> None:
    server = cluster.server(results=results)
    cluster.worker(results=results)
    for rows in (100, 2000):
        execution_id = await cluster.start(server, ETL, {"url": web.url, "rows": rows})
        await came(cluster, execution_id, rows)


async def test_whoever_takes_the_work_over_loads_it_again(cluster: Cluster, web: Web) -> None:
    server = cluster.server()
    first = cluster.worker()
    execution_id = await cluster.start(server, ETL.replace("slow/0.3", "slow/3"), {"url": web.url})
    await asyncio.to_thread(web.wait_for, "/slow/3", 1, 60.0)
    first.kill()
    cluster.worker()
    await came(cluster, execution_id, 2000)
    assert [event for event in await cluster.log(execution_id) if event.name == "lease.expired"]
