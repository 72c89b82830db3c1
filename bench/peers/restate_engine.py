"""Restate: its server as it comes, which syncs its log; steps in a Python service; calls over HTTP."""

import asyncio
import contextlib
import os
import socket
import sys
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import restate

from bench.peers.work import IN_FLIGHT, Engine, report
from tests.servers import Server

ROOT = Path(__file__).parents[2]


async def nothing() -> None:
    """The step."""


async def chain(ctx: Any, steps: int) -> None:
    """Steps one after another, each in the log before the next."""
    for _ in range(steps):
        await ctx.run_typed("nothing", nothing)


async def fan_out(ctx: Any, items: int) -> None:
    """Steps of one invocation, a window of them at a time."""
    for _ in range(0, items, IN_FLIGHT):
        await restate.gather(*(ctx.run_typed("nothing", nothing) for _ in range(IN_FLIGHT)))


steps = restate.Service("steps")
steps.handler()(chain)
steps.handler()(fan_out)
app = restate.app([steps])


class RestateServer(Server):
    """Only addresses and the folder are given; it reports to nobody."""

    ports = 3

    @property
    def ingress(self) -> str:
        """Where work is asked for."""
        return f"http://127.0.0.1:{self._ports[1]}"

    @property
    def admin(self) -> str:
        """Where services are made known."""
        return f"http://127.0.0.1:{self._ports[2]}"

    def _command(self) -> list[str]:
        found = Path(sys.prefix).glob("node_modules/@restatedev/restate-server-*/bin/restate-server")
        inner, ingress, admin = (f"127.0.0.1:{port}" for port in self._ports)
        os.environ.update(
            RESTATE_INGRESS__BIND_ADDRESS=ingress,
            RESTATE_ADMIN__BIND_ADDRESS=admin,
            RESTATE_DISABLE_TELEMETRY="true",
        )
        place = ["--base-dir", str(self.folder / "data"), "--node-name", "bench"]
        return [str(next(found)), *place, "--listen-mode", "tcp", "--bind-address", inner]

    def _ready(self) -> bool:
        """Both doors answer."""
        with contextlib.suppress(OSError):
            for place in (f"{self.admin}/health", f"{self.ingress}/restate/health"):
                urllib.request.urlopen(place, timeout=5.0).close()
            return True
        return False


class StepsServer(Server):
    """The service in one process, which the server reaches over HTTP/2."""

    def _command(self) -> list[str]:
        granian = [str(Path(sys.executable).with_name("granian")), "--interface", "asgi", "--http", "2"]
        address = [
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--log-level",
            "error",
            "--workers-kill-timeout",
            "1",
        ]
        return [*granian, *address, "--working-dir", str(ROOT), "bench.peers.restate_engine:app"]

    def _ready(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5.0):
            return True
        return False


async def call(client: aiohttp.ClientSession, place: str, count: int) -> None:
    """One request, which is answered when the handler has ended."""
    async with client.post(place, json=count) as answer:
        answer.raise_for_status()
        await answer.read()


async def main() -> None:
    """Start both, make the service known, do the work."""
    with RestateServer.start() as server, StepsServer.start() as service:
        connector, limit = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=300)
        async with aiohttp.ClientSession(connector=connector, timeout=limit) as client:
            here = {"uri": f"http://127.0.0.1:{service.port}"}
            async with client.post(f"{server.admin}/deployments", json=here) as answer:
                answer.raise_for_status()
            at = f"{server.ingress}/steps"
            await report(Engine(partial(call, client, f"{at}/chain"), partial(call, client, f"{at}/fan_out")))


if __name__ == "__main__":
    asyncio.run(main())
