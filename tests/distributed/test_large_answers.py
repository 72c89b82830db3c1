"""An answer of 300 MB passes through a worker and into the result store; no process ever holds it."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from tests.distributed.cluster import BOTH_LINKS, Cluster, Node

PIECE = b'{"id": 1, "name": "' + b"x" * (1024 * 1024 - 22) + b'"},'
PIECES = 300
HELD_MOST = 96 * 1024 * 1024  # more than before; what one template may load is 16 MiB
FETCH = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fetch, path: distributed/fetch}
workload: {url: ""}
workflow:
  - step: fetch
    tool: {kind: http, input: {url: "{{ workload.url }}"}}
    next: {arcs: [{step: tell}]}
  - step: tell
    tool: {kind: noop, output: "{{ fetch.ref.meta.bytes }}"}
"""


@pytest.fixture
async def giant() -> AsyncIterator[str]:
    """The address of an answer that is as large as it says nowhere."""

    async def answer(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"content-type": "application/json"})
        await stream.prepare(request)
        await stream.write(b"[")
        for _ in range(PIECES):
            await stream.write(PIECE)
        await stream.write(b"0]")
        await stream.write_eof()
        return stream

    app = web.Application()
    app.router.add_get("/giant", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/giant"
    await runner.cleanup()


def most_held(node: Node) -> int:
    """The most bytes of memory that a process had."""
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@BOTH_LINKS
async def test_an_answer_of_300_mb_is_held_by_no_process(cluster: Cluster, giant: str) -> None:
    nodes = [cluster.server(), cluster.worker()]
    warm = await cluster.start(nodes[0], FETCH, {"url": giant.replace("giant", "nowhere")})
    assert (await cluster.finished(warm)).status == "failed"
    before = [most_held(node) for node in nodes]
    execution_id = await cluster.start(nodes[0], FETCH, {"url": giant})
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    assert msgspec.json.decode(summary.result or b"")["output"] == PIECES * len(PIECE) + 3
    more = [most_held(node) - held for node, held in zip(nodes, before, strict=True)]
    assert max(more) < HELD_MOST
