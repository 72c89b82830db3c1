"""The database server is lost for good and its standby takes its place: servers follow, nothing acknowledged is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl.adapters.postgres.store import PostgresStore
from noetl.errors import BackendError
from tests.conformance.stores import begin
from tests.distributed.cluster import Cluster
from tests.distributed.load import under_load
from tests.engine.web import Web
from tests.servers import PostgresServer, StandbyServer

BEFORE, AFTER = 6, 6


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, StandbyServer]]:
    """A primary server, and a standby that has every commit before it is acknowledged."""
    with PostgresServer.start() as primary, StandbyServer.follow(primary) as standby:
        yield primary, standby


def address(primary: PostgresServer, standby: PostgresServer) -> str:
    """A new database under the names of both servers."""
    dsn = primary.new_database()
    return dsn.replace(f":{primary.port}/", f":{primary.port},127.0.0.1:{standby.port}/")


async def test_when_the_standby_takes_over_servers_follow_and_nothing_acknowledged_is_lost(
    pair: tuple[PostgresServer, StandbyServer], tmp_path: Path, web: Web
) -> None:
    primary, standby = pair
    cluster = Cluster(tmp_path, address(primary, standby))
    try:
        servers = [cluster.server(), cluster.server()]
        workers = [cluster.worker(), cluster.worker()]
        async with under_load(cluster, servers, web) as load:
            await load.more(BEFORE)
            await asyncio.to_thread(primary.kill)
            await asyncio.to_thread(standby.promote)
            await load.more(AFTER)
        assert not any(node.died() for node in (*servers, *workers))
        async with cluster.store() as store:
            known = {summary.execution_id for summary in (await store.executions()).items}
        assert known == set(load.begun)
    finally:
        cluster.close()


async def test_a_store_over_two_servers_writes_to_the_primary_wherever_it_stands(
    pair: tuple[PostgresServer, StandbyServer],
) -> None:
    primary, standby = pair
    dsn = address(primary, standby)
    turned = dsn.replace(f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}", "{},{}").format(
        f"127.0.0.1:{standby.port}", f"127.0.0.1:{primary.port}"
    )
    for place, either in enumerate((dsn, turned)):
        store = await PostgresStore.open(either)
        await begin(store, place)
        await store.close()
    replica = await PostgresStore.open(
        turned.replace(f",127.0.0.1:{primary.port}", ""), up_to_date=False, patience_s=0.2
    )
    try:
        with pytest.raises(BackendError, match="read-only") as refused:
            await begin(replica, 2)
        assert "name the primary server" in (refused.value.hint or "")
    finally:
        await replica.close()


WRITES = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: writes, path: tests/writes}
workflow:
  - step: start
    tool:
      - {name: table, kind: postgres, auth: both, input: {command: "create table written (n int)"}}
      - {name: row, kind: postgres, auth: both, input: {command: "insert into written values (1)"}}
      - {name: standby, kind: postgres, auth: chosen, input: {query: "select pg_is_in_recovery() as it"}}
"""


async def test_a_task_writes_to_the_primary_wherever_it_stands_unless_its_address_says_otherwise(
    pair: tuple[PostgresServer, StandbyServer], tmp_path: Path
) -> None:
    primary, standby = pair
    dsn = primary.new_database()
    turned = dsn.replace(f":{primary.port}/", f":{standby.port},127.0.0.1:{primary.port}/")
    cluster = Cluster(tmp_path, dsn)
    try:
        server = cluster.server(own_worker="on")
        async with cluster.front(server) as front:
            await front.put_credential("both", {"dsn": turned})
            await front.put_credential("chosen", {"dsn": f"{turned}?target_session_attrs=standby"})
        summary = await cluster.finished(await cluster.start(server, WRITES))
        assert summary.status == "completed", summary.result
        assert b'"it":true' in (summary.result or b"")
    finally:
        cluster.close()
