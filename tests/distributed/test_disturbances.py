"""Stopped processes, a bus that goes away, connections that are cut: work goes on, and zombies are refused."""

import asyncio

import msgspec
import pytest

from noetl.core.event import Event
from tests.distributed.cluster import BOTH_LINKS, LEASE_S, OVER_NATS, Cluster
from tests.distributed.playbooks import ITEMS, WORK, check_effects
from tests.distributed.proxy import Proxy
from tests.engine.web import Web
from tests.servers import NatsServer

# One call that takes longer than any disturbance here lasts.
SLOW = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: slow, path: distributed/slow}
workload: {url: ""}
workflow:
  - step: start
    tool: {kind: http, input: {url: "{{ workload.url }}/slow/12"}}
"""

SHORT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: short, path: distributed/short}
workflow:
  - step: start
    tool: {kind: noop}
"""


async def begun(cluster: Cluster, server: object, web: Web, path: str) -> str:
    """An execution that has come as far as a path."""
    execution_id = await cluster.start(server, WORK, {"url": web.url})  # type: ignore[arg-type]
    await asyncio.to_thread(web.wait_for, path, 1, 60.0)
    return execution_id


async def finish(cluster: Cluster, execution_id: str, web: Web) -> list[Event]:
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    result = msgspec.json.decode(summary.result or b"")
    assert result["ctx"] == {"shared": ITEMS, "alone": ITEMS}
    check_effects(web)
    return await cluster.log(execution_id)


@BOTH_LINKS
async def test_a_worker_that_wakes_up_after_its_lease_is_refused(cluster: Cluster, web: Web) -> None:
    server, sleeper = cluster.server(), cluster.worker()
    execution_id = await begun(cluster, server, web, "/echo/shared/3")
    sleeper.pause()
    cluster.worker()
    log = await finish(cluster, execution_id, web)
    sleeper.resume()
    taken = [event.data or {} for event in log if event.name == "lease.expired"]
    assert taken
    assert {fact["why"] for fact in taken} <= {"silent", "lost"}
    second = await cluster.start(server, WORK, {"url": web.url})  # and it is good for new work again
    assert (await cluster.finished(second)).status == "completed"
    assert await cluster.log(execution_id) == log


@BOTH_LINKS
async def test_a_server_that_wakes_up_after_its_lease_writes_nothing(cluster: Cluster, web: Web) -> None:
    sleeper = cluster.server()
    cluster.worker()
    execution_id = await begun(cluster, sleeper, web, "/echo/shared/3")
    sleeper.pause()
    cluster.server()
    log = await finish(cluster, execution_id, web)
    sleeper.resume()
    second = await cluster.start(sleeper, WORK, {"url": web.url})
    assert (await cluster.finished(second)).status == "completed"
    assert await cluster.log(execution_id) == log


@OVER_NATS
@pytest.mark.parametrize("how", ["restart", "wipe"])
async def test_a_bus_that_loses_everything_loses_no_execution(
    cluster: Cluster, own_nats: NatsServer, web: Web, how: str
) -> None:
    server = cluster.server()
    cluster.worker(), cluster.worker()
    execution_id = await begun(cluster, server, web, "/echo/shared/3")
    await asyncio.to_thread(getattr(own_nats, how))
    await finish(cluster, execution_id, web)


@pytest.mark.parametrize("how", ["stall", "stall_back", "refuse"])
async def test_a_connection_to_a_server_may_be_cut(cluster: Cluster, web: Web, how: str) -> None:
    proxy = Proxy(f"http://127.0.0.1:{cluster.ports[0]}")
    try:
        server = cluster.server(advertise_url=proxy.url)
        cluster.worker(server=proxy.url)
        execution_id = await begun(cluster, server, web, "/echo/shared/3")
        proxy.set(how)  # type: ignore[arg-type]
        await asyncio.sleep(1.5 * LEASE_S)  # as long as the disturbance is to last
        proxy.set("pass")
        await finish(cluster, execution_id, web)
    finally:
        cluster.close()
        proxy.close()


async def test_a_worker_hears_of_the_servers_that_it_was_not_told_of(cluster: Cluster, web: Web) -> None:
    first, second = cluster.server(), cluster.server()
    cluster.worker(server=first.said)
    await cluster.knows(second, 1)
    execution_id = await cluster.start(second, WORK, {"url": web.url})
    await finish(cluster, execution_id, web)
    first.kill()  # and it stays where it can work
    second_id = await cluster.start(second, SHORT)
    assert (await cluster.finished(second_id)).status == "completed"


