"""Tool kinds of a project's own: a server checks playbooks by them, and only a worker that has one is given its work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl import tools
from tests.distributed.cluster import Cluster

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: tools, path: distributed/tools}
workflow:
  - step: start
    tool: {kind: greet, input: {who: Ann}}
    output: "{{ start.data }}"
"""
MODULE = """
import noetl


@noetl.tool
def greet(who: str, context: noetl.ToolContext) -> str:
    context.log(context.idempotency_key)
    return f"Hello {who}!"
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    """A file with the kind `greet`, which this process knows too, since it checks the log."""
    file = tmp_path / "greet.py"
    file.write_text(MODULE)
    tools.use_modules((str(file),), "")
    yield str(file)
    tools.use_modules((), "")


async def test_work_goes_to_a_worker_that_has_its_kind(cluster: Cluster, module: str) -> None:
    server = cluster.server(tools=module)
    cluster.worker()
    able = cluster.worker(tools=module)
    execution_id = await cluster.start(server, PLAYBOOK)
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    events = await cluster.log(execution_id)
    assert [(event.data or {})["worker"] for event in events if event.name == "step.started"] == [able.said]
    async with cluster.front(server) as front:
        known = {worker.worker_id: "greet" in worker.kinds for worker in await front.workers()}
    assert known[able.said]
    assert sum(known.values()) == 1
    done = next(event for event in events if event.name == "step.done")
    assert (done.data or {})["output"]["data"] == "Hello Ann!"
