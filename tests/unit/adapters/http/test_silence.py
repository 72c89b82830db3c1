"""A server that is asked and does not answer: what it waits for is told once, and the question goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from noetl.adapters.http import silence
from noetl.adapters.http.client import Client

WITHIN_S = 30


class Slow:
    """A server whose answers are held until it is told, and that says how it is."""

    def __init__(self, ready: int | None) -> None:
        self.ready, self.go = ready, asyncio.Event()
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.probed = asyncio.Event()
        self.probes = asyncio.Semaphore(0)
        self.client: Client

    async def answer(self, request: web.Request) -> web.Response:
        await self.go.wait()
        return web.json_response({"items": []})

    async def is_ready(self, request: web.Request) -> web.Response:
        self.probed.set()
        self.probes.release()
        if self.ready is None:
            await self.go.wait()
        problem = {"code": "backend", "detail": "the database db does not answer"}
        return web.json_response(problem, status=self.ready or 200)

    async def lives(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})


@asynccontextmanager
async def asked(ready: int | None, **query: Any) -> AsyncIterator[tuple[Slow, "asyncio.Task[Any]"]]:
    """A question to a server that does not answer it yet."""
    slow, app = Slow(ready), web.Application()
    app.router.add_get("/api/v1/list", slow.answer)
    app.router.add_get("/health/ready", slow.is_ready)
    app.router.add_get("/health/live", slow.lives)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    client = slow.client = Client(f"http://127.0.0.1:{port}", notify=slow.told.put_nowait)
    try:
        async with asyncio.timeout(WITHIN_S):
            yield slow, asyncio.create_task(client.ask("GET", "/list", query=query))
    finally:
        slow.go.set()
        await client.close()
        await runner.cleanup()


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "SILENT_S", 0.01)
    monkeypatch.setattr(silence, "PROBE_S", 0.5)


@pytest.mark.parametrize(
    "ready, words", [(None, "its store does not answer"), (503, "the database db does not answer")]
)
async def test_why_there_is_no_answer_is_told_and_the_answer_comes_all_the_same(
    ready: int | None, words: str
) -> None:
    async with asked(ready) as (slow, question):
        told = await slow.told.get()
        assert told.startswith("waiting for the server at http://127.0.0.1:")
        assert told.endswith(words)
        slow.go.set()
        assert await question == {"items": []}
        assert slow.told.empty()


async def test_of_questions_that_wait_together_it_is_told_once() -> None:
    async with asked(503) as (slow, question):
        await slow.told.get()
        other = asyncio.create_task(slow.client.ask("GET", "/list"))
        for _ in range(2):
            await slow.probes.acquire()
        for _ in range(2000):  # the second is heard of as the first was
            await asyncio.sleep(0)
        slow.go.set()
        assert list(await asyncio.gather(question, other)) == [{"items": []}] * 2
        assert slow.told.empty()


async def test_a_server_that_is_well_and_takes_its_time_is_not_complained_of() -> None:
    async with asked(200) as (slow, question):
        await slow.probed.wait()
        slow.go.set()
        assert await question == {"items": []}
        assert slow.told.empty()


async def test_who_asked_the_server_to_wait_is_not_told_that_it_does() -> None:
    async with asked(503, wait=30) as (slow, question):
        slow.go.set()
        assert await question == {"items": []}
        assert not slow.probed.is_set()
