"""A server and a worker in processes of their own over real PostgreSQL, fsync on, through REST.

The worker dials the server; some figures are taken over NATS too. The floor is what any program would have to
do for one durable step here: one bare commit of one row, and one question and answer between two processes.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.embedded import HEAD, PAGES, chain
from bench.figure import Figure
from bench.mock_api import running
from bench.round_trip import round_trip_s

ROUNDS = 5
BURST_ROUNDS = 10
CHAIN_ROUNDS = 20  # what waits most suffers most from a machine that others use: the best of many tells
OPEN_EXECUTIONS = 10_000
WAIT = "  - {step: start, tool: {kind: wait, input: {seconds: 86400}}}\n"


def run() -> list[Figure]:
    """Every figure of a cluster of one server and one worker."""
    return asyncio.run(_measure())


def loop(items: int, where: str) -> str:
    """One parallel loop, on one worker or shared by the pool."""
    return HEAD.format(name=f"loop_{where}_{items}") + (
        f'  - step: start\n    loop: {{in: "{{{{ range({items}) | list }}}}", iterator: i, '
        f"spec: {{mode: parallel, max_in_flight: 50, policy: {{exec: {where}}}}}}}\n"
        "    tool: {kind: noop}\n"
    )


class Cluster:
    """Servers, workers, and what they stand on; most figures need one of each."""

    def __init__(self, folder: str, servers: int = 1, workers: int = 1, *, over_nats: bool = False) -> None:
        from tests.servers import NatsServer, PostgresServer

        self.folder, self.more = folder, list["subprocess.Popen[bytes]"]()
        self.postgres, self.nats = PostgresServer.start(), NatsServer.start() if over_nats else None
        self.dsn = self.postgres.new_database()
        began = time.perf_counter()
        self.server, self.url = self._start("server", "start", "--port", "0")
        self.ready_s = time.perf_counter() - began
        self.urls = [
            self.url,
            *(self._start_more("server", "start", "--port", "0") for _ in range(1, servers)),
        ]
        servers_of_worker = [] if over_nats else ["--server", self.url]  # it hears of the others
        self.worker, _ = self._start("worker", "start", *servers_of_worker)
        for _ in range(1, workers):
            self._start_more("worker", "start", *servers_of_worker)

    def _start(self, *arguments: str) -> tuple["subprocess.Popen[bytes]", str]:
        environment = {
            **os.environ,
            "NOETL_HOME": self.folder,
            "NOETL_STORE": self.dsn,
            **({"NOETL_BUS": self.nats.url} if self.nats is not None else {}),
            "NOETL_ALLOW_NETWORKS": "loopback",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "noetl.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=environment,
        )
        assert process.stdout is not None
        return process, process.stdout.readline().decode().strip()

    def _start_more(self, *arguments: str) -> str:
        process, url = self._start(*arguments)
        self.more.append(process)
        return url

    def close(self) -> None:
        """End everything."""
        for process in (*self.more, self.worker, self.server):
            process.send_signal(signal.SIGTERM)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        if self.nats is not None:
            self.nats.close()
        self.postgres.close()

    def cpu_s(self) -> float:
        """Seconds of processor time that servers, workers and PostgreSQL have used so far."""
        own = [self.server.pid, self.worker.pid, *(process.pid for process in self.more)]
        own += _family(self.postgres.pid)
        return sum(_cpu_s(pid) for pid in own)


def _family(pid: int) -> list[int]:
    found = [pid]
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(place.parent.name))
    return found


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


class Client:
    """Starts executions over REST and waits for their end."""

    def __init__(self, url: str) -> None:
        from noetl.adapters.http.front import HttpFront

        self.front = HttpFront(url)

    async def begin(self, path: str) -> str:
        """Start a registered playbook."""
        from noetl.ports.front import Ask

        return (await self.front.start(Ask(path=path))).execution_id

    async def once(self, path: str) -> str:
        """Run a registered playbook with one request, which is answered at its end."""
        body = {"path": path}
        ended = await self.front.client.ask("POST", "/executions", body=body, query={"wait": 60})
        assert ended["status"] == "completed", ended
        return str(ended["execution_id"])

    async def path_of(self, text: str) -> str:
        """Register a playbook."""
        return (await self.front.register(text)).path


async def _measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder)
        try:
            commit_s, round_trip_s = await _floors(cluster)
            client = Client(cluster.url)
            figures = await _figures(cluster, client, commit_s + round_trip_s)
            await client.front.close()
        finally:
            await asyncio.to_thread(cluster.close)
    ready = Figure("cluster: server ready after start", cluster.ready_s, "s", 1.5)
    return [*figures, ready, *await _over_nats()]


async def _over_nats() -> list[Figure]:
    """What the other link makes of the same work."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = await asyncio.to_thread(Cluster, folder, over_nats=True)
        try:
            client = Client(cluster.url)
            step_s, _ = await _chain(cluster, client)
            burst_s, step_cpu_s = await _burst(cluster, client)
            p50_s, _ = await _one(client)
            await client.front.close()
        finally:
            await asyncio.to_thread(cluster.close)
    return [
        Figure("cluster over NATS: chain of 100 noop steps", step_s * 1000, "ms/step", 1.25),
        Figure("cluster over NATS: 200 executions of 5 steps", 1 / burst_s, "executions/s", 400, "higher"),
        Figure("cluster over NATS: one-step execution, p50", p50_s * 1000, "ms", 5.0),
        Figure("cluster over NATS: CPU per step of the 200", step_cpu_s * 1000, "ms", 0.7),
    ]


