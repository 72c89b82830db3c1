"""NATS as a cluster of three: its nodes die and come back one after the other, and work goes on."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.distributed.cluster import Cluster
from tests.distributed.load import under_load
from tests.engine.web import Web
from tests.servers import NatsServer, free_port

NODES = 3


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[NatsServer]]:
    """Three servers that know each other."""
    ports = [free_port() for _ in range(NODES)]
    routes = ",".join(f"nats://127.0.0.1:{port}" for port in ports)
    with ExitStack() as stack:
        yield [
            stack.enter_context(NatsServer.start(tmp_path, _options(f"n{place}", port, routes)))
            for place, port in enumerate(ports)
        ]


def _options(name: str, port: int, routes: str) -> list[str]:
    own = ["--server_name", name, "--cluster_name", "tests", "--cluster", f"nats://127.0.0.1:{port}"]
    return [*own, "--routes", routes]


async def test_whichever_node_of_the_bus_dies_work_goes_on_over_the_others(
    nodes: list[NatsServer], tmp_path: Path, database: str, web: Web
) -> None:
    bus = "nats://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    cluster = Cluster(tmp_path, database, bus)
    try:
        servers = [cluster.server(), cluster.server()]
        workers = [cluster.worker(), cluster.worker()]
        async with under_load(cluster, servers, web) as load:
            await load.more(2)
            for node in nodes:
                await asyncio.to_thread(node.kill)
                await load.more(4)
                await asyncio.to_thread(node.restart)
        assert not any(process.died() for process in (*servers, *workers))
    finally:
        cluster.close()
