"""Questions and answers of any size over a real NATS server, and errors as ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from noetl.adapters.nats.boxes import Box, seal
from noetl.adapters.nats.bus import Bus, NoAnswer, shown
from noetl.errors import BackendError, Conflict, NotFound
from tests.servers import NatsServer

ANSWER_S = 30.0


@asynccontextmanager
async def connected(url: str, name: str = "test") -> AsyncIterator[Bus]:
    bus = Bus(url, name)
    await bus.connect()
    try:
        yield bus
    finally:
        await bus.close()


async def answered(client: Bus, subject: str, body: bytes = b"") -> bytes:
    """The answer, once the other side listens."""
    async with asyncio.timeout(ANSWER_S):
        while True:
            with suppress(NoAnswer):
                return await client.request(subject, body, ANSWER_S)
            await asyncio.sleep(0.02)


async def echo(body: bytes) -> bytes:
    return body


@pytest.mark.parametrize("size", [0, 10, 1_000_000, 1_048_576, 5_000_000])
async def test_questions_and_answers_have_any_size(nats_server: NatsServer, size: int) -> None:
    body = bytes(number % 251 for number in range(1000)) * (size // 1000) + b"x" * (size % 1000)
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve_parts("parts.here")
        server.serve("echo", echo)
        assert await answered(client, "echo", body) == body


@pytest.mark.parametrize("kind", [NotFound, Conflict, BackendError])
async def test_an_error_that_is_the_answer_arrives_as_it_was(
    nats_server: NatsServer, kind: type[NotFound]
) -> None:
    async def fail(body: bytes) -> bytes:
        raise kind("no such thing", hint="look again")

    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve("fails", fail)
        with pytest.raises(kind) as caught:
            await answered(client, "fails")
    assert (caught.value.message, caught.value.hint) == ("no such thing", "look again")
    assert not isinstance(caught.value, NoAnswer)


async def test_where_nobody_listens_there_is_no_answer(nats_server: NatsServer) -> None:
    async with connected(nats_server.url) as client:
        with pytest.raises(NoAnswer):
            await client.request("nobody", b"", ANSWER_S)


async def test_what_is_said_is_heard_by_all_who_listen(nats_server: NatsServer) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    async with connected(nats_server.url) as one, connected(nats_server.url) as other:
        one.listen("news", heard.put_nowait)
        other.listen("news", heard.put_nowait)
        for bus in (one, other):  # what is published on a connection comes after what it subscribed to
            bus.serve(f"ready.{id(bus)}", echo)
            await answered(bus, f"ready.{id(bus)}")
        one.publish("news", b"hello")
        assert [await asyncio.wait_for(heard.get(), ANSWER_S) for _ in range(2)] == [b"hello"] * 2


async def test_a_bus_that_was_away_is_there_again(tmp_path: Path) -> None:
    back = asyncio.Event()
    with NatsServer.start(tmp_path) as nats:
        async with connected(nats.url) as server, connected(nats.url) as client:
            client.on_connected = back.set
            server.serve("echo", echo)
            await asyncio.to_thread(nats.wipe)
            await asyncio.wait_for(back.wait(), ANSWER_S)
            assert await answered(client, "echo", b"again") == b"again"


async def test_a_bus_that_is_not_there_is_named_without_its_password() -> None:
    bus = Bus("nats://me:secret@127.0.0.1:1", "test")
    with pytest.raises(BackendError, match=r"127\.0\.0\.1:1") as caught:
        await bus.connect()
    assert "secret" not in caught.value.message
    assert shown("nats://me:secret@host:4222") == "nats://host:4222"


def test_a_secret_is_read_by_the_worker_it_was_sealed_for_and_no_other() -> None:
    mine, other = Box(), Box()
    sealed = seal(mine.public, {"token": "hush"})
    assert b"hush" not in sealed
    assert mine.open(sealed) == {"token": "hush"}
    for opener, box in ((other, sealed), (mine, sealed[:-1] + b"!")):
        with pytest.raises(BackendError):
            opener.open(box)
