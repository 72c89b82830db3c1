"""Who follows an execution hears that nobody is there to run its step."""

import asyncio
from typing import Any, cast

import pytest

from noetl.cli.running import no_worker_notice
from noetl.cli.running.watches import JsonWatch
from noetl.errors import Denied
from noetl.ports.front import Front, Worker

LONG = 10.0
TOLD = "step 'far' waits for a worker of the pool 'gpu'; start one with: noetl worker start --pool gpu"


class Listening(JsonWatch):
    """Remembers the sentences."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def announce(self, text: str) -> None:
        self.sentences.append(text)


class Answering:
    """A server with one execution, whose step `far` is for the pool `gpu`."""

    def __init__(self, *pools: str, started_at: str | None = None, kinds: list[str] | None = None) -> None:
        self.kinds = kinds or []
        self.pools, self.run = pools, {"step": "far", "status": "running", "started_at": started_at}
        self.asked, self.enough, self.looked = 0, 0, asyncio.Event()

    async def workers(self) -> list[Worker]:
        self.asked += 1
        if self.asked == self.enough:
            self.looked.set()
        if self.asked == 1:
            raise Denied("this needs the scope 'read'")
        return [Worker(f"w-{pool}", pool, 1, 0, 0, 0, kinds=self.kinds) for pool in self.pools]

    async def graph(self, execution_id: str) -> dict[str, Any]:
        return {"steps": [{"step": "near", "kinds": ["x"]}, {"step": "far", "kinds": ["noop", "greet"]}]}

    async def state(self, execution_id: str) -> dict[str, Any]:
        return {"runs": [self.run]}

    async def events(self, execution_id: str, **wanted: Any) -> list[dict[str, Any]]:
        return [{"data": {"pool": "small"}}, {"data": {"pool": "gpu"}}]


async def sentences(server: Answering, looks: int) -> list[str]:
    """What is told before the server was looked at so many times."""
    watch = Listening()
    server.enough = looks
    telling = asyncio.ensure_future(no_worker_notice.watch_workers(cast("Front", server), "e", watch))
    looked = asyncio.ensure_future(server.looked.wait())
    await asyncio.wait({telling, looked}, timeout=LONG, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    looked.cancel()
    return watch.sentences


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_worker_notice, "FIRST_S", 0.001)


async def test_work_for_a_pool_without_workers_is_told_once() -> None:
    assert await sentences(Answering("default"), looks=9) == [TOLD]


async def test_work_of_a_kind_that_no_worker_of_its_pool_has_is_told() -> None:
    told = await sentences(Answering("default", "gpu", kinds=["http", "noop"]), looks=9)
    assert told == [
        "step 'far' waits for a worker of the pool 'gpu' with the kind 'greet': "
        "name it under 'tools' where the worker runs, or install its package there"
    ]


@pytest.mark.parametrize(
    "server",
    [
        Answering("default", "gpu"),
        Answering("gpu", kinds=["greet", "noop"]),
        Answering("default", started_at="2026-01-01T00:00:00.000Z"),
    ],
    ids=["a pool that is served", "a kind that is there", "a step that was started"],
)
async def test_what_somebody_may_take_or_has_is_not_told(server: Answering) -> None:
    assert await sentences(server, looks=4) == []


async def test_who_looks_once_is_told_too_unless_they_may_not_see_workers() -> None:
    server = cast("Front", Answering("default"))
    assert await no_worker_notice.unserved_lines(server, "e") == []  # it is denied the first time
    assert await no_worker_notice.unserved_lines(server, "e") == [TOLD]
    server = cast("Front", Answering("gpu"))
    assert [await no_worker_notice.unserved_lines(server, "e") for _ in "ab"] == [[], []]
