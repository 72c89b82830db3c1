"""DBOS, a library: workflows and steps run in this process; it opens PostgreSQL or SQLite in its own way."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dbos import DBOS

from bench.peers.work import IN_FLIGHT, Engine, report

THREADS = 20  # as many as DBOS keeps connections


def _nothing() -> None:
    """The step of a chain."""


async def _nothing_async() -> None:
    """The step of a fan-out: only steps that are awaited can run at the same time in one workflow."""


nothing = DBOS.step()(_nothing)
nothing_async = DBOS.step()(_nothing_async)


def _chain(steps: int) -> None:
    for _ in range(steps):
        nothing()


async def _fan_out(items: int) -> None:
    free = asyncio.Semaphore(IN_FLIGHT)

    async def one() -> None:
        async with free:
            await nothing_async()

    await asyncio.gather(*(one() for _ in range(items)))


chain = DBOS.workflow()(_chain)
fan_out = DBOS.workflow()(_fan_out)


async def main(store: str) -> None:
    """Open the store, do the work; workflows without `async` cost less, so a chain is one, in a thread."""
    DBOS(config={"name": "bench", "system_database_url": store, "log_level": "ERROR"})
    DBOS.launch()
    with ThreadPoolExecutor(THREADS) as threads:
        in_thread = partial(asyncio.get_running_loop().run_in_executor, threads)
        await report(Engine(chain=lambda steps: in_thread(chain, steps), fan_out=fan_out))
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
