"""The result store port, on every product."""

import asyncio
import hashlib
import random
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import nats
import pytest
from nats.js.errors import NotFoundError

from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.nats.results import NatsResults
from noetl.adapters.objects.results import ObjectResults
from noetl.adapters.postgres.results import PostgresResults
from noetl.adapters.postgres.store import PostgresStore
from noetl.core.message import Payload
from noetl.core.values.item_scan import NotItems, Wanted
from noetl.core.values.output import MANIFEST, manifest, refer
from noetl.errors import BackendError, InvariantViolation, NotFound, RequestError
from noetl.ports.results import PIECE, Results
from noetl.wiring.payloads import StoredPayloads
from tests.conformance.stores import NOW, Ground, eid, emptied
from tests.servers import NatsServer, S3Server, free_port


@asynccontextmanager
async def _memory(ground: Ground) -> AsyncIterator[Results]:
    yield MemoryResults(ground.clock)


@asynccontextmanager
async def _directory(ground: Ground) -> AsyncIterator[Results]:
    yield DirectoryResults(str(ground.folder / "results"))


@asynccontextmanager
async def _postgres(ground: Ground) -> AsyncIterator[Results]:
    store = await emptied(await PostgresStore.open(ground.database(), now=ground.clock))
    yield PostgresResults(store, ground.clock)
    await store.close()


@asynccontextmanager
async def _objects(ground: Ground) -> AsyncIterator[Results]:
    bucket, environment = ground.bucket()
    yield ObjectResults(f"s3://{bucket}/some/where/{uuid.uuid4().hex}", environment)


@asynccontextmanager
async def _nats(ground: Ground) -> AsyncIterator[Results]:
    client = await nats.connect(ground.nats().url)
    bucket = f"results_{uuid.uuid4().hex}"
    yield NatsResults(client, bucket)
    with suppress(NotFoundError):
        await client.jetstream().delete_object_store(bucket)
    await client.close()


# One line per product.
RESULTS: dict[str, Callable[[Ground], AbstractAsyncContextManager[Results]]] = {
    "memory": _memory,
    "directory": _directory,
    "postgres": _postgres,
    "objects": _objects,
    "nats": _nats,
}
DIGEST = "d" * 32


@pytest.fixture(params=sorted(RESULTS))
async def results(request: pytest.FixtureRequest, ground: Ground) -> AsyncIterator[Results]:
    async with RESULTS[request.param](ground) as made:
        yield made


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def key(number: int, digest: str = DIGEST) -> str:
    return f"{eid(number)}/{digest}"


@pytest.mark.parametrize("body", [b"", b"x", bytes(range(256)) * 5000])
async def test_a_payload_is_read_back_as_it_was_written(results: Results, body: bytes) -> None:
    await results.write(Payload(key(1), body))
    assert await results.read(key(1)) == body


@pytest.mark.parametrize("size", [0, 1, 2**20, 5 * 2**20 + 3])
async def test_a_payload_is_read_as_a_stream_of_bounded_pieces(results: Results, size: int) -> None:
    body = random.Random(7).randbytes(size)
    await results.write(Payload(key(1), body))
    pieces = [piece async for piece in results.read_stream(key(1))]
    assert b"".join(pieces) == body
    assert max(map(len, pieces), default=0) <= 4 * PIECE


async def test_a_payload_that_is_not_there_has_no_stream(results: Results) -> None:
    for wrong in (key(1), f"../{DIGEST}"):
        with pytest.raises(NotFound):
            await anext(results.read_stream(wrong))


async def test_writing_a_payload_again_is_harmless(results: Results) -> None:
    for _ in range(2):
        await results.write(Payload(key(1), b"same"))
    await asyncio.gather(*(results.write(Payload(key(2), b"same")) for _ in range(5)))
    assert await results.read(key(1)) == await results.read(key(2)) == b"same"
    assert [(one.execution_id, one.payloads) for one in await results.footprints()] == [
        (eid(1), 1),
        (eid(2), 1),
    ]


async def test_a_stream_is_written_under_the_digest_of_its_bytes(results: Results) -> None:
    found, size, digest = await results.write_stream(eid(1), chunks(b"one", b"", b"two"))
    assert (size, digest) == (6, hashlib.sha256(b"onetwo").hexdigest())
    assert found == key(1, digest[:32])
    assert await results.read(found) == b"onetwo"


async def test_a_large_payload_comes_back_whatever_way_it_was_written(results: Results) -> None:
    body = random.Random(7).randbytes(3_000_001)
    await results.write(Payload(key(1), body))
    parts = [body[start : start + 700_000] for start in range(0, len(body), 700_000)]
    found, size, _ = await results.write_stream(eid(1), chunks(*parts))
    assert size == len(body)
    assert await results.read(key(1)) == await results.read(found) == body
    again, _, _ = await results.write_stream(eid(1), chunks(body))
    assert again == found
    assert [(one.payloads, one.bytes) for one in await results.footprints()] == [(2, 2 * len(body))]


