"""Long payloads that come piece by piece: over a real NATS server, and what happens to those that never end."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from noetl.adapters.link import uploads as uploads_module
from noetl.adapters.link.uploads import PLACE, Uploads
from noetl.adapters.nats.bus import Bus
from noetl.core.message import Payload
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.results import stream_key
from noetl.worker.remote_results import LinkedResults
from tests.unit.adapters.nats.test_serve import World, world

__all__ = ["world"]

EXECUTION = "e" * 32
NUMBER = b"n" * 16
KEY = b"key"


class Store:
    """A result store that keeps what it is given, or is away."""

    def __init__(self) -> None:
        self.kept: list[Payload] = []
        self.away = False

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> None:
        if self.away:
            raise BackendError("the store is away")
        body = b"".join([chunk async for chunk in chunks])
        self.kept.append(Payload(f"{execution_id}/{hashlib.sha256(body).hexdigest()[:32]}", body))


def key_of(body: bytes) -> str:
    return stream_key(EXECUTION, hashlib.sha256(body).hexdigest())


def piece(offset: int, body: bytes, number: bytes = NUMBER) -> bytes:
    return PLACE.pack(number, offset) + body


async def test_a_long_payload_goes_through_a_server_piece_by_piece(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = bytes(range(256)) * 14_000
    asked: list[int] = []
    async with world.worker(1) as link:
        request = link._bus.request

        async def noted(subject: str, message: bytes, patience: float) -> bytes:
            asked.append(len(message))
            return await request(subject, message, patience)

        monkeypatch.setattr(link._bus, "request", noted)
        await link.write(Payload(key_of(body), body))
        assert max(asked) <= link._bus.room
        with pytest.raises(RequestError, match="other bytes than its key says"):
            await link.write(Payload(key_of(b"x"), body))
        with pytest.raises(NotFound, match="no key of a result store"):
            await link.write(Payload("../../etc/passwd", body))
        assert await link.read(key_of(body)) == body
    assert list(world.desk.written) == [key_of(body)]


async def test_a_stream_of_a_worker_ends_in_the_result_store_of_a_server(world: World) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for number in range(3):
            yield bytes([number]) * 1_000_000

    async with world.worker(1) as link:
        key, size, sha256 = await LinkedResults(link).write_stream(EXECUTION, chunks())
    (written,) = world.desk.written.items()
    assert (written[0], len(written[1]), hashlib.sha256(written[1]).hexdigest()) == (key, size, sha256)


async def test_an_upload_that_a_server_lost_is_sent_again(world: World) -> None:
    body = b"x" * 3_000_000
    async with world.worker(1) as link:
        world.desk.losing = 2
        await link.write(Payload(key_of(body), body))
    assert world.desk.written == {key_of(body): body}


async def test_pieces_without_the_signature_of_a_worker_are_refused(world: World) -> None:
    bus: Bus = world.server
    with pytest.raises(RequestError, match="token"):
        await bus.request("noetl.server.server.piece", b"\0" + piece(0, b"x"), 30.0)


async def test_an_upload_belongs_to_whoever_signed_its_pieces() -> None:
    store = Store()
    uploads = Uploads(store.write_stream)
    await uploads.add(piece(0, b"mine"), KEY)
    for attempt in (
        uploads.add(piece(4, b"forged"), b"other"),
        uploads.keep(NUMBER + key_of(b"mine").encode(), b"other"),
    ):
        with pytest.raises(BackendError, match="send all of it again"):
            await attempt
    await uploads.keep(NUMBER + key_of(b"mine").encode(), KEY)
    assert (store.kept, uploads.bytes) == ([Payload(key_of(b"mine"), b"mine")], 0)


async def test_a_piece_that_does_not_follow_ends_the_upload() -> None:
    uploads = Uploads(Store().write_stream)
    await uploads.add(piece(0, b"abc"), KEY)
    with pytest.raises(BackendError, match="send all of it again"):
        await uploads.add(piece(2, b"d"), KEY)
    assert uploads.bytes == 0
    with pytest.raises(RequestError):
        await uploads.add(b"short", KEY)


async def test_an_upload_is_over_when_the_store_could_not_take_it() -> None:
    store = Store()
    uploads, store.away = Uploads(store.write_stream), True
    await uploads.add(piece(0, b"abc"), KEY)
    with pytest.raises(BackendError, match="away"):
        await uploads.keep(NUMBER + key_of(b"abc").encode(), KEY)
    assert uploads.bytes == 0


@pytest.mark.parametrize("bound", [("UPLOADS_BYTES", 1000), ("UPLOADS_MOST", 2)])
async def test_uploads_take_no_more_room_than_there_is(
    monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int]
) -> None:
    monkeypatch.setattr(uploads_module, *bound)
    uploads = Uploads(Store().write_stream)
    numbers = [bytes([number]) * 16 for number in range(3)]
    for number in numbers[:2]:
        await uploads.add(piece(0, b"x" * 400, number), KEY)
    with pytest.raises(BackendError, match="ask again"):
        await uploads.add(piece(0, b"x" * 400, numbers[2]), KEY)
    assert uploads.bytes == 800
    for number in numbers:
        uploads.drop((KEY, number))
    assert uploads.bytes == 0


async def test_an_upload_that_nobody_goes_on_with_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads_module, "QUIET_S", 0.0)
    uploads, later = Uploads(Store().write_stream), asyncio.Event()
    await uploads.add(piece(0, b"abc"), KEY)
    asyncio.get_running_loop().call_later(0.001, later.set)
    await later.wait()
    assert uploads.bytes == 0
