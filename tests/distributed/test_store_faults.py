"""The database goes away, comes back, is slow, or is full: requests say so, and nothing accepted is lost."""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.errors import BackendError
from tests.distributed.cluster import LEASE_S, WITHIN_S, Cluster, Node
from tests.distributed.playbooks import ITEMS, WORK, check_effects
from tests.distributed.proxy import Proxy
from tests.engine.web import Web
from tests.servers import NatsServer, PostgresServer


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A database server that only this test uses, and may kill."""
    with PostgresServer.start() as server:
        yield server


@pytest.fixture
def fragile(tmp_path: Path, own_nats: NatsServer, own_postgres: PostgresServer) -> Iterator[Cluster]:
    """A cluster over a database that may be killed."""
    made = Cluster(tmp_path, own_postgres.new_database(), own_nats.url)
    yield made
    made.close()


async def begun(cluster: Cluster, server: Node, web: Web) -> str:
    execution_id = await cluster.start(server, WORK, {"url": web.url})
    await asyncio.to_thread(web.wait_for, "/echo/shared/3", 1, 60.0)
    return execution_id


async def finish(cluster: Cluster, execution_id: str, web: Web) -> None:
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    assert msgspec.json.decode(summary.result or b"")["ctx"] == {"shared": ITEMS, "alone": ITEMS}
    check_effects(web)


@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_a_database_that_restarts_loses_nothing(
    fragile: Cluster, own_postgres: PostgresServer, web: Web, how: str
) -> None:
    server = fragile.server()
    fragile.worker()
    execution_id = await begun(fragile, server, web)
    if how == "kill":
        await asyncio.to_thread(own_postgres.kill)
    await asyncio.to_thread(own_postgres.restart)
    await finish(fragile, execution_id, web)


async def test_while_the_database_is_away_requests_are_told_to_come_again(
    fragile: Cluster, own_postgres: PostgresServer, web: Web
) -> None:
    server = fragile.server()
    fragile.worker()
    execution_id = await begun(fragile, server, web)
    await asyncio.to_thread(own_postgres.kill)
    with pytest.raises(BackendError):
        await fragile.start(server, WORK, {"url": web.url})
    await asyncio.to_thread(own_postgres.restart)
    await finish(fragile, execution_id, web)


@pytest.mark.parametrize("how", ["stall", "stall_back", "refuse"])
async def test_a_connection_to_the_database_may_be_cut(fragile: Cluster, web: Web, how: str) -> None:
    proxy = Proxy(fragile.store_url)
    try:
        server = fragile.server(store=proxy.url)
        fragile.worker()
        execution_id = await begun(fragile, server, web)
        proxy.set(how)  # type: ignore[arg-type]
        await asyncio.sleep(1.5 * LEASE_S)  # as long as the disturbance is to last
        proxy.set("pass")
        await finish(fragile, execution_id, web)
    finally:
        fragile.close()
        proxy.close()


async def test_a_server_behind_a_dead_connection_hands_over(fragile: Cluster, web: Web) -> None:
    proxy = Proxy(fragile.store_url)
    try:
        server = fragile.server(store=proxy.url)
        fragile.worker()
        execution_id = await begun(fragile, server, web)
        proxy.set("stall")
        fragile.server()
        await finish(fragile, execution_id, web)
    finally:
        fragile.close()
        proxy.close()


FILLER = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: filler, path: distributed/filler}
workload: {note: ""}
workflow:
  - step: wait
    tool: {kind: wait, input: {seconds: 86400}}
"""


class Disk:
    """A small disk of its own; to make one takes the rights of root, as to run PostgreSQL as nobody does."""

    def __init__(self, megabytes: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="noetl-disk-"))
        self._run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(self.folder))

    def grow(self, megabytes: int) -> None:
        self._run("mount", "-o", f"remount,size={megabytes}m", str(self.folder))

    def fill(self) -> None:
        """Leave no room at all."""
        with suppress(OSError), (self.folder / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"\0" * 65536)

    def close(self) -> None:
        self._run("umount", "-l", str(self.folder))
        self.folder.rmdir()

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)


async def test_a_full_disk_stops_nothing_for_good(tmp_path: Path, own_nats: NatsServer, web: Web) -> None:
    disk = Disk(200)
    try:
        with PostgresServer.start(disk.folder) as postgres:
            cluster = Cluster(tmp_path, postgres.new_database(), own_nats.url)
            try:
                await _fill_up(cluster, disk, web)
            finally:
                cluster.close()
    finally:
        disk.close()


async def _fill_up(cluster: Cluster, disk: Disk, web: Web) -> None:
    server = cluster.server()
    cluster.worker()
    execution_id = await begun(cluster, server, web)
    disk.fill()
    big = {"note": "x" * 60_000}
    with pytest.raises(BackendError):
        await _start_until_refused(cluster, server, big)
    disk.grow(1000)
    await finish(cluster, execution_id, web)


async def _start_until_refused(cluster: Cluster, server: Node, workload: dict[str, Any]) -> None:
    """Soon there is no room for another row."""
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        await cluster.start(server, FILLER, workload)
