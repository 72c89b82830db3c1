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

import msgspec
import nats
import pytest

from noetl.adapters.http.front import HttpFront
from noetl.adapters.link.sealed_box import SealedBox
from noetl.adapters.link.worker_name import marked
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.link import NatsLink
from noetl.adapters.nats.signing import Signer
from noetl.cli.doctor_checks import Finding, run_checks
from noetl.core.event import Event
from noetl.core.message import Report
from noetl.errors import Conflict, RequestError
from noetl.ports.front import Ask
from noetl.ports.link import Heartbeat, Hello, ReportRequest, SecretRequest, TakeRequest
from noetl.settings import load
from tests.distributed.cluster import BOTH_LINKS, OVER_NATS, READY_S, WITHIN_S, Cluster
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


def token(cluster: Cluster, *scopes: str, pool: str = "*") -> str:
    """A new token, made on the store as an operator does."""
    given = [word for scope in scopes for word in ("--scope", scope)]
    given += ["--pool", pool] if "worker" in scopes else []
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


@BOTH_LINKS
@pytest.mark.parametrize("scope", [None, "admin"])
async def test_a_worker_without_a_token_for_workers_is_sent_away(cluster: Cluster, scope: str | None) -> None:
    cluster.server(auth="true")
    worker = cluster.refused_worker(**({"token": token(cluster, scope)} if scope else {}))
    assert await asyncio.to_thread(worker.process.wait, WITHIN_S) == 2
    assert "token" in worker.printed.read_text()


@BOTH_LINKS
async def test_doctor_tells_where_a_worker_would_be_let_in(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(cluster.folder / "elsewhere"))
    server = cluster.server(auth="true")
    settings = {
        "server": server.said,
        "token": token(cluster, "worker", pool="large"),
        "bus": cluster.bus_url,
    }
    found = {pool: await _server_check({**settings, "pool": pool}) for pool in ("large", "small")}
    assert (found["large"].state, found["small"].state) == ("ok", "error")
    assert f"{server.said} lets workers of pool 'large' in" in found["large"].told
    assert "as a worker: the token 'tester' is not for the pool 'small'" in found["small"].told


async def _server_check(settings: dict[str, str | None]) -> Finding:
    given = {name: value for name, value in settings.items() if value is not None}
    return next(one for one in await run_checks(load(given)) if one.name == "server")


@BOTH_LINKS
async def test_a_worker_goes_on_for_the_server_that_lets_it_work(cluster: Cluster, web: Web) -> None:
    server = cluster.server()
    worker = cluster.worker()
    guarded = cluster.server(auth="true")  # of the same cluster, and wants a token
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


@pytest.mark.parametrize(("link", "at_work"), [("direct", True), ("nats", False)])
async def test_a_worker_that_every_server_refuses_ends_although_it_was_welcome(
    cluster: Cluster, web: Web, at_work: bool
) -> None:
    server = cluster.server(auth="true")
    worker = cluster.worker(token=token(cluster, "worker"))
    front = HttpFront(server.said, token(cluster, "admin"))
    try:
        if at_work:
            slow = PLAIN.replace("/echo", "/slow/90")
            await front.start(Ask(text=slow, workload={"url": web.url}))
            await asyncio.to_thread(web.wait_for, "/slow/90", 1, WITHIN_S)
        for known in await front.tokens():
            if "worker" in known.scopes:
                await front.delete_token(known.id)
        assert await asyncio.to_thread(worker.process.wait, WITHIN_S) == 2
        assert "refuses this worker, which worked before" in worker.printed.read_text()
    finally:
        await front.close()


@OVER_NATS
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
    client = await nats.connect(cluster.bus_url or "")

    async def hear(message: Any) -> None:
        heard.append(message.data)

    try:
        await client.subscribe(">", cb=hear)
        await client.flush()
        yield heard
        await client.flush()
    finally:
        await client.close()


HELD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: held, path: distributed/held}
workload: {url: ""}
keychain:
  - {name: api, kind: bearer, credential: api}
  - {name: unused, kind: bearer, credential: api}
workflow:
  - step: call
    tool: {kind: http, auth: api, input: {url: "{{ workload.url }}/together/2"}}
