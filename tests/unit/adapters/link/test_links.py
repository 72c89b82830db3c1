"""What a link between workers and servers promises, whatever carries it: one suite over each."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import pytest

from noetl.adapters.direct.dial import ServerConnection
from noetl.adapters.direct.frames import GOING_AWAY
from noetl.adapters.direct.notices import ORDERS
from noetl.core.message import Payload, Report
from noetl.core.shapes import Checkpoint
from noetl.core.values.output import refer
from noetl.errors import NotFound, RequestError
from noetl.ports.link import Heartbeat, Orders, Push, ReportRequest, SecretRequest, TakeRequest
from noetl.ports.results import stream_key
from tests.unit.adapters.link.worlds import ORDER, World, direct_world, hello, nats_world

LONG = 30.0


@pytest.fixture(params=["direct", "nats"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "nats":
        async with nats_world(request.getfixturevalue("nats_server").url) as made:
            yield made
    else:
        async with direct_world() as made_directly:
            yield made_directly


def report_of(batch: str = "l1/1/1", worker: str = "w") -> ReportRequest:
    return ReportRequest(ORDER.execution_id, Report("l1", 1, worker, batch), worker)


async def test_a_report_is_answered(world: World) -> None:
    async with world.worker(1) as link:
        assert (await link.report(report_of())).answer.accepted
    assert [one.report.batch_id for one in world.desk.reports] == ["l1/1/1"]


async def test_a_report_that_a_server_cannot_take_is_sent_again(world: World) -> None:
    world.desk.away = 2
    async with world.worker(1) as link:
        assert (await asyncio.wait_for(link.report(report_of()), LONG)).answer.seq == 3
    assert {one.report.batch_id for one in world.desk.reports} == {"l1/1/1"}


async def test_a_report_is_sent_again_when_its_connection_is_cut_before_the_answer(world: World) -> None:
    """Whether the server heard it nobody knows: the same batch comes again."""
    right, reached = world.desk.report, asyncio.Event()

    async def hang(request: ReportRequest) -> None:
        world.desk.report = right  # type: ignore[method-assign]
        reached.set()
        await asyncio.Event().wait()

    world.desk.report = hang  # type: ignore[method-assign, assignment]
    async with world.worker(1) as link:
        asked = asyncio.create_task(link.report(report_of()))
        await asyncio.wait_for(reached.wait(), LONG)
        await world.interrupt()
        assert (await asyncio.wait_for(asked, LONG)).answer.accepted
    assert [one.report.batch_id for one in world.desk.reports] == ["l1/1/1"]


async def test_an_error_of_the_server_is_told_as_it_is(world: World) -> None:
    async with world.worker(1) as link:
        with pytest.raises(NotFound, match="no key of a result store"):
            await link.write(Payload("../x", b"forged"))
        with pytest.raises(NotFound, match="is not there"):
            await link.read("x" * 32)


@pytest.mark.parametrize("size", [10, 600_000, 3_000_000])
async def test_payloads_of_any_size_go_there_and_back(world: World, size: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    key = stream_key("e" * 32, hashlib.sha256(body).hexdigest())
    async with world.worker(1) as link:
        await link.write(Payload(key, body))
        assert await link.read(key) == body
    assert world.desk.written == {key: body}


async def test_no_worker_puts_other_bytes_under_the_key_of_a_payload(world: World) -> None:
    _, payload = refer(ORDER.execution_id, b"true", "text/plain")
    async with world.worker(1) as link:
        await link.write(payload)
        with pytest.raises(RequestError, match="other bytes than its key says"):
            await link.write(Payload(payload.key, b"forged"))
        assert await link.read(payload.key) == b"true"


async def test_a_report_of_any_size_is_heard(world: World) -> None:
    frames: dict[str, Checkpoint] = {"at": {"prev": "x" * 2_000_000}}
    request = ReportRequest(ORDER.execution_id, Report("l1", 1, "w", "l1/1/1", frames=frames), "w")
    async with world.worker(1) as link:
        assert (await link.report(request)).answer.accepted
    assert world.desk.reports[0].report.frames == frames


async def test_a_beat_makes_a_worker_known_and_orders_reach_it_unasked(world: World) -> None:
    given: asyncio.Queue[Orders] = asyncio.Queue()
    assert not world.channel.hand("w", [ORDER], lambda: None)  # of whom nothing is known
    async with world.worker(1) as link:
        link.on_orders = given.put_nowait
        link.tell(Heartbeat(hello(), 1, [(ORDER.execution_id, "l1", 1)]))
        beat = await asyncio.wait_for(world.desk.beats.get(), LONG)
        assert (beat.hello.worker_id, beat.held) == ("w", [(ORDER.execution_id, "l1", 1)])
        await link.take_from("server", TakeRequest(hello(), 1))  # it knows what time it is there
        assert world.channel.hand("w", [ORDER], lambda: None)
        orders = await asyncio.wait_for(given.get(), LONG)
        assert (orders.server, [one.order for one in orders.orders]) == ("server", [ORDER])


async def test_hints_reach_the_pool_and_pushes_the_worker(world: World) -> None:
    hints: asyncio.Queue[str] = asyncio.Queue()
    pushes: asyncio.Queue[Push] = asyncio.Queue()
    async with world.worker(1) as link:
        link.on_hint, link.on_push = hints.put_nowait, pushes.put_nowait
        await link.take_from("server", TakeRequest(hello(), 1))
        world.channel.hint("another pool")
        world.channel.hint("default")
        assert await asyncio.wait_for(hints.get(), LONG) == "server"
        world.channel.push("w", Push("stop", ORDER.execution_id, "l1", 1))
        assert (await asyncio.wait_for(pushes.get(), LONG)).what == "stop"
        assert hints.empty()


async def test_nobody_speaks_for_another_worker(world: World) -> None:
    secret = SecretRequest(ORDER.execution_id, "l1", 1, "w", "api", b"k")
    async with world.worker(1) as own, world.worker(2, "x") as other:
        assert (await own.take_from("server", TakeRequest(hello(), 1))).server == "server"
        for asked in (
            other.take_from("server", TakeRequest(hello(), 1)),
            other.report(report_of()),
            other.secret(secret),
        ):
            with pytest.raises(RequestError, match="known by another"):
                await asked
        assert (await own.report(report_of())).answer.accepted
    assert len(world.desk.reports) == 1


async def test_a_worker_goes_on_after_an_interruption(world: World) -> None:
    back = asyncio.Event()
    async with world.worker(1) as link:
        await link.report(report_of())
        await world.interrupt()
        link.on_connected = back.set
        assert (await asyncio.wait_for(link.report(report_of("l1/1/2")), LONG)).answer.accepted
        assert await link.program("abc") == "text of abc"


async def test_a_connection_that_is_being_closed_is_not_asked_over_and_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody would ever hear that it is lost: who asks without waiting lets nothing else happen."""
    asked, right = [0], ServerConnection.request

    async def counted(self: ServerConnection, what: str, body: bytes, timeout_s: float) -> bytes:
        asked[0] += 1
        assert asked[0] < 20
        return await right(self, what, body, timeout_s)

    monkeypatch.setattr(ServerConnection, "request", counted)
    async with direct_world() as made, made.worker(1) as link:
        for connection in link._connections.values():  # type: ignore[attr-defined]
            connection.close(GOING_AWAY, "closed by the test")
        assert (await asyncio.wait_for(link.report(report_of()), LONG)).answer.accepted


async def test_a_token_is_good_for_the_pools_that_it_names(world: World) -> None:
    with pytest.raises(RequestError, match="not for the pool 'gpu'; its pools: default"):
        async with world.worker(1, pool="gpu"):
            pass
    async with world.worker(1) as link:
        with pytest.raises(RequestError, match="pool"):
            await link.take_from("server", TakeRequest(hello(pool="gpu"), 1))


async def test_what_a_server_tells_that_nobody_understands_is_said_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with direct_world() as made, made.worker(1) as link:
        for connection in made.channel._connections.values():
            assert connection.notice(ORDERS + b"of a newer server")
        assert (await asyncio.wait_for(link.report(report_of()), LONG)).answer.accepted
    assert [record for record in caplog.records if "is not understood" in record.message]