async def _figures(cluster: Cluster, client: Client, floor_s: float) -> list[Figure]:
    step_s, chain_cpu_s = await _chain(cluster, client)
    shared_s = await _best(client, loop(1_000, "distributed")) / 1_000
    local_s = await _best(client, loop(1_000, "local")) / 1_000
    burst_s, step_cpu_s = await _burst(cluster, client)
    p50_s, p95_s = await _one(client)
    page_s = await _pages(cluster, client) / 1_000
    rows, size = await _large_loop(cluster, client)
    await _open_many(client)
    return [
        Figure(
            "cluster: chain of 100 noop steps",
            step_s * 1000,
            "ms/step",
            0.85,
            floor=floor_s * 1000,
            ratio_goal=1.25,
        ),
        Figure("cluster: loop of 1,000 noop items, distributed", 1 / shared_s, "items/s", 5_000, "higher"),
        Figure("cluster: loop of 1,000 noop items, local", 1 / local_s, "items/s", 8_000, "higher"),
        Figure("cluster: 200 executions of 5 steps at once", 1 / burst_s, "executions/s", 900, "higher"),
        Figure("cluster: one-step execution over REST, p50", p50_s * 1000, "ms", 2.2),
        Figure("cluster: one-step execution over REST, p95", p95_s * 1000, "ms", 4.0),
        Figure("cluster: 10 endpoints x 100 pages, in PostgreSQL", 1 / page_s, "pages/s", 2_000, "higher"),
        Figure("cluster: CPU per step of the 200 executions", step_cpu_s * 1000, "ms", 0.35),
        Figure("cluster: CPU per step of the chain", chain_cpu_s * 1000, "ms", 0.8),
        Figure("cluster: stored rows per loop item", rows, "rows", 0.1),
        Figure("cluster: stored bytes per loop item", size, "bytes", 400),
        Figure("cluster: server memory, 10,000 executions open", _rss_mb(cluster.server.pid), "MB", 300),
        Figure("cluster: worker memory, loop of 100,000 items", _rss_mb(cluster.worker.pid), "MB", 300),
    ]


