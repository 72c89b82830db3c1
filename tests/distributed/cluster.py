"""A cluster of real processes: servers and workers of the CLI over a store, to be disturbed.

They are joined by a bus where there is one, else by connections that workers make to the servers' ports.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest

from noetl.adapters.http.front import HttpFront
from noetl.control.catalog import Catalog
from noetl.control.history import events
from noetl.control.log_audit import audit
from noetl.core.event import Event
from noetl.errors import BackendError
from noetl.ports.front import Ask
from noetl.ports.store import Store, Summary
from noetl.settings import load
from noetl.tools import kinds
from noetl.wiring.distributed import opened_store
from tests.fork_server import FORK_SERVER, ForkedProcess
from tests.releases import previous
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
LEASE_S = 2.0
READY_S = 90.0
WITHIN_S = 2 * LEASE_S + 90.0  # far more than is needed on a quiet machine
LOOK_S = 0.05
SERVERS_MOST = 6  # whose addresses workers know beforehand


BOTH_LINKS = pytest.mark.parametrize("link", ["direct", "nats"])
OVER_NATS = pytest.mark.parametrize("link", ["nats"])


@dataclass
class Node:
    """One process of the cluster."""

    name: str
    process: "subprocess.Popen[bytes] | ForkedProcess"
    stdout: IO[bytes]
    printed: Path
    said: str = ""  # the address of a server, the id of a worker

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(READY_S)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def died(self) -> bool:
        return self.process.poll() is not None

    async def gone(self) -> None:
        """Wait until it has died of its own."""
        until = time.monotonic() + WITHIN_S
        while not self.died():
            assert time.monotonic() < until, f"{self.name} lives on:\n{self.printed.read_text()}"
            await asyncio.sleep(LOOK_S)


@dataclass
class Cluster:
    """Servers and workers that share a store, and a bus where one is given."""

    folder: Path
    store_url: str
    bus_url: str | None = None
    lease_s: float = LEASE_S
    nodes: list[Node] = field(default_factory=list)
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(SERVERS_MOST)])

    def server(self, fault: str = "", release: str = "", **settings: str) -> Node:
        """Start a server; `fault` is where it kills itself, see faulty.py; `release`: of which, see tests/releases."""
        return self._start(
            "server", ["server", "start", "--port", str(self._port())], fault, settings, release
        )

    def _port(self) -> int:
        """One that workers know: that nobody had yet, else that of a server that has died, as an operator does."""
        had = {urlsplit(node.said).port: node for node in self.nodes if node.name.startswith("server")}
        free = [port for port in self.ports if port not in had] or [p for p in self.ports if had[p].died()]
        return free[0] if free else free_port()

    def worker(self, fault: str = "", release: str = "", **settings: str) -> Node:
        """Start a worker."""
        own = {**self._known_servers(), **settings}
        return self._start("worker", ["worker", "start"], fault, own, release)

    def refused_worker(self, **settings: str) -> Node:
        """Start a worker that is not let in, and so never says its name."""
        return self._start(
            "worker", ["worker", "start"], "", {**self._known_servers(), **settings}, refused=True
        )

    def _start(
        self,
        kind: str,
        arguments: list[str],
        fault: str,
        settings: dict[str, str],
        release: str = "",
        *,
        refused: bool = False,
    ) -> Node:
        name = f"{kind}-{len(self.nodes)}"
        printed = self.folder / f"{name}.log"
        reading, writing = os.pipe()
        with printed.open("wb") as errors, os.fdopen(writing, "wb") as out:
            process = self._process(arguments, fault, self.environment(settings), out, errors, release)
        node = Node(name, process, os.fdopen(reading, "rb"), printed)
        self.nodes.append(node)
        node.said = node.stdout.readline().decode().strip()
        assert bool(node.said) != refused, f"{name} did not start:\n{printed.read_text()}"
        return node

    def _process(
        self,
        arguments: list[str],
        fault: str,
        env: dict[str, str],
        out: IO[bytes],
        errors: IO[bytes],
        release: str,
    ) -> "subprocess.Popen[bytes] | ForkedProcess":
        if not fault:
            programs = previous.FORK_SERVER if release == previous.VERSION else FORK_SERVER
            return programs.start(arguments, self.folder, env, out.fileno(), errors.fileno())
        command = [sys.executable, "-m", "tests.distributed.faulty", fault, *arguments]
        null = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, env=env, stdin=null, stdout=out, stderr=errors)

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        """What the processes see."""
        own = {
            "NOETL_HOME": str(self.folder / "home"),
            "NOETL_STORE": self.store_url,
            "NOETL_LEASE_S": str(self.lease_s),
            "NOETL_ALLOW_NETWORKS": "loopback",
            "NOETL_ROOTS": str(self.folder),
            "PYTHONPATH": str(ROOT),
        }
        named = {f"NOETL_{name.upper()}": text for name, text in settings.items()}
        joined = {} if self.bus_url is None else {"NOETL_BUS": self.bus_url}
        return {**os.environ, **own, **joined, **named}

    def _known_servers(self) -> dict[str, str]:
        """The addresses that workers without a bus have; of other servers they hear."""
        if self.bus_url is not None:
            return {}
        return {"server": ",".join(f"http://127.0.0.1:{port}" for port in self.ports)}

    def close(self) -> None:
        for node in self.nodes:
            if not node.died():
                node.resume()
                node.kill()
            node.stdout.close()

    # What is asked of it

    @asynccontextmanager
    async def front(self, server: Node) -> AsyncIterator[HttpFront]:
        front = HttpFront(server.said)
        try:
            yield front
        finally:
            await front.close()

    async def start(
        self, server: Node, text: str, workload: dict[str, Any] | None = None, key: str | None = None
    ) -> str:
        """Begin an execution; its id."""
        ask = Ask(text=text, workload=workload or {}, idempotency_key=key)
        async with self.front(server) as front:
            return (await front.start(ask)).execution_id

    async def executions(self) -> list[Summary]:
        async with self.store() as store:
            return (await store.executions()).items

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """The store itself, as the test sees it beside all servers."""
        async with opened_store(load({"store": self.store_url})) as store:
            yield store

    async def finished(self, execution_id: str, within_s: float = WITHIN_S) -> Summary:
        """Wait until an execution is over, whoever runs it; then check its log."""
        until = time.monotonic() + within_s
        while True:
            try:
                async with self.store() as store:
                    while (summary := await store.summary(execution_id)).ended_at is None:
                        assert time.monotonic() < until, await self._stuck(store, execution_id)
                        await asyncio.sleep(LOOK_S)
                    await self._audit(store, summary)
                    return summary
            except BackendError:
                assert time.monotonic() < until, "the store does not come back"
                await asyncio.sleep(LOOK_S)

    async def _audit(self, store: Store, summary: Summary) -> None:
        catalog = Catalog(store, kinds(), "")
        program = await catalog.program(summary.hash)
        engine = [e async for _, e in events(store, summary.execution_id)][1].data or {}
        found = await audit(store, summary.execution_id, program, str(engine.get("engine", "")))
        assert not found.problems, found.problems

    async def _stuck(self, store: Store, execution_id: str) -> str:
        log = [
            f"{seq} {e.ts} {e.name} {e.run} {e.at} {str(e.data)[:150]}"
            async for seq, e in events(store, execution_id)
        ]
        printed = [
            f"--- {node.name} (died: {node.died()})\n{node.printed.read_text()[-2000:]}"
            for node in self.nodes
        ]
        return "the execution does not end:\n" + "\n".join([*log[-40:], *printed])

    async def says(self, server: Node, *, ready: bool) -> None:
        """Wait until a server says that it is ready, or that it is not."""
        until = time.monotonic() + WITHIN_S
        while await asyncio.to_thread(_is_ready, server.said) is not ready:
            assert time.monotonic() < until, f"{server.name} says otherwise"
            await asyncio.sleep(LOOK_S)

    async def knows(self, server: Node, workers: int) -> None:
        """Wait until a server has heard of so many workers."""
        until = time.monotonic() + WITHIN_S
        async with self.front(server) as front:
            while len(await front.workers()) < workers:
                assert time.monotonic() < until, f"{server.name} knows {await front.workers()}"
                await asyncio.sleep(LOOK_S)

    async def reached(self, execution_id: str, name: str, count: int) -> None:
        """Wait until the log has so many events of a name."""
        until = time.monotonic() + WITHIN_S
        async with self.store() as store:
            while sum([event.name == name async for _, event in events(store, execution_id)]) < count:
                assert time.monotonic() < until, await self._stuck(store, execution_id)
                await asyncio.sleep(LOOK_S)

    async def log(self, execution_id: str) -> list[Event]:
        async with self.store() as store:
            return [event async for _, event in events(store, execution_id)]


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/ready", timeout=READY_S) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as refused:
        refused.close()
        return False
