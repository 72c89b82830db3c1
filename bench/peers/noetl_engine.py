"""NoETL: embedded over SQLite in this process, or a cluster over PostgreSQL through REST."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from bench import distributed, embedded
from bench.peers.work import IN_FLIGHT, ITEMS, STEPS, STEPS_EACH, Engine, report

Once = Callable[[], Awaitable[object]]
CHAINS, LOOPS = (STEPS, STEPS_EACH, 1), (ITEMS, IN_FLIGHT)


async def in_process() -> None:
    """The embedded engine."""
    from noetl.settings import load
    from noetl.wiring import embedded as wiring

    with tempfile.TemporaryDirectory() as folder:
        settings = load({"store": f"{folder}/noetl.db"}, folder=Path(folder))
        async with wiring.embedded(settings) as made:
            begun = embedded._begun
            chains = {n: await begun(made, embedded.chain(n, f"chain{n}")) for n in CHAINS}
            loops = {n: await begun(made, embedded.loop(n, IN_FLIGHT)) for n in LOOPS}
            await report(_engine(chains, loops))


async def over_rest() -> None:
    """A server and a worker in processes of their own; each execution is one request."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(distributed.Cluster, folder)
        try:
            client = distributed.Client(cluster.url)
            chains = {n: await _registered(client, embedded.chain(n, f"chain{n}")) for n in CHAINS}
            loops = {n: await _registered(client, distributed.loop(n, "distributed")) for n in LOOPS}
            await report(_engine(chains, loops))
            await client.front.close()
        finally:
            await asyncio.to_thread(cluster.close)


async def _registered(client: distributed.Client, text: str) -> Once:
    return partial(client.once, await client.path_of(text))


def _engine(chains: Mapping[int, Once], loops: Mapping[int, Once]) -> Engine:
    return Engine(chain=lambda steps: chains[steps](), fan_out=lambda items: loops[items]())


if __name__ == "__main__":
    asyncio.run({"embedded": in_process, "cluster": over_rest}[sys.argv[1]]())
