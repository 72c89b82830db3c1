"""Prefect: a server over PostgreSQL in a process of its own; flows run in this one and report over HTTP.

A task goes on before the server has written down that the one before it has ended.
"""

import asyncio
import contextlib
import os
import sys
import urllib.request

from bench.peers.work import IN_FLIGHT, Engine, report
from tests.servers import Server


class PrefectServer(Server):
    """As it is out of the box, without its web pages."""

    def _command(self) -> list[str]:
        start = [sys.executable, "-m", "prefect", "server", "start", "--no-ui"]
        return [*start, "--host", "127.0.0.1", "--port", str(self.port)]

    def _ready(self) -> bool:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=5.0).close()
            return True
        return False


def made() -> Engine:
    """The flows; Prefect reads its settings when it is imported, so that is done here."""
    from prefect import flow, task

    async def nothing() -> None:
        pass

    step = task(nothing)

    async def chain(steps: int) -> None:
        for _ in range(steps):
            await step()

    async def fan_out(items: int) -> None:
        free = asyncio.Semaphore(IN_FLIGHT)

        async def one() -> None:
            async with free:
                await step()

        await asyncio.gather(*(one() for _ in range(items)))

    return Engine(flow(chain), flow(fan_out))


async def main(store: str, folder: str) -> None:
    """Start the server, do the work."""
    os.environ.update(
        PREFECT_HOME=folder,
        PREFECT_API_DATABASE_CONNECTION_URL=store.replace("postgresql:", "postgresql+asyncpg:", 1),
        PREFECT_LOGGING_LEVEL="ERROR",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        DO_NOT_TRACK="1",
    )
    with PrefectServer.start(folder) as server:
        os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{server.port}/api"
        await report(made())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
