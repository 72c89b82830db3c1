"""Who may work, and what may be read on the bus: workers show a token, and no secret travels in the clear."""

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import nats
import pytest

from noetl.adapters.http.front import HttpFront
from noetl.ports.front import Ask
from tests.distributed.cluster import READY_S, WITHIN_S, Cluster
from tests.engine.web import Web

SECRET = "tr0ub4dor & 3/ü"
PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secret, path: distributed/secret}
workload: {url: ""}
keychain:
  - {name: api, kind: bearer, credential: api}
workflow:
  - step: call
    tool:
      kind: http
      auth: api
      input: {url: "{{ workload.url }}/echo"}
"""


PLAIN = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: plain, path: distributed/plain}
workload: {url: ""}
workflow:
  - step: call
    tool: {kind: http, input: {url: "{{ workload.url }}/echo"}}
"""


def token(cluster: Cluster, *scopes: str) -> str:
    """A new token, made on the store as an operator does."""
    given = [word for scope in scopes for word in ("--scope", scope)]
    done = subprocess.run(
        [sys.executable, "-m", "noetl.cli", "token", "create", "tester", *given],
        env=cluster.environment({}),
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        timeout=READY_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("scope", [None, "admin"])
async def test_a_worker_without_a_token_for_workers_is_sent_away(cluster: Cluster, scope: str | None) -> None:
    cluster.server(auth="true")
    worker = cluster.refused_worker(**({"token": token(cluster, scope)} if scope else {}))
    assert await asyncio.to_thread(worker.process.wait, WITHIN_S) == 2
    assert "token" in worker.printed.read_text()


async def test_a_worker_goes_on_for_the_server_that_lets_it_work(cluster: Cluster, web: Web) -> None:
    server = cluster.server()
    worker = cluster.worker()
    guarded = cluster.server(auth="true")  # on the same bus, and wants a token
    own, other = HttpFront(server.said), HttpFront(guarded.said, token(cluster, "admin"))
    try:
        ask = Ask(text=PLAIN, workload={"url": web.url})
        refused = (await other.start(ask)).execution_id  # its hints reach the worker, which may not have it
        summary = await cluster.finished((await own.start(ask)).execution_id)
        assert summary.status == "completed"
        assert (await other.execution(refused))["status"] == "running"
    finally:
        await own.close()
        await other.close()
    assert not worker.died()


async def test_no_secret_can_be_read_on_the_bus_or_in_the_log(cluster: Cluster, web: Web) -> None:
    server = cluster.server(auth="true")
    worker_token, own_token = token(cluster, "worker"), token(cluster, "admin")
    front = HttpFront(server.said, own_token)
    async with _listening(cluster) as heard:
        cluster.worker(token=worker_token)
        try:
            await front.put_credential("api", {"value": SECRET})
            ask = Ask(text=PLAYBOOK, workload={"url": web.url})
            execution_id = (await front.start(ask)).execution_id
            summary = await cluster.finished(execution_id)
        finally:
            await front.close()
    assert summary.status == "completed", summary.result
    assert web.seen[0]["headers"]["authorization"].startswith("Bearer ")
    log = "".join(str(event) for event in await cluster.log(execution_id))
    for hidden in (*_spellings(SECRET), worker_token.split("_", 2)[2]):
        assert hidden not in log
        assert hidden.encode() not in b"".join(heard)
    assert any(b"step.done" in message for message in heard)  # it was the traffic that was looked at


def _spellings(secret: str) -> list[str]:
    raw = secret.encode()
    return [
        secret,
        json.dumps(secret)[1:-1],
        base64.b64encode(raw).decode().rstrip("="),
        raw.hex(),
        quote(secret, safe=""),
    ]


@asynccontextmanager
async def _listening(cluster: Cluster) -> AsyncIterator[list[bytes]]:
    """Everything that is said on the bus meanwhile."""
    heard: list[bytes] = []
    client = await nats.connect(cluster.bus_url)

    async def hear(message: Any) -> None:
        heard.append(message.data)

    try:
        await client.subscribe(">", cb=hear)
        await client.flush()
        yield heard
        await client.flush()
    finally:
        await client.close()