@OVER_NATS
@pytest.mark.parametrize("how", ["stall", "stall_back", "refuse"])
@pytest.mark.parametrize("whose", ["worker", "server"])
async def test_a_connection_to_the_bus_may_be_cut(cluster: Cluster, web: Web, how: str, whose: str) -> None:
    proxy = Proxy(cluster.bus_url or "")
    try:
        server = cluster.server(**({"bus": proxy.url} if whose == "server" else {}))
        cluster.worker(**({"bus": proxy.url} if whose == "worker" else {}))
        execution_id = await begun(cluster, server, web, "/echo/shared/3")
        proxy.set(how)  # type: ignore[arg-type]
        await asyncio.sleep(1.5 * LEASE_S)  # as long as the disturbance is to last
        proxy.set("pass")
        await finish(cluster, execution_id, web)
    finally:
        cluster.close()
        proxy.close()


@OVER_NATS
async def test_a_bus_that_is_away_for_longer_than_a_lease_takes_no_task_from_its_worker(
    cluster: Cluster, own_nats: NatsServer, web: Web
) -> None:
    """Nobody was silent: nobody could be heard."""
    server = cluster.server()
    cluster.worker()
    execution_id = await cluster.start(server, SLOW, {"url": web.url})
    await asyncio.to_thread(web.wait_for, "/slow/12", 1, 60.0)
    own_nats.stop()
    await asyncio.sleep(2.5 * LEASE_S)  # as long as the bus is to be away
    await asyncio.to_thread(own_nats.restart)
    assert (await cluster.finished(execution_id)).status == "completed"
    log = await cluster.log(execution_id)
    assert [event for event in log if event.name == "lease.expired"] == []
    assert len([request for request in web.seen if request["path"] == "/slow/12"]) == 1


@BOTH_LINKS
async def test_a_server_that_stood_still_takes_no_task_from_its_worker(cluster: Cluster, web: Web) -> None:
    server = cluster.server()
    cluster.worker()
    execution_id = await cluster.start(server, SLOW, {"url": web.url})
    await asyncio.to_thread(web.wait_for, "/slow/12", 1, 60.0)
    server.pause()
    await asyncio.sleep(2.5 * LEASE_S)  # as long as it is to stand still
    server.resume()
    assert (await cluster.finished(execution_id)).status == "completed"
    assert [event for event in await cluster.log(execution_id) if event.name == "lease.expired"] == []


async def test_a_worker_that_is_told_to_stop_hands_back(cluster: Cluster, web: Web) -> None:
    server, leaver = cluster.server(), cluster.worker()
    execution_id = await begun(cluster, server, web, "/echo/shared/3")
    cluster.worker()
    assert leaver.stop() == 0
    log = await finish(cluster, execution_id, web)
    assert not [event for event in log if event.name == "lease.expired"]


async def test_a_server_that_is_told_to_stop_hands_over(cluster: Cluster, web: Web) -> None:
    leaver = cluster.server()
    cluster.worker()
    execution_id = await begun(cluster, leaver, web, "/echo/shared/3")
    cluster.server()
    assert leaver.stop() == 0
    log = await finish(cluster, execution_id, web)
    expired = [event.data or {} for event in log if event.name == "lease.expired"]
    # What waited here with nobody goes out again from there; nobody who had begun was taken for silent.
    assert [fact for fact in expired if (fact["why"], fact["worker"]) != ("lost", None)] == []


async def test_two_servers_share_the_work_and_neither_writes_into_the_others(
    cluster: Cluster, web: Web
) -> None:
    servers = [cluster.server(), cluster.server()]
    cluster.worker(), cluster.worker()
    started = [await cluster.start(servers[number % 2], WORK, {"url": web.url}) for number in range(6)]
    for execution_id in started:
        summary = await cluster.finished(execution_id)
        assert summary.status == "completed", summary.result
    check_effects_of_many(web, len(started))


def check_effects_of_many(web: Web, executions: int) -> None:
    """Each execution has asked for everything once, with keys of its own."""
    calls = 6 + 2 * ITEMS + 1
    keys = {request["headers"]["idempotency-key"] for request in web.seen}
    assert len(keys) == executions * calls
