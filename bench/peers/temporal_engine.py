"""Temporal: its dev server over SQLite; workflows and activities in a worker process; asked over gRPC."""

import asyncio
import contextlib
import itertools
import os
import sys
import urllib.request
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from tests.servers import Server

with workflow.unsafe.imports_passed_through():
    from bench.peers.work import IN_FLIGHT, Engine, report

ROOT = Path(__file__).parents[2]
QUEUE, LIMIT = "bench", timedelta(minutes=5)


@activity.defn
async def nothing() -> None:
    """The step."""


@workflow.defn
class Chain:
    """Steps one after another, each in the log before the next."""

    @workflow.run
    async def run(self, steps: int) -> None:
        """Do them."""
        for _ in range(steps):
            await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)


@workflow.defn
class FanOut:
    """Steps of one workflow, so many of them at a time."""

    @workflow.run
    async def run(self, items: int) -> None:
        """Do them."""
        free = asyncio.Semaphore(IN_FLIGHT)

        async def one() -> None:
            async with free:
                await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)

        await asyncio.gather(*(one() for _ in range(items)))


class TemporalServer(Server):
    """The server that developers run, with its data in a file; every commit is synced."""

    ports = 3

    def _command(self) -> list[str]:
        program = Path(sys.executable).with_name("temporal")
        data = ["--db-filename", str(self.folder / "temporal.db"), "--sqlite-pragma", "journal_mode=wal"]
        port, http, metrics = map(str, self._ports)
        ports = ["--port", port, "--http-port", http, "--metrics-port", metrics]
        quiet = ["--headless", "--log-level", "error", "--disable-config-file"]
        start = [str(program), "server", "start-dev", "--ip", "127.0.0.1"]
        return [*start, *data, "--sqlite-pragma", "synchronous=full", *ports, *quiet]

    def _ready(self) -> bool:
        namespace = f"http://127.0.0.1:{self._ports[1]}/api/v1/namespaces/default"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(namespace, timeout=5.0).close()
            return True
        return False


class TemporalWorker(Server):
    """A worker as it comes; what is asked for before it is there waits for it."""

    def _command(self) -> list[str]:
        os.environ["PYTHONPATH"] = str(ROOT)
        return [sys.executable, "-m", "bench.peers.temporal_engine", *self.options]

    def _ready(self) -> bool:
        return True


async def work(address: str) -> None:
    """Do what workflows ask for, until the process is ended."""
    client = await Client.connect(address)
    await Worker(client, task_queue=QUEUE, workflows=[Chain, FanOut], activities=[nothing]).run()


async def main() -> None:
    """Start both, do the work."""
    with TemporalServer.start() as server:
        address = f"127.0.0.1:{server.port}"
        with TemporalWorker.start(options=[address]):
            client, ids = await Client.connect(address), itertools.count()

            async def chain(steps: int) -> None:
                await client.execute_workflow(Chain.run, steps, id=f"chain-{next(ids)}", task_queue=QUEUE)

            async def fan_out(items: int) -> None:
                await client.execute_workflow(FanOut.run, items, id=f"items-{next(ids)}", task_queue=QUEUE)

            await report(Engine(chain, fan_out))


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]) if len(sys.argv) > 1 else main())
