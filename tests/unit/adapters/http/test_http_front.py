"""A server far away is used like the product in this process."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import uvicorn

from noetl.adapters.http import client
from noetl.adapters.http.client import Client, address
from noetl.adapters.http.front import HttpFront
from noetl.adapters.http.problem import error_of
from noetl.adapters.http.stream import event_of
from noetl.core.event import Event, envelope
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict, NotFound, PlaybookError, RequestError
from noetl.ports.front import Ask, Front, counts_of
from noetl.ports.store import Find
from tests.unit.server.serving import BROKEN, HELLO, LONG, WAITS, Served, served

NO_ID = "0" * 32


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def front(server: Served) -> AsyncIterator[HttpFront]:
    made = HttpFront(server.url)
    yield made
    await made.close()


async def heard(front: Front, execution_id: str, first: int = 1) -> list[tuple[int, Event]]:
    found: list[tuple[int, Event]] = []
    async with asyncio.timeout(LONG):
        async for start, events in front.follow(execution_id, first):
            found += list(enumerate(events, start))
    return found


async def until(front: Front, execution_id: str, name: str) -> None:
    async with asyncio.timeout(LONG), aclosing(front.follow(execution_id)) as log:
        async for _, events in log:
            if any(event.name == name for event in events):
                return
    raise AssertionError(f"no {name}")


async def test_every_reading_is_that_of_the_server(server: Served, front: HttpFront) -> None:
    local = server.made.front
    entry = await front.register(HELLO)
    assert entry == await local.playbook("tests/hello")
    started = await front.start(Ask(path="tests/hello", workload={"name": "you"}, until=None))
    execution_id = started.execution_id
    log = await heard(front, execution_id)
    assert log == await heard(local, execution_id)
    assert log[2:] == await heard(front, execution_id, 3)
    assert await front.execution(execution_id) == await local.execution(execution_id)
    assert await front.rows(execution_id) == await local.rows(execution_id)
    assert await front.events(execution_id, name="task.*") == await local.events(execution_id, name="task.*")
    assert await front.logs(execution_id) == await local.logs(execution_id)
    for at in (None, 3):
        assert await front.state(execution_id, at) == await local.state(execution_id, at)
    assert await front.why(execution_id, "greet") == await local.why(execution_id, "greet")
    assert await front.graph(execution_id) == await local.graph(execution_id)
    assert await front.evaluate(execution_id, "{{ ctx.said }}") == "hello you"
    assert (await front.playbook_of(execution_id)).text == HELLO
    other = await front.rerun(execution_id, "greet")
    await heard(front, other.execution_id)
    found = await front.diff(execution_id, other.execution_id)
    assert found == await local.diff(execution_id, other.execution_id)
    listed = await front.executions(Find(path="tests/hello", limit=1))
    assert [item.execution_id for item in listed.items] == [other.execution_id]
    assert listed.items[0].retry_of == execution_id
    rest = await front.executions(Find(path="tests/hello", cursor=listed.cursor))
    assert [item.execution_id for item in rest.items] == [execution_id]
    assert counts_of(rest.items[0]) == (await front.execution(execution_id))["counts"]
    (worker,), (here,) = await front.workers(), await local.workers()
    assert (worker.worker_id, worker.started_at) == (here.worker_id, here.started_at)
    assert await front.overdue_ms() == 0


async def test_the_catalog_is_listed_shown_and_deleted(front: HttpFront) -> None:
    await front.register(HELLO)
    await front.register(HELLO.replace("world", "moon"))
    await front.register(WAITS)
    assert [entry.path for entry in await front.playbooks()] == ["tests/hello", "tests/waits"]
    assert [entry.version for entry in await front.playbooks("tests/hello")] == [2, 1]
    assert "world" in (await front.playbook("tests/hello", 1)).text
    assert await front.delete_playbook("tests/hello", 1) == 1
    with pytest.raises(NotFound):
        await front.playbook("tests/hello", 1)


async def test_an_execution_is_steered_and_its_conflicts_come_back_as_such(front: HttpFront) -> None:
    asked = Ask(text=WAITS, idempotency_key="k")
    started = await front.start(asked)
    assert not started.existed
    assert (await front.start(asked)).existed
    with pytest.raises(Conflict, match="belongs to execution"):
        await front.start(Ask(text=HELLO, idempotency_key="k"))
    execution_id = started.execution_id
    await until(front, execution_id, "task.parked")
    await front.control(execution_id, Control("pause", why="lunch"))
    with pytest.raises(Conflict, match="already paused"):
        await front.control(execution_id, Control("pause"))
    await front.control(execution_id, Control("resume"))
    await front.control(execution_id, Control("signal", name="go", payload=[1]))
    log = await heard(front, execution_id)
    assert log[-1][1].name == "playbook.processed"
    with pytest.raises(Conflict, match="already completed"):
        await front.control(execution_id, Control("cancel"))
    with pytest.raises(Conflict):
        await front.retry(execution_id)


async def test_a_refused_playbook_keeps_every_finding(front: HttpFront) -> None:
    with pytest.raises(PlaybookError) as raised:
        await front.start(Ask(text=BROKEN))
    finding = next(item for item in raised.value.diagnostics if item.severity == "error")
    assert finding.line == 7
    assert finding.hint
    with pytest.raises(PlaybookError):
        await front.register(BROKEN)


async def test_errors_keep_their_sentence_and_hint(server: Served, front: HttpFront) -> None:
    await front.register(HELLO)
    with pytest.raises(NotFound) as raised:
        await front.start(Ask(path="tests/hell"))
    assert raised.value.hint == "did you mean 'tests/hello'?"
    for wrong in (front.execution(NO_ID), front.why(NO_ID), front.rows(NO_ID), heard(front, NO_ID)):
        with pytest.raises(NotFound):
            await wrong
    with pytest.raises(RequestError, match="no step 'gone'"):
        await front.start(Ask(path="tests/hello", until="gone"))


async def test_credentials_go_in(front: HttpFront) -> None:
    await front.put_credential("pg", {"user": "app", "password": "hidden"})
    assert [name for name, _ in await front.credentials()] == ["pg"]
    shown = await front.credential("pg")
    assert shown["fields"] == ["password", "user"]
    assert await front.seal_again() == 1
    await front.delete_credential("pg")
    with pytest.raises(NotFound):
        await front.delete_credential("pg")


async def test_a_stored_payload_is_had_in_part(front: HttpFront) -> None:
    text = HELLO.replace("result = f'hello {name}'", "result = [{'n': n} for n in range(50000)]")
    started = await front.start(Ask(text=text.replace('set: {ctx.said: "{{ output.data }}"}', "")))
    await heard(front, started.execution_id)
    (done,) = await front.events(started.execution_id, name="step.done")
    key = done["data"]["output"]["ref"]["locator"]["key"]
    found = await front.result(key, offset=10, limit=2)
    assert (found.data, found.total) == ([{"n": 10}, {"n": 11}], 50_000)
    assert (await front.result(key, select="[0].n")).data == 0


class Cut:
    """A relay to a server that can cut its connections."""

    def __init__(self, url: str) -> None:
        self.host, _, port = url.removeprefix("http://").rpartition(":")
        self.port, self.writers = int(port), list[asyncio.StreamWriter]()
        self.relays: list[asyncio.Task[Any]] = []

    async def open(self) -> str:
        self.server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.relays.append(task)
        there, back = await asyncio.open_connection(self.host, self.port)
        self.writers += [writer, back]
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer), return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def close(self) -> None:
        self.server.close()
        self.cut()
        await asyncio.gather(*self.relays, return_exceptions=True)


async def test_a_cut_stream_goes_on_where_it_was_without_gap_or_repeat(server: Served) -> None:
    relay = Cut(server.url)
    trouble: list[str] = []
    front = HttpFront(await relay.open(), notify=trouble.append)
    execution_id = (await front.start(Ask(text=WAITS))).execution_id
    log: list[tuple[int, Event]] = []
    async with asyncio.timeout(LONG), aclosing(front.follow(execution_id)) as following:
        async for start, events in following:
            log += list(enumerate(events, start))
            if any(event.name == "task.parked" for event in events):
                relay.cut()
                await server.made.front.control(execution_id, Control("signal", name="go"))
    assert log == await heard(server.made.front, execution_id)
    assert len(relay.relays) > 1
    await front.close()
    await relay.close()


async def test_a_server_that_is_not_there_is_a_backend_that_cannot_be_reached(tmp_path: Path) -> None:
    async with served(tmp_path) as gone:
        url = gone.url
    front = HttpFront(url)
    for asked in (front.execution(NO_ID), heard(front, NO_ID), front.start(Ask(path="x"))):
        with pytest.raises(BackendError) as raised:
            await asked
        assert url in raised.value.message
        assert "noetl server start" in (raised.value.hint or "")
    await front.close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (401, b'{"code": "unauthenticated", "detail": "who are you?"}', RequestError, "denied"),
        (503, b'{"code": "backend", "detail": "no database"}', BackendError, "backend"),
        (413, b'{"code": "too-large", "detail": "too much"}', RequestError, "refused"),
        (502, b"<html>bad gateway</html>", BackendError, "backend"),
        (500, b"oops", Exception, "server"),
        (404, b"<html>not here</html>", RequestError, "refused"),
    ],
)
def test_an_answer_becomes_the_error_it_stands_for(
    status: int, body: bytes, kind: type[Exception], code: str
) -> None:
    error = error_of("http://here", status, body)
    assert isinstance(error, kind)
    assert error.code == code


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://noetl.example.com/", "https://noetl.example.com"),
        ("https://example.com/noetl/api/v1/", "https://example.com/noetl"),
        (" http://[::1]:8080/ ", "http://[::1]:8080"),
    ],
)
def test_a_servers_address_is_its_address(written: str, meant: str) -> None:
    assert address(written) == meant


@pytest.mark.parametrize("wrong", ["", "localhost:8080", "ftp://x", "http://", "http://user:pw@host", "prod"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(RequestError):
        address(wrong)


EVENTS: list[dict[str, Any]] = [
    {"name": "playbook.execution.requested", "data": {"path": "a"}},
    {
        "name": "task.done",
        "by": "w",
        "run": "load.1",
        "at": "[2]/call[0]",
        "label": "x",
        "visit": 2,
        "attempt": 1,
    },
    {"name": "task.started", "by": "w", "run": "load.1", "label": "x/inner", "visit": 1, "attempt": 3},
    {
        "name": "loop.iteration.done",
        "by": "w",
        "run": "load.2",
        "at": "[2]",
        "data": {"output": {"status": "ok"}},
    },
    {"name": "ctx.patched", "run": "load.2", "at": "[2]/call", "data": {"patch": []}},
    {"name": "step.started", "by": "w", "run": "load.2", "data": {"worker": "w1", "epoch": 1}},
]


@pytest.mark.parametrize("fields", EVENTS, ids=lambda fields: str(fields["name"]))
def test_an_event_read_from_its_envelope_shows_the_same_envelope(fields: dict[str, Any]) -> None:
    event = Event(**{"ts": 1_700_000_000_123, **fields})
    shown = envelope(NO_ID, 7, event)
    seq, again = event_of(shown)
    assert seq == 7
    assert envelope(NO_ID, seq, again) == shown


@pytest.mark.parametrize("error", [aiohttp.ClientPayloadError("400, x"), aiohttp.ServerDisconnectedError()])
def test_a_server_that_dies_while_it_answers_is_told_in_words(error: aiohttp.ClientError) -> None:
    told = Client("http://127.0.0.1:8080").unreachable(error)
    assert told.message == "the server at http://127.0.0.1:8080 cannot be reached: the connection was cut"


async def test_a_step_that_is_none_is_answered_with_every_step_once(front: HttpFront) -> None:
    started = await front.start(Ask(text=HELLO))
    await heard(front, started.execution_id)
    with pytest.raises(NotFound) as caught:
        await front.why(started.execution_id, "zzz")
    assert caught.value.hint == "its steps: greet"


async def test_what_speaks_no_http_is_no_server() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO {}\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as listening:
        front = HttpFront(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
        with pytest.raises(BackendError, match="is no NoETL server: it does not speak HTTP"):
            await front.status(NO_ID)
        await front.close()


async def test_a_connection_that_the_server_may_be_closing_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here every one that was used before is: it is closed when something more comes."""
    assert inspect.signature(uvicorn.Config).parameters["timeout_keep_alive"].default > client.IDLE_S
    monkeypatch.setattr(client, "IDLE_S", 0.0)

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        await reader.read(1)
        writer.close()

    listening = await asyncio.start_server(once, "127.0.0.1", 0)
    asking = Client(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    try:
        assert [await asking.ask("POST", "/anything") for _ in range(3)] == [{}] * 3
    finally:
        await asking.close()
        listening.close()
