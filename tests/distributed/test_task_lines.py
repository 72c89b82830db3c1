"""What tasks print on a worker is read from any server while they run, over both links, and with older releases."""

import asyncio
import os
from contextlib import aclosing

from noetl.ports.front import FindLines
from tests.distributed.cluster import BOTH_LINKS, WITHIN_S, Cluster, Node
from tests.releases import previous

HOLDS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: holds, path: distributed/holds}
workflow:
  - step: hold
    tool:
      kind: python
      input:
        gate: "@gate@"
        code: |
          import logging, sys
          logging.error("held")
          open(gate).read()
          for n in range(1000): print(n, file=sys.stderr if n % 2 else sys.stdout)
"""


async def texts(cluster: Cluster, server: Node, execution_id: str) -> list[str]:
    async with cluster.front(server) as front:
        pages = front.follow_logs(execution_id, live=False)
        return [line["text"] async for page in pages for line in page["items"]]


@BOTH_LINKS
async def test_lines_are_at_a_reader_of_another_server_while_the_task_runs(cluster: Cluster) -> None:
    gate = cluster.folder / "gate"
    os.mkfifo(gate)
    first, other = cluster.server(), cluster.server()
    cluster.worker()
    await cluster.knows(first, 1)
    execution_id = await cluster.start(first, HOLDS.replace("@gate@", str(gate)))
    seen: list[tuple[str | None, str]] = []
    async with (
        asyncio.timeout(WITHIN_S),
        cluster.front(other) as front,
        aclosing(front.follow_logs(execution_id, FindLines(step="hold"))) as pages,
    ):
        async for page in pages:
            if page["items"] and not seen:
                assert await front.status(execution_id) == "running"
                await asyncio.to_thread(gate.write_text, "go on")
            seen += [(line["level"], line["text"]) for line in page["items"]]
    assert seen == [("error", "ERROR:root:held"), *((None, str(n)) for n in range(1000))]
    await cluster.finished(execution_id)
    assert await texts(cluster, first, execution_id) == ["ERROR:root:held", *map(str, range(1000))]


@BOTH_LINKS
async def test_a_worker_of_one_release_and_a_server_of_another_lose_no_lines(cluster: Cluster) -> None:
    text = HOLDS.replace("@gate@", os.devnull).replace("range(1000)", "range(10)")
    newer = cluster.server()
    older_worker = cluster.worker(release=previous.VERSION)
    await cluster.knows(newer, 1)
    execution_id = await cluster.start(newer, text)
    await cluster.finished(execution_id)
    assert set(await texts(cluster, newer, execution_id)) >= {str(n) for n in range(10)}
    older_worker.stop()
    newer.stop()
    older = cluster.server(release=previous.VERSION)
    cluster.worker()
    await cluster.knows(older, 1)
    execution_id = await cluster.start(older, text)
    await cluster.finished(execution_id)
    recorded = [event for event in await cluster.log(execution_id) if event.name == "task.done"]
    assert (recorded[0].data or {})["logs"] == ["ERROR:root:held", *map(str, range(10))]
