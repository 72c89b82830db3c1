"""Open executions whose server is killed, until another server has every one of them in memory.

They are copies of one that really waits: a server learns nothing of that, since it only keeps what is its own
alive. The clock runs from the kill, so that it counts how long the death stays unnoticed too.
"""

import asyncio
import tempfile
import time
from typing import Any

from bench.distributed import WAIT, Client, Cluster
from bench.embedded import HEAD
from bench.figure import Figure
from tests.conformance.copies import COPY

OPEN_EXECUTIONS = 10_000
LOOK_S = 0.05
LEFT = """
select count(*) from noetl.executions, pg_sleep($2::float8)
where owner is distinct from $1 or in_hand is not null
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
    client = Client(cluster.url)
    waiting = await client.begin(await client.path_of(HEAD.format(name="waiting") + WAIT))
    await client.front.close()
    await connection.execute(COPY, count - 1, waiting)
    await connection.execute("vacuum analyze noetl.executions, noetl.log")
    began = time.perf_counter()
    cluster.server.kill()
    while await connection.fetchval(LEFT, survivor, LOOK_S):  # the look itself takes a moment
        pass
    took = time.perf_counter() - began
    await connection.close()
    return took


async def _owner(connection: Any, url: str) -> str:
    """By which name a server owns executions: that of one that it is given."""
    client = Client(url)
    path = await client.path_of(HEAD.format(name="known") + WAIT)
    execution_id = await client.begin(path)
    await client.front.close()
    question = "select owner from noetl.executions where execution_id = $1"
    return str(await connection.fetchval(question, execution_id))