async def test_a_stream_of_nothing_is_a_payload_too(results: Results) -> None:
    found, size, _ = await results.write_stream(eid(1), chunks())
    assert size == 0
    assert await results.read(found) == b""


async def test_a_stream_that_breaks_off_leaves_nothing(results: Results) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"one"
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        await results.write_stream(eid(1), broken())
    assert sum(one.payloads for one in await results.footprints()) == 0


async def test_a_payload_that_is_not_there_is_not_found(results: Results) -> None:
    with pytest.raises(NotFound, match="expired"):
        await results.read(key(1))


@pytest.mark.parametrize(
    "bad",
    [
        "../../etc/passwd",
        f"{eid(1)}/../{DIGEST}",
        f"{eid(1)}/{DIGEST}/x",
        f"/{eid(1)}/{DIGEST}",
        f"{eid(1)}/{'D' * 32}",
        f"{eid(1)}/{DIGEST}\n",
        f"{eid(1)}/{DIGEST}\x00",
        f"{eid(1)}",
        "..",
        "",
    ],
)
async def test_a_key_cannot_lead_out_of_the_store(results: Results, bad: str) -> None:
    for attempt in (results.read(bad), results.write(Payload(bad, b"x"))):
        with pytest.raises(NotFound, match="no key"):
            await attempt
    assert list(await results.footprints()) == []


@pytest.mark.parametrize("bad", ["..", "../x", "", "/", eid(1).upper().replace("0", "A"), f"{eid(1)}/x"])
async def test_an_execution_id_cannot_lead_out_of_the_store(results: Results, bad: str) -> None:
    for attempt in (results.write_stream(bad, chunks(b"x")), results.discard(bad)):
        with pytest.raises(NotFound, match="no key"):
            await attempt
    assert list(await results.footprints()) == []


async def test_it_is_told_what_is_held_for_whom(results: Results) -> None:
    await results.write(Payload(key(2), b"12345"))
    await results.write(Payload(key(1), b"1"))
    await results.write(Payload(key(1, "e" * 32), b"22"))
    found = await results.footprints()
    assert [(one.execution_id, one.payloads, one.bytes) for one in found] == [(eid(1), 2, 3), (eid(2), 1, 5)]
    assert all(abs(one.written_at - NOW) < 10**12 for one in found)


async def test_discarding_takes_the_payloads_of_one_execution(results: Results) -> None:
    await results.write(Payload(key(1), b"1"))
    await results.write(Payload(key(2), b"2"))
    for _ in range(2):
        await results.discard(eid(1))
    with pytest.raises(NotFound):
        await results.read(key(1))
    assert await results.read(key(2)) == b"2"
    assert [one.execution_id for one in await results.footprints()] == [eid(2)]


# As the engine and the tools see it: references, verified


@pytest.mark.parametrize(
    "value",
    [
        None,
        0,
        "text",
        {"a": [1, 2.5, None, True]},
        [{"id": 1}, {"id": 2, "text": "line\nbreak"}],
        [],
        [1, 2],
        [{"id": 1}, 2],
    ],
)
async def test_a_value_comes_back_through_its_reference(results: Results, value: Any) -> None:
    payloads = StoredPayloads(results, eid(1))
    assert await payloads.get(await payloads.put(value)) == value


async def test_a_streamed_body_comes_back_by_its_type(results: Results) -> None:
    payloads = StoredPayloads(results, eid(1))
    for content_type, body, value in (
        ("application/json; charset=utf-8", b'{"a":1}', {"a": 1}),
        ("text/csv", b"a,b", "a,b"),
        ("application/octet-stream", b"\xff\x00", "/wA="),
    ):
        ref = await payloads.put_stream(chunks(body), content_type)
        assert ref["meta"]["bytes"] == len(body)
        assert await payloads.get(ref) == value


async def test_a_manifest_is_read_through_to_its_parts(results: Results) -> None:
    payloads = StoredPayloads(results, eid(1))
    big: Any = await payloads.put({"big": 1})
    ref, payload = manifest(eid(1), ["small", None], {"1": big}, {})
    await results.write(payload)
    assert ref["meta"]["content_type"] == MANIFEST
    assert await payloads.get(ref) == ["small", {"big": 1}]


async def test_a_damaged_payload_is_never_given_out(results: Results) -> None:
    good, _ = refer(eid(1), b'{"a":1}', "application/json")
    await results.write(Payload(good["locator"]["key"], b'{"a":2}'))
    with pytest.raises(InvariantViolation, match=re.escape(good["locator"]["key"])):
        await StoredPayloads(results).get(good)