async def _floors(cluster: Cluster) -> tuple[float, float]:
    """Seconds for one commit of one row of 1 kB, and for one question and answer between two processes."""
    import asyncpg

    connection = await asyncpg.connect(cluster.dsn)
    await connection.execute("create table floor (a int, b bytea)")
    insert = await connection.prepare("insert into floor values ($1, $2)")
    commit_s = await _each(lambda: insert.fetch(1, b"x" * 1024))
    await connection.execute("drop table floor")
    await connection.close()
    return commit_s, await asyncio.to_thread(round_trip_s)


async def _each(work: Callable[[], Awaitable[Any]]) -> float:
    best = float("inf")
    for _ in range(CHAIN_ROUNDS):
        began = time.perf_counter()
        for _ in range(100):
            await work()
        best = min(best, (time.perf_counter() - began) / 100)
    return best


async def _chain(cluster: Cluster, client: Client) -> tuple[float, float]:
    path = await client.path_of(chain(100))
    await client.once(path)
    began = cluster.cpu_s()
    best = await _best_of(lambda: client.once(path), CHAIN_ROUNDS)
    return best / 100, (cluster.cpu_s() - began) / (CHAIN_ROUNDS * 100)


async def _best(client: Client, text: str, rounds: int = ROUNDS) -> float:
    path = await client.path_of(text)
    return await _best_of(lambda: client.once(path), rounds)


async def _best_of(work: Callable[[], Awaitable[Any]], rounds: int = ROUNDS) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        best = min(best, time.perf_counter() - began)
    return best


async def _burst(cluster: Cluster, client: Client) -> tuple[float, float]:
    """Seconds per execution, from the first request to the last answer; processor time per step."""
    path = await client.path_of(chain(5, "five"))

    async def all_at_once() -> None:
        await asyncio.gather(*(client.once(path) for _ in range(200)))

    await all_at_once()
    began = cluster.cpu_s()
    best = await _best_of(all_at_once, BURST_ROUNDS)
    return best / 200, (cluster.cpu_s() - began) / (BURST_ROUNDS * 200 * 5)


async def _ended(client: Client, execution_id: str) -> None:
    while (shown := await client.front.execution(execution_id, wait_s=60))["status"] == "running":
        pass
    assert shown["status"] == "completed", shown


async def _one(client: Client) -> tuple[float, float]:
    path = await client.path_of(chain(1, "one"))
    times = []
    for _ in range(100):
        began = time.perf_counter()
        await client.once(path)
        times.append(time.perf_counter() - began)
    times.sort()
    return times[50], times[95]


async def _pages(cluster: Cluster, client: Client) -> float:
    import asyncpg

    connection = await asyncpg.connect(cluster.dsn)
    await connection.execute("create table pages (ep int, page int, rows text)")
    await connection.close()
    await client.front.put_credential("pages", {"dsn": cluster.dsn})
    async with running("bench.pages") as base:
        text = HEAD.format(name="pages") + PAGES.format(
            base=base,
            keep="kind: postgres\n        auth: pages",
            query="insert into pages values ($1, $2, $3)",
            database="",
        )
        return await _best(client, text, rounds=3)


async def _large_loop(cluster: Cluster, client: Client) -> tuple[float, float]:
    """Stored rows and bytes per item of a loop of 100,000."""
    import asyncpg

    execution_id = await client.begin(await client.path_of(loop(100_000, "distributed")))
    await _ended(client, execution_id)
    connection = await asyncpg.connect(cluster.dsn)
    found = await connection.fetchrow(
        "select count(*), sum(length(body) + length(cause)) from noetl.log l"
        " join noetl.executions e on e.id = l.execution where e.execution_id = $1",
        execution_id,
    )
    await connection.close()
    return found[0] / 100_000, float(found[1]) / 100_000


async def _open_many(client: Client) -> None:
    """Executions that wait for a day."""
    path = await client.path_of(HEAD.format(name="waiting") + WAIT)
    for _ in range(OPEN_EXECUTIONS // 100):
        await asyncio.gather(*(client.begin(path) for _ in range(100)))
