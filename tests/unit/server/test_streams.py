"""The stream of events: past ones at once, the others as they happen, and nothing left behind afterwards."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.http.front import HttpFront
from noetl.core.event import Event
from noetl.errors import BackendError
from noetl.server.concurrency_limit import ConcurrencyLimit
from noetl.server.options import Options
from noetl.server.routes.streams import EventStream
from tests.unit.server.serving import HELLO, LONG, WAITS, Served, served


def parsed(text: str) -> list[dict[str, str]]:
    """The events of a stream, comments left out."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


async def test_a_stream_of_what_is_over_has_every_event_and_its_end(server: Served) -> None:
    shown = await server.run(HELLO)
    answer = await server.client.get(f"/api/v1/executions/{shown['execution_id']}/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = parsed(answer.text)
    assert [event.get("id") for event in events[:-1]] == [
        str(n + 1) for n in range(shown["counts"]["events"])
    ]
    assert (events[-2]["event"], events[-1]) == ("playbook.processed", {"event": "end", "data": "{}"})


@pytest.mark.parametrize(
    "query, headers", [("?from=5", {}), ("", {"Last-Event-ID": "4"}), ("?from=1", {"Last-Event-ID": "4"})]
)
async def test_a_stream_goes_on_where_its_reader_left_off(
    server: Served, query: str, headers: dict[str, str]
) -> None:
    shown = await server.run(HELLO)
    answer = await server.client.get(
        f"/api/v1/executions/{shown['execution_id']}/stream{query}", headers=headers
    )
    assert parsed(answer.text)[0]["id"] == "5"


@pytest.mark.parametrize("last", ["-1", "x", "1.5", "9" * 40, "٣"])
async def test_a_number_that_is_none_is_refused(server: Served, last: str) -> None:
    shown = await server.run(HELLO)
    answer = await server.client.get(
        f"/api/v1/executions/{shown['execution_id']}/stream", params={"from": last}
    )
    assert answer.status_code == 400


async def test_events_arrive_as_they_happen_and_end_the_stream(server: Served) -> None:
    await server.register(WAITS)
    execution_id = await server.start("tests/waits")
    heard = ""
    async with (
        asyncio.timeout(LONG),
        server.client.stream("GET", f"/api/v1/executions/{execution_id}/stream") as answer,
    ):
        async for text in answer.aiter_text():
            heard += text
            if "event: task.parked" in heard and "signalled" not in heard:
                body = {"name": "go", "payload": None}
                await server.client.post(f"/api/v1/executions/{execution_id}/signal", json=body)
                heard += "signalled\n\n"
    assert heard.endswith("event: end\ndata: {}\n\n")


def hasty(options: Options) -> Options:
    return replace(options, heartbeat_s=0.01)


async def test_a_quiet_stream_says_that_it_is_alive(tmp_path: Path) -> None:
    async with served(tmp_path, hasty) as server:
        await server.register(WAITS)
        execution_id = await server.start("tests/waits")
        heard = ""
        async with (
            asyncio.timeout(LONG),
            server.client.stream("GET", f"/api/v1/executions/{execution_id}/stream") as answer,
        ):
            async for text in answer.aiter_text():
                heard += text
                if heard.count(": still here") > 3:
                    break


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that nobody announces."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_who_goes_away_is_let_go_of(server: Served) -> None:
    await server.register(WAITS)
    execution_id = await server.start("tests/waits")
    topics = server.made.front._followers._topics
    async with asyncio.timeout(LONG):
        async with server.client.stream("GET", f"/api/v1/executions/{execution_id}/stream") as answer:
            await anext(answer.aiter_text())
            await until(lambda: execution_id in topics)
        await until(lambda: execution_id not in topics)


async def test_streams_end_when_the_server_stops(server: Served) -> None:
    await server.register(WAITS)
    execution_id = await server.start("tests/waits")
    async with (
        asyncio.timeout(LONG),
        server.client.stream("GET", f"/api/v1/executions/{execution_id}/stream") as answer,
    ):
        async for _ in answer.aiter_text():
            server.app.state.closing.set()


async def test_a_slow_reader_holds_up_its_own_stream_and_nothing_else() -> None:
    """No more batches are taken from the log than the reader has room for."""
    taken = 0

    async def batches() -> AsyncGenerator[Any]:
        nonlocal taken
        while True:
            taken += 1
            yield taken, [Event("workflow.started", 0)]

    stream = EventStream("e" * 32, batches(), asyncio.Event())
    stuck = asyncio.Event()
    gone = asyncio.Event()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            stuck.set()
            await asyncio.Event().wait()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(stream({"type": "http"}, receive, send))
    await stuck.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert taken <= 1
    gone.set()
    await task


async def test_a_stream_whose_store_goes_away_is_cut_so_that_its_reader_asks_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def batches() -> AsyncGenerator[Any]:
        yield 1, [Event("workflow.started", 0)]
        raise BackendError("the database does not answer")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    await EventStream("e" * 32, batches(), asyncio.Event())({"type": "http"}, receive, send)
    assert b"workflow.started" in sent[1]["body"]
    assert sent[2:] == [{"type": "http.response.body", "body": b"", "more_body": False}], "and no end"
    assert [record.message for record in caplog.records] == ["a stream was cut: the database does not answer"]


# How many there may be


def crowded(server: Served, of_one: int, of_all: int) -> None:
    server.app.state.held = ConcurrencyLimit("streams and requests that wait", of_one, of_all)


FOLLOWING = ("stream", "logs/stream", "pulse")


@pytest.mark.parametrize("of_one, of_all", [(3, 100), (100, 3)])
async def test_streams_are_bounded_and_one_that_ends_makes_room(
    server: Served, of_one: int, of_all: int
) -> None:
    crowded(server, of_one, of_all)
    await server.register(WAITS)
    place = f"/api/v1/executions/{await server.start('tests/waits')}"
    async with asyncio.timeout(LONG), AsyncExitStack() as open_streams:
        for kind in FOLLOWING:
            stream = server.client.stream("GET", f"{place}/{kind}")
            assert (await open_streams.enter_async_context(stream)).status_code == 200
        for kind in (*FOLLOWING, "?wait=60"):
            refused = await server.client.get(f"{place}/{kind}".replace("/?", "?"))
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
            problem = refused.json()
            assert (
                problem["detail"] == "3 streams and requests that wait of yours are under way, and 3 in all"
            )
            assert problem["hint"].startswith("wait for one to end; up to ")
        assert (await server.client.get(place)).status_code == 200, "what does not wait is answered"
        await open_streams.aclose()
        await until(lambda: not server.app.state.held._of)
    async with server.client.stream("GET", f"{place}/stream") as answer:
        assert answer.status_code == 200


async def test_an_execution_whose_end_nobody_can_wait_for_is_not_started(server: Served) -> None:
    crowded(server, 0, 0)
    await server.register(HELLO)
    body = {"path": "tests/hello"}
    assert (await server.client.post("/api/v1/executions?wait=5", json=body)).status_code == 429
    assert (await server.client.get("/api/v1/executions")).json()["items"] == []
    assert (await server.client.post("/api/v1/executions", json=body)).status_code == 201


async def test_who_follows_where_there_is_no_room_waits_for_it(server: Served) -> None:
    crowded(server, 1, 1)
    shown = await server.run(HELLO)
    told: list[str] = []
    front = HttpFront(server.url, notify=told.append)
    held = server.app.state.held.admitted("operator")
    held.__enter__()
    async with asyncio.timeout(LONG):
        following = asyncio.create_task(anext(front.follow(shown["execution_id"])))
        await until(lambda: bool(told))
        held.__exit__(None, None, None)
        first, events = await following
    await front.close()
    assert (first, events[0].name) == (1, "playbook.execution.requested")
    assert told == ["1 streams and requests that wait of yours are under way, and 1 in all; trying again"]
