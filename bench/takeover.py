"""Open executions whose server is killed, until another server has every one in memory and serves them.

They are copies of one that really waits: a server learns nothing of that, since it only keeps what is its
own alive. It is copied once it waits: copies of one whose order is with a worker would be work that no worker
has, and what is measured then is how fast that is done again. The clock runs from the kill, so that it counts
how long the death stays unnoticed too, until the execution that is due last ends as its new owner is told.
"""

import asyncio
import tempfile
import time
from typing import Any

from bench.distributed import WAIT, Client, Cluster
from bench.embedded import HEAD
from bench.figure import Figure
from noetl.core.message import Control
from tests.conformance.copies import COPY

OPEN_EXECUTIONS = 10_000
LOOK_S = 0.05
PARKED_S = 60.0
LEFT = """
select exists (select from noetl.executions where owner is distinct from $1 or in_hand is not null)
from pg_sleep($2::float8)
"""
STATUS = "select status from noetl.executions, pg_sleep($2::float8) where execution_id = $1"
LAST = "select execution_id from noetl.executions order by due_at desc limit 1"
DECIDED = """
select count(*) from noetl.executions e
where execution_id <> $1 and seq <> (select seq from noetl.executions where execution_id = $2)
"""


def run() -> list[Figure]:
    """Seconds until ten thousand executions have another owner."""
    return [Figure("takeover: 10,000 open executions", asyncio.run(measure(OPEN_EXECUTIONS)), "s", 10.0)]


async def measure(count: int) -> float:
    """Seconds from the death of a server to the moment at which another has all its executions."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder, 2)
        try:
            return await _measure(cluster, count)
        finally:
            await asyncio.to_thread(cluster.close)


async def _measure(cluster: Cluster, count: int) -> float:
    import asyncpg

    connection = await asyncpg.connect(cluster.dsn)
    survivor = await _owner(connection, cluster.urls[1])
    waiting = await _parked(connection, cluster.url, "waiting")
    await connection.execute(COPY, count - 1, waiting)
    await connection.execute("vacuum analyze noetl.executions, noetl.log")
    last = await connection.fetchval(LAST)
    client = Client(cluster.urls[1])
    began = time.perf_counter()
    cluster.server.kill()
    while await connection.fetchval(LEFT, survivor, LOOK_S):  # the look itself takes a moment
        pass
    await client.front.control(last, Control("cancel"))
    took = time.perf_counter() - began
    await client.front.close()
    assert not await connection.fetchval(DECIDED, last, waiting), "what only waits was decided on"
    await connection.close()
    return took


async def _owner(connection: Any, url: str) -> str:
    """By which name a server owns executions: that of one that it is given."""
    question = "select owner from noetl.executions where execution_id = $1"
    return str(await connection.fetchval(question, await _parked(connection, url, "known")))


async def _parked(connection: Any, url: str, name: str) -> str:
    """An execution of a server that waits, and nothing of it is with a worker."""
    client = Client(url)
    execution_id = await client.begin(await client.path_of(HEAD.format(name=name) + WAIT))
    async with asyncio.timeout(PARKED_S):
        while await connection.fetchval(STATUS, execution_id, LOOK_S) != "waiting":
            pass
    await client.front.close()
    return execution_id
