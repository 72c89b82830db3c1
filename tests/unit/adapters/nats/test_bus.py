"""Questions and answers of any size over a real NATS server, and errors as ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from noetl.adapters.link.requests import NoAnswer
from noetl.adapters.link.sealed_box import SealedBox, seal
from noetl.adapters.nats import bus as bus_module
from noetl.adapters.nats import chunk_buffer as kept_module
from noetl.adapters.nats.bus import _PLACE, PART, Bus, shown
from noetl.adapters.nats.chunk_buffer import ChunkBuffer
from noetl.errors import BackendError, Conflict, NotFound, RequestError
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


async def echo(subject: str, body: bytes) -> bytes:
    return body


@pytest.mark.parametrize("size", [0, 10, 1_000_000, 1_048_576, 5_000_000])
async def test_questions_and_answers_have_any_size(nats_server: NatsServer, size: int) -> None:
    body = bytes(number % 251 for number in range(1000)) * (size // 1000) + b"x" * (size % 1000)
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve_parts("parts.here")
        server.serve("echo", echo)
        assert await answered(client, "echo", body) == body


# What is kept and begun for others


async def test_nothing_of_a_long_message_stays_when_it_was_answered_and_fetched(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve_parts("parts.once")
        server.serve("echo.once", echo)
        assert len(await answered(client, "echo.once", b"x" * 3_000_000)) == 3_000_000
        assert (server._questions.bytes, server._answers.bytes) == (0, 0)


async def test_long_messages_that_nobody_goes_on_with_are_forgotten() -> None:
    kept, later = ChunkBuffer(10_000, quiet_s=0.0), asyncio.Event()
    kept.put(b"1", [b"a", b"b"])
    kept.put(b"2", [])
    asyncio.get_running_loop().call_later(0.001, later.set)
    await later.wait()
    assert (kept.get(b"1"), kept.get(b"2"), kept.bytes) == (None, None, 0)


async def test_long_messages_take_no_more_room_than_there_is() -> None:
    kept = ChunkBuffer(2000)
    kept.put(b"1", [b"x" * 5000])  # alone it may be as long as it is
    for number in (b"2", b"3"):
        with pytest.raises(BackendError, match="ask again"):
            kept.put(number, [])
    kept.drop(b"1")
    kept.put(b"2", [])
    for _ in range(6):
        kept.add(b"2", b"")  # what is empty takes room too
    with pytest.raises(BackendError, match="ask again"):
        kept.add(b"2", b"")
    assert (kept.get(b"2"), kept.bytes) == (None, 0)
    kept.close()


async def test_a_long_message_makes_way_when_it_was_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "STALE_S", -1.0)
    kept = ChunkBuffer(2500)
    for number in (b"1", b"2", b"3"):
        kept.put(number, [b"x" * 500])
    assert (kept.get(b"1"), kept.get(b"2"), kept.get(b"3")) == (None, [b"x" * 500], [b"x" * 500])
    kept.close()


async def test_questions_that_never_become_whole_are_bounded(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_module, "QUESTIONS_BYTES", 10_000)
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve("echo.bounded", echo)
        assert await answered(client, "echo.bounded", b"here") == b"here"
        for number in range(100):
            part = PART + _PLACE.pack(number.to_bytes(16), 0, 2) + b"x" * 500
            await client._ask("echo.bounded", part, ANSWER_S)
        assert 5_000 < server._questions.bytes <= 10_000
        with pytest.raises(RequestError, match="too long"):
            await client.request("echo.bounded", b"x" * 2_000_000, ANSWER_S)


@pytest.mark.parametrize(
    ("subject", "asked", "kind"),
    [
        ("parts.gone", PART + _PLACE.pack(b"n" * 16, 0, 2), BackendError),
        ("parts.gone", PART + b"short", RequestError),
        ("echo.gone", PART + b"short", RequestError),
        ("echo.gone", PART + _PLACE.pack(b"n" * 16, 1, 2) + b"x", BackendError),
    ],
)
async def test_a_part_of_what_is_not_here_is_an_error_and_no_answer(
    nats_server: NatsServer, subject: str, asked: bytes, kind: type[BackendError]
) -> None:
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve_parts("parts.gone")
        server.serve("echo.gone", echo)
        await answered(client, "echo.gone")
        with pytest.raises(kind):
            await client._opened(await client._ask(subject, asked, ANSWER_S), ANSWER_S)


async def test_more_than_can_be_dealt_with_is_as_if_it_was_not_heard(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: asyncio.Queue[bytes] = asyncio.Queue()
    go_on = asyncio.Event()

    async def slow(subject: str, body: bytes) -> bytes:
        begun.put_nowait(body)
        await go_on.wait()
        return body

    monkeypatch.setattr(bus_module, "BUSY_BYTES", 1000)
    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve("slow", slow)
        first = asyncio.ensure_future(answered(client, "slow", b"1" * 600))
        await asyncio.wait_for(begun.get(), ANSWER_S)
        client.publish("slow", b"2" * 600)
        second = asyncio.ensure_future(client.request("slow", b"3", ANSWER_S))
        assert await asyncio.wait_for(begun.get(), ANSWER_S) == b"3"
        go_on.set()
        assert [await first, await second] == [b"1" * 600, b"3"]
        assert begun.empty()
        assert await answered(client, "slow", b"4" * 600) == b"4" * 600


async def test_nothing_that_is_said_on_the_bus_ends_the_connection(nats_server: NatsServer) -> None:
    """Names that are no text, and errors and news that are longer than NATS lets through."""

    async def fail(subject: str, body: bytes) -> bytes:
        raise NotFound("\0" * 2_000_000, hint="\0" * 2_000_000)

    async with connected(nats_server.url) as server, connected(nats_server.url) as client:
        server.serve("fails.long", fail)
        server.serve("echo.hard", echo)
        assert await answered(client, "echo.hard", b"1") == b"1"
        before = server._wire._connection
        assert client._wire._connection is not None
        client._wire._connection.write(b"PUB echo.hard re\xffply 1\r\nw\r\n")
        with pytest.raises(NotFound) as caught:
            await client.request("fails.long", b"", ANSWER_S)
        assert len(caught.value.message) < 10_000
        server.publish("news", b"x" * 2_000_000)
        assert await client.request("echo.hard", b"2", ANSWER_S) == b"2"
        assert server._wire._connection is before


# Errors, news, and being away


@pytest.mark.parametrize("kind", [NotFound, Conflict, BackendError])
async def test_an_error_that_is_the_answer_arrives_as_it_was(
    nats_server: NatsServer, kind: type[NotFound]
) -> None:
    async def fail(subject: str, body: bytes) -> bytes:
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
    mine, other = SealedBox(), SealedBox()
    sealed = seal(mine.public, {"token": "hush"})
    assert b"hush" not in sealed
    assert mine.open(sealed) == {"token": "hush"}
    for opener, box in ((other, sealed), (mine, sealed[:-1] + bytes([sealed[-1] ^ 1]))):
        with pytest.raises(BackendError):
            opener.open(box)