"""


@asynccontextmanager
async def _stranger(cluster: Cluster, name: str, bearer: str, pool: str = "other") -> AsyncIterator[Any]:
    """Somebody on the bus who has a token for workers, and the box that secrets are sealed for."""
    bus, box = Bus(cluster.bus_url or "", "stranger"), SealedBox()
    await bus.connect()
    link = NatsLink(bus, pool, name, Signer(bearer))
    link.open()
    try:
        yield link, Hello(name, pool, 8, ["http", "noop"], box.public, 0), box
    finally:
        await bus.close()


async def _tries(link: NatsLink, hello: Hello, execution_id: str) -> None:
    """Whatever a worker may say of a lease that it was not given is refused."""
    name = hello.worker_id
    link.tell(Heartbeat(hello, 1, [(execution_id, "call.1", 1)]))
    forged = Event("step.done", 1, "w", "call.1", data={"output": {"status": "ok", "data": "forged"}})
    told = ReportRequest(
        execution_id, Report("call.1", 1, name, f"forged by {name}", [forged], final=True), name
    )
    if name == "stranger":
        answer = (await link.report(told)).answer
        assert (answer.accepted, answer.why) == (False, "the lease was not given to worker stranger")
    else:
        with pytest.raises(RequestError, match="another token"):
            await link.report(told)
    with pytest.raises((Conflict, RequestError)):
        await link.secret(SecretRequest(execution_id, "call.1", 1, name, "api", hello.key))


@OVER_NATS
async def test_a_lease_and_its_secrets_are_for_the_worker_that_it_was_given_to(
    cluster: Cluster, web: Web
) -> None:
    cluster.lease_s = 30.0
    server = cluster.server(auth="true")
    front = HttpFront(server.said, token(cluster, "admin"))
    worker = cluster.worker(token=token(cluster, "worker"))
    try:
        for name in ("api", "never_named"):
            await front.put_credential(name, {"value": SECRET})
        execution_id = (await front.start(Ask(text=HELD, workload={"url": web.url}))).execution_id
        await cluster.reached(execution_id, "step.started", 1)
        await asyncio.to_thread(web.wait_for, "/together/2", 1, WITHIN_S)
        async with _stranger(cluster, "stranger", token(cluster, "worker")) as (link, hello, _):
            for name in ("stranger", worker.said):
                await _tries(link, msgspec.structs.replace(hello, worker_id=name), execution_id)
        log = await cluster.log(execution_id)
        assert [event.name for event in log if event.run == "call.1"][-1] in ("step.started", "task.started")
        await asyncio.to_thread(web.meet, 2)  # the call goes on
        summary = await cluster.finished(execution_id)
    finally:
        await front.close()
    assert summary.status == "completed", summary.result
    assert b"forged" not in (summary.result or b"")


@OVER_NATS
async def test_a_worker_gets_no_secret_that_the_step_of_its_lease_does_not_name(cluster: Cluster) -> None:
    cluster.lease_s = 30.0
    server = cluster.server(auth="true")
    front = HttpFront(server.said, token(cluster, "admin"))
    try:
        for name in ("api", "never_named"):
            await front.put_credential(name, {"value": SECRET})
        bearer = token(cluster, "worker")
        name = marked("curious", bearer)
        async with _stranger(cluster, name, bearer, "default") as (link, hello, box):
            server_name = await link.which()
            execution_id = (
                await front.start(Ask(text=HELD, workload={"url": "http://127.0.0.1:1"}))
            ).execution_id
            await cluster.reached(execution_id, "step.scheduled", 1)
            orders = await link.take_from(server_name, TakeRequest(hello, 8))
            order = orders.orders[0].order
            assert (order.execution_id, order.lease) == (execution_id, "call.1")

            def ask(secret: str) -> Any:
                return link.secret(SecretRequest(execution_id, "call.1", 1, name, secret, hello.key))

            assert SECRET in box.open(await ask("api")).values()
            for secret in ("never_named", "unused"):
                with pytest.raises(Conflict, match=f"step 'call' names no secret '{secret}'"):
                    await ask(secret)
    finally:
        await front.close()
