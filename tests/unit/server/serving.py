"""A server over an engine in memory, reached through a real socket."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.cli.processes.serving import options_for
from noetl.control.sweep import sweep
from noetl.ports.front import TokenAsk
from noetl.ports.store import AccessToken, Store
from noetl.server.app import create_app
from noetl.server.auth import Auth
from noetl.server.listen import bind, serve, url_of
from noetl.server.options import Options
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble

LONG = 60.0
HELLO = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hello, path: tests/hello}
workload: {name: world}
workflow:
  - step: greet
    tool: {kind: python, code: "result = f'hello {name}'", input: {name: "{{ workload.name }}"}}
    set: {ctx.said: "{{ output.data }}"}
"""
WAITS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: tests/waits}
workflow:
  - step: ask
    tool: {kind: wait, signal: go}
"""
BROKEN = HELLO.replace("step: greet", "stepp: greet")


@dataclass
class Served:
    """A running server: a client for it, the app, and the engine behind."""

    client: httpx2.AsyncClient
    app: FastAPI
    made: Embedded
    url: str
    stopping: asyncio.Event

    async def register(self, text: str) -> dict[str, Any]:
        answer = await self.client.post("/api/v1/catalog", json={"playbook": text})
        assert answer.status_code == 201, answer.text
        entry: dict[str, Any] = answer.json()
        return entry

    async def start(self, path: str, **workload: Any) -> str:
        answer = await self.client.post("/api/v1/executions", json={"path": path, "workload": workload})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["execution_id"])

    async def ended(self, execution_id: str) -> dict[str, Any]:
        """How an execution ended."""
        async with asyncio.timeout(LONG):
            async for _ in self.made.front.follow(execution_id):
                pass
        answer = await self.client.get(f"/api/v1/executions/{execution_id}")
        shown: dict[str, Any] = answer.json()
        return shown

    async def run(self, text: str, **workload: Any) -> dict[str, Any]:
        """Register a text, run it to its end."""
        entry = await self.register(text)
        return await self.ended(await self.start(entry["path"], **workload))


@asynccontextmanager
async def engine(folder: Path, store: Store | None = None) -> AsyncIterator[Embedded]:
    """An engine with its clockwork, in memory unless a store is given."""
    settings = load({"store": "memory://", "home": str(folder)}, environ={}, folder=folder)
    made = assemble(settings, store or MemoryStore(now_ms), MemoryResults(now_ms), adopts=True)
    clockwork = asyncio.create_task(sweep(made.engine))
    try:
        yield made
    finally:
        clockwork.cancel()
        await asyncio.gather(clockwork, return_exceptions=True)
        await made.close()


@asynccontextmanager
async def guarded(folder: Path) -> AsyncIterator[Served]:
    """A server that asks callers who they are; its own client is an admin, and strangers may knock at will."""
    holder: list[Served] = []

    async def find(token_id: str) -> AccessToken:
        return await holder[0].made.store.token(token_id)

    async with served(folder, lambda options: replace(options, auth=Auth(find))) as server:
        holder.append(server)
        admin = await server.made.front.new_token(TokenAsk(name="admin", scopes=["admin"]))
        server.client.headers["Authorization"] = f"Bearer {admin.bearer}"
        gate: Any = server.app.state.gate
        gate.strangers._burst = 1_000_000
        yield server


@asynccontextmanager
async def served(
    folder: Path, change: Callable[[Options], Options] | None = None, *, store: Store | None = None
) -> AsyncIterator[Served]:
    """A server on a free port."""
    async with engine(folder, store) as made:
        options = options_for(made.settings, made.engine)
        app = create_app(made.front, change(options) if change else options)
        bound = bind("127.0.0.1", 0, guarded=True)
        url = url_of(bound)
        stopping = asyncio.Event()
        serving = asyncio.create_task(serve(app, bound, stopping))
        try:
            async with httpx2.AsyncClient(base_url=url, timeout=LONG) as client:
                yield Served(client, app, made, url, stopping)
        finally:
            stopping.set()
            await serving
