"""How time per unit grows with the work: 1, 10 and 100 times as much, and more workers and servers.

Figures are the time per unit as a multiple of that of the smallest work, in one run. Each is to stay within
1.3; where that cannot be, docs/explanation/performance.md says why. The times themselves are printed as well.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.distributed import WAIT, Client, Cluster
from bench.distributed import loop as shared_loop
from bench.embedded import HEAD, _begun, chain, loop
from bench.figure import Figure

FLAT = 1.3
ROUNDS = 3
CHAINS = (10, 100, 1_000)
LOOPS = (1_000, 10_000, 100_000)
OPEN = (100, 1_000, 10_000)
PAYLOADS = (1_000, 10_000, 100_000)
WORKERS, SERVERS = (1, 2, 4), (1, 2)
SHARED_ITEMS, AT_ONCE = 4_000, 200
PAYLOAD = """\
  - step: start
    tool: {{kind: python, input: {{n: {size}, code: "result = ['x' * 100] * (n // 104)"}}}}
    next: {{arcs: [{{step: last, when: "{{{{ event.ok }}}}"}}]}}
  - step: last
    tool: {{kind: python, input: {{rows: "{{{{ start.data }}}}", code: "result = len(rows)"}}}}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of growth: how much work, and seconds per unit of it."""

    name: str
    unit: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    cpu_s: Sequence[float] = ()  # of this process, where the work is done in it

    def figures(self) -> list[Figure]:
        """Each size as a multiple of the smallest."""
        figures = _multiples(self.name, self.sizes, self.seconds)
        return figures + _multiples(f"{self.name}, processor time", self.sizes, self.cpu_s)

    def text(self) -> str:
        """The times themselves."""
        return f"growth: {self.name}, per {self.unit}: {_times(self.sizes, self.seconds)}" + (
            f"; processor time {_times(self.sizes, self.cpu_s)}" if self.cpu_s else ""
        )


def _multiples(name: str, sizes: Sequence[int], seconds: Sequence[float]) -> list[Figure]:
    larger = list(zip(sizes, seconds, strict=False))[1:]
    return [
        Figure(f"{name}: {size:,}", each / seconds[0], f"x of {sizes[0]:,}", FLAT) for size, each in larger
    ]


def _times(sizes: Sequence[int], seconds: Sequence[float]) -> str:
    pairs = zip(sizes, seconds, strict=True)
    return ", ".join(f"{size:,}: {each * 1e6:,.3g} us" for size, each in pairs)


def run() -> list[Figure]:
    """Every kind of growth."""
    rows = asyncio.run(_embedded_rows())
    rows += asyncio.run(_cluster_rows())
    for row in rows:
        print(row.text())
    return [figure for row in rows for figure in row.figures()]


async def _embedded_rows() -> list[Row]:
    from noetl.settings import load
    from noetl.wiring.embedded import embedded

    with tempfile.TemporaryDirectory() as folder:
        settings = load({"store": f"{folder}/noetl.db"}, folder=Path(folder))
        async with embedded(settings) as made:
            chains = [await _per_unit(made, chain(n, f"chain{n}"), n) for n in CHAINS]
            loops = [await _per_unit(made, loop(n, 50), n) for n in LOOPS]
            payloads = [
                await _per_unit(made, HEAD.format(name=f"payload{n}") + PAYLOAD.format(size=n), n)
                for n in PAYLOADS
            ]
            open_ones = await _beside_open(made)
    return [
        _row("chain", "step", CHAINS, chains),
        _row("loop", "item", LOOPS, loops),
        _row("open executions", "step of another one", OPEN, open_ones),
        _row("payload", "byte", PAYLOADS, payloads),
    ]


def _row(name: str, unit: str, sizes: Sequence[int], times: Sequence[tuple[float, float]]) -> Row:
    return Row(name, unit, sizes, [seconds for seconds, _ in times], [cpu_s for _, cpu_s in times])


async def _per_unit(made: Any, text: str, units: int) -> tuple[float, float]:
    once = await _begun(made, text)
    await once()
    seconds, cpu_s = await _best(once)
    return seconds / units, cpu_s / units


async def _beside_open(made: Any) -> list[tuple[float, float]]:
    """Seconds per step of a chain while so many executions wait."""
    from noetl.wiring.embedded import new_execution_id

    entry, program = await made.catalog.register(HEAD.format(name="waiting") + WAIT)
    once = await _begun(made, chain(100, "beside"))
    await once()
    times, waiting = [], 0
    for count in OPEN:
        while waiting < count:
            request = await made.catalog.request(entry, program, None)
            await made.engine.start(new_execution_id(), request)
            waiting += 1
        seconds, cpu_s = await _best(once)
        times.append((seconds / 100, cpu_s / 100))
    return times


async def _cluster_rows() -> list[Row]:
    workers = [await _on_cluster(1, count, _shared_items) for count in WORKERS]
    servers = [await _on_cluster(count, 2, _executions) for count in SERVERS]
    return [
        Row("workers, distributed loop", "item", WORKERS, workers),
        Row("servers, executions of 5 steps at once", "execution", SERVERS, servers),
    ]


async def _on_cluster(servers: int, workers: int, work: Callable[[list[Client]], Awaitable[float]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder, servers, workers)
        clients = [Client(url) for url in cluster.urls]
        try:
            return await work(clients)
        finally:
            for client in clients:
                await client.front.close()
            await asyncio.to_thread(cluster.close)


async def _shared_items(clients: list[Client]) -> float:
    client = clients[0]
    path = await client.path_of(shared_loop(SHARED_ITEMS, "distributed"))
    await client.once(path)
    return (await _best(lambda: client.once(path)))[0] / SHARED_ITEMS


async def _executions(clients: list[Client]) -> float:
    path = await clients[0].path_of(chain(5, "five"))

    async def all_at_once() -> None:
        await asyncio.gather(*(clients[n % len(clients)].once(path) for n in range(AT_ONCE)))

    await all_at_once()
    return (await _best(all_at_once))[0] / AT_ONCE


async def _best(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """The fewest seconds, and the fewest processor seconds of this process."""
    best, best_cpu = float("inf"), float("inf")
    for _ in range(ROUNDS):
        began, cpu = time.perf_counter(), time.process_time()
        await work()
        best, best_cpu = min(best, time.perf_counter() - began), min(best_cpu, time.process_time() - cpu)
    return best, best_cpu