async def items(results: Results, ref: Any, *wanted: Any) -> list[Any]:
    parts = StoredPayloads(results, eid(1)).items(ref, Wanted(*wanted))
    return [item async for some in parts for item in some]


@pytest.mark.parametrize("value", [[{"id": n, "s": "x" * 999} for n in range(3000)], [*range(1000), "end"]])
async def test_items_of_a_payload_are_read_without_the_others(results: Results, value: Any) -> None:
    ref = await StoredPayloads(results, eid(1)).put(value)
    assert await items(results, ref, 900, 903) == value[900:903]
    assert await items(results, ref, len(value) - 1) == value[-1:]
    assert await items(results, ref) == value
    under = await StoredPayloads(results, eid(1)).put({"a": [0], "rows": value, "b": 1})
    assert await items(results, under, 10, 12, "rows") == value[10:12]


async def test_items_of_a_manifest_are_read_without_the_others(results: Results) -> None:
    big: Any = await StoredPayloads(results, eid(1)).put({"big": 1})
    gone, _ = refer(eid(1), b"gone", "text/plain")
    ref, payload = manifest(eid(1), ["small", None, None], {"1": big, "2": gone}, {})
    await results.write(payload)
    assert await items(results, ref, 0, 2) == ["small", {"big": 1}]
    with pytest.raises(NotFound):
        await items(results, ref)


async def test_what_has_no_items_says_what_it_is(results: Results) -> None:
    payloads = StoredPayloads(results, eid(1))
    rows = await payloads.put([{"a": 1}])
    text = await payloads.put_stream(chunks(b"[1]"), "text/csv")
    for ref, wanted, name in (
        (await payloads.put({"a": 1}), (), "dict"),
        (rows, (0, None, "rows"), "list"),
        (text, (), "str"),
    ):
        with pytest.raises(NotItems, match=name):
            await items(results, ref, *wanted)


@pytest.mark.parametrize("content_type", ["application/json", "application/x-ndjson", MANIFEST, "text/plain"])
@pytest.mark.parametrize("damaged", [b'[{"a":1}', b'[{"a":2}]', b"", b'[{"a":1}]\n[{"a":1}]'])
async def test_a_damaged_payload_has_no_items(results: Results, content_type: str, damaged: bytes) -> None:
    good, _ = refer(eid(1), b'[{"a":1}]', content_type)
    await results.write(Payload(good["locator"]["key"], damaged))
    with pytest.raises(InvariantViolation, match=re.escape(good["locator"]["key"])):
        await items(results, good, 0, 1)


async def test_a_reference_to_another_store_is_not_found(results: Results) -> None:
    ref, _ = refer(eid(1), b"x", "text/plain")
    for locator in ({"store": "elsewhere", "key": ref["locator"]["key"]}, {"store": "results"}):
        with pytest.raises(NotFound):
            await StoredPayloads(results).get({**ref, "locator": locator})


# When a product is away or was emptied


async def test_a_bucket_of_nats_that_was_wiped_is_made_again() -> None:
    with NatsServer.start() as server:
        client = await nats.connect(server.url, max_reconnect_attempts=-1, reconnect_time_wait=0.05)
        results = NatsResults(client)
        await results.write(Payload(key(1), b"lost"))
        back = asyncio.Event()
        client._reconnected_cb = _setting(back)
        await asyncio.to_thread(server.wipe)
        await asyncio.wait_for(back.wait(), 60)
        with pytest.raises(NotFound):
            await results.read(key(1))
        await results.write(Payload(key(1), b"again"))
        assert await results.read(key(1)) == b"again"
        await client.close()


def _setting(event: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def heard() -> None:
        event.set()

    return heard


async def test_an_object_store_that_is_away_is_a_matter_of_seconds_and_told(s3_server: S3Server) -> None:
    away = {**s3_server.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    results = ObjectResults("s3://bucket/prefix", away)
    for attempt in (results.write(Payload(key(1), b"x")), results.read(key(1)), results.footprints()):
        with pytest.raises(BackendError, match=r"s3://bucket/prefix"):
            await attempt


async def test_a_bucket_that_does_not_exist_is_told(s3_server: S3Server) -> None:
    results = ObjectResults("s3://noetl-nowhere", s3_server.environment)
    with pytest.raises(BackendError, match="bucket"):
        await results.footprints()


@pytest.mark.parametrize("url", ["s3://", "http://bucket/x", "bucket", "s3:///prefix"])
def test_an_address_of_an_object_store_names_a_bucket(url: str) -> None:
    with pytest.raises(RequestError, match="address"):
        ObjectResults(url)
