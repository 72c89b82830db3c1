"""A task that prints 10,000 lines a second: what a reader gets, how late, what a chain costs meanwhile."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bench.distributed import Client, Cluster
from bench.embedded import HEAD, ROUNDS, chain
from bench.figure import Figure

RATE, SECONDS = 10_000, 8
BURST = RATE // 100
CODE = f"""
            import time
            began = time.time()
            for burst in range({SECONDS * 100}):
                for _ in range({BURST}):
                    print(f"{{time.time():.6f}} " + "x" * 60)
                time.sleep(max(0, began + (burst + 1) / 100 - time.time()))
"""
TALKER = HEAD.format(name="talker") + (
    f"  - step: talk\n    tool:\n      kind: python\n      input:\n        code: |{CODE}"
)


def run() -> list[Figure]:
    """Lines at the reader, and the chain with and without them."""
    return asyncio.run(_measure())


async def _measure() -> list[Figure]:
    return [*await _embedded(), *await _cluster()]


async def _embedded() -> list[Figure]:
    from noetl.ports.front import Ask
    from noetl.settings import load
    from noetl.wiring.embedded import embedded

    with tempfile.TemporaryDirectory() as folder:
        settings = load({"store": f"{folder}/noetl.db"}, folder=Path(folder))
        async with embedded(settings) as made:

            async def once() -> None:
                started = await made.front.start(Ask(text=chain(100)))
                await made.engine.until_quiet(started.execution_id)

            return await _figures("", made.front, once)


async def _cluster() -> list[Figure]:
    """The same with a server and a worker in processes of their own, read over HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder)
        try:
            client = Client(cluster.url)
            path = await client.path_of(chain(100))

            async def once() -> None:
                await client.once(path)

            figures = await _figures("cluster: ", client.front, once)
            await client.front.close()
        finally:
            await asyncio.to_thread(cluster.close)
    return figures


async def _figures(where: str, front: Any, once: Callable[[], Awaitable[None]]) -> list[Figure]:
    """Lines at the reader, how late, and a chain without them and beside them."""
    quiet_s = await _chain(once)
    talker = asyncio.create_task(_talk(front))
    await asyncio.sleep(1)
    loud_s = await _chain(once)
    rate, lag_s, missing = await talker
    most = 0.5 + 2 * quiet_s * 1000
    return [
        Figure(f"{where}lines of one task at a reader", rate, "lines/s", 0.95 * RATE, "higher"),
        Figure(f"{where}the same: how late, p99", lag_s * 1000, "ms", 1000.0),
        Figure(f"{where}the same: left out", missing, "lines", 0.0),
        Figure(f"{where}chain of 100 noop steps, no lines", quiet_s * 1000, "ms/step"),
        Figure(f"{where}chain of 100 noop steps beside 10,000 lines/s", loud_s * 1000, "ms/step", most),
    ]


async def _chain(once: Callable[[], Awaitable[None]]) -> float:
    """Seconds for a step, the best of some chains."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await once()
        best = min(best, (time.perf_counter() - began) / 100)
    return best


async def _talk(front: Any) -> tuple[float, float, float]:
    """Lines per second at a reader from the first to the last, how late they came, and how many did not."""
    from noetl.ports.front import Ask

    started = await front.start(Ask(text=TALKER))
    lags: list[float] = []
    first = last = 0.0
    async with aclosing(front.follow_logs(started.execution_id)) as pages:
        async for page in pages:
            last = time.time() if page["items"] else last
            first = first or last
            printed = [line["text"] for line in page["items"] if line["text"][0].isdigit()]
            lags += [last - float(text.partition(" ")[0]) for text in printed]
    lags.sort()
    return len(lags) / (last - first), lags[int(len(lags) * 0.99)], RATE * SECONDS - len(lags)
