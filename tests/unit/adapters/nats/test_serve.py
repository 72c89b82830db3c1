"""A server and workers over a real NATS server: whose word counts, and what is given unasked."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import Any

import pytest

from noetl.adapters.link.error_reply import encode_error
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import ERROR, Bus
from noetl.adapters.nats.link import SERVERS_KEPT, NatsLink
from noetl.adapters.nats.serve import NatsWorkerChannel, serve
from noetl.adapters.nats.signing import NoticeSigner, SignatureError, Signer, Verifier
from noetl.adapters.nats.wire import Message
from noetl.core.message import Answer, Payload, Report, WorkOrder
from noetl.core.values.output import refer
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import digest, spelled
from noetl.ports.link import (
    Heartbeat,
    Hello,
    LinesRequest,
    OrderDelivery,
    Orders,
    Push,
    ReportReply,
    ReportRequest,
    SecretRequest,
    TakeRequest,
)
from noetl.ports.results import stream_key
from noetl.ports.store import AccessToken
from tests.servers import NatsServer

LONG = 30.0
NOW = 1_000_000
TOKENS = {f"{number:016x}": str(number) * 43 for number in (1, 2)}
AWAY = f"{3:016x}"  # a token that cannot be looked up
ORDER = WorkOrder("e" * 32, "l1", 1, "s.1", "s", "digest", "default")


class Desk:
    """Answers everyone, and hears beats."""

    def __init__(self) -> None:
        self.met: asyncio.Queue[str] = asyncio.Queue()
        self.written: dict[str, bytes] = {}
        self.lines_of: list[LinesRequest] = []
        self.losing = 0  # so many writes fail

    async def take(self, take: TakeRequest) -> Orders:
        return Orders("server", NOW)

    async def report(self, told: ReportRequest) -> ReportReply:
        return ReportReply(Answer(), Orders("server", NOW))

    async def lines(self, request: LinesRequest) -> None:
        self.lines_of.append(request)

    async def secret(self, ask: SecretRequest) -> bytes:
        return b"sealed"

    async def program(self, digest: str) -> str:
        return "text"

    async def write(self, payload: Payload) -> None:
        if self.losing:
            self.losing -= 1
            raise BackendError("the store is away")
        self.written[payload.key] = payload.body

    async def write_stream(self, execution_id: str, chunks: AsyncIterator[bytes]) -> None:
        body = b"".join([chunk async for chunk in chunks])
        self.written[stream_key(execution_id, hashlib.sha256(body).hexdigest())] = body

    async def read(self, key: str) -> bytes:
        return self.written[key]

    def beat(self, beat: Heartbeat) -> None:
        self.met.put_nowait(beat.hello.worker_id)

    def missed(self) -> None:
        self.met.put_nowait("missed")


class World:
    """One server, and worker `w` under a token of its own."""

    def __init__(self, url: str, server: Bus, calling: NatsWorkerChannel, desk: Desk) -> None:
        self.url, self.server, self.calling, self.desk = url, server, calling, desk

    @asynccontextmanager
    async def worker(self, number: int, worker_id: str = "w") -> AsyncIterator[NatsLink]:
        """Someone with a token who says to be a worker."""
        bus = Bus(self.url, "test worker")
        await bus.connect()
        bearer = spelled(f"{number:016x}", str(number) * 43)
        link = NatsLink(bus, "default", worker_id, Signer(bearer))
        link.open()
        await link.which()  # what was said before has been heard: subscriptions too
        try:
            yield link
        finally:
            await bus.close()


def hello(worker_id: str = "w") -> Hello:
    return Hello(worker_id, "default", 4, ["noop"], b"k", 1)


@pytest.fixture
async def world(nats_server: NatsServer) -> AsyncIterator[World]:
    async def find(token_id: str) -> AccessToken:
        if token_id == AWAY:
            raise BackendError("the store is away")
        if token_id not in TOKENS:
            raise NotFound("no such token")
        return AccessToken(token_id, digest(TOKENS[token_id]), "w", ["worker"], pools=["default"])

    bus = Bus(nats_server.url, "test server")
    await bus.connect()
    calling, desk = NatsWorkerChannel(bus, "server", lambda: NOW), Desk()
    serve(bus, calling, desk, desk, Verifier(find, required=True))
    yield World(nats_server.url, bus, calling, desk)
    await bus.close()


async def test_nobody_speaks_for_a_worker_that_is_known_by_another_token(world: World) -> None:
    report = ReportRequest(ORDER.execution_id, Report("l1", 1, "w", "l1/1/1"), "w")
    secret = SecretRequest(ORDER.execution_id, "l1", 1, "w", "api", b"k")
    async with world.worker(1) as own, world.worker(2) as other:
        assert (await own.take_from("server", TakeRequest(hello(), 1))).server == "server"
        for asked in (
            other.take_from("server", TakeRequest(hello(), 1)),
            other.report(report),
            other.secret(secret),
        ):
            with pytest.raises(RequestError, match="another token"):
                await asked
        assert (await own.report(report)).answer == Answer()
        assert (await other.take_from("server", TakeRequest(hello("x"), 1))).server == "server"


async def test_no_worker_puts_other_bytes_under_the_key_of_a_payload(world: World) -> None:
    _, payload = refer(ORDER.execution_id, b"true", "text/plain")
    async with world.worker(1) as link:
        await link.write(payload)
        with pytest.raises(RequestError, match="other bytes than its key says"):
            await link.write(Payload(payload.key, b"forged"))
        with pytest.raises(NotFound, match="no key of a result store"):
            await link.write(Payload("../../etc/passwd", b"forged"))
        assert await link.read(payload.key) == b"true"


async def test_orders_given_unasked_arrive_where_the_worker_is_and_are_told_of_otherwise(
    world: World,
) -> None:
    given: asyncio.Queue[Orders] = asyncio.Queue()
    gone = asyncio.Event()
    assert not world.calling.hand("w", [ORDER], gone.set)  # of whom nothing is known
    async with world.worker(1) as link:
        link.on_orders = given.put_nowait
        await link.take_from("server", TakeRequest(hello(), 1))
        assert world.calling.hand("w", [ORDER], gone.set)
        orders = await asyncio.wait_for(given.get(), LONG)
        assert [handed.order for handed in orders.orders] == [ORDER]
    async with asyncio.timeout(LONG):
        while not gone.is_set():  # NATS may not have seen yet that the worker is gone
            assert world.calling.hand("w", [ORDER], gone.set)
            await world.server._wire.flush()


async def test_what_no_server_signed_is_not_heard(world: World) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with world.worker(1) as link:
        link.on_orders = link.on_push = link.on_hint = heard.put_nowait
        await link.take_from("server", TakeRequest(hello(), 1))
        foreign = bytes.fromhex(digest(TOKENS[f"{2:016x}"]))
        notices = NoticeSigner()

        def publish(subject: str, body: bytes, key: bytes | None) -> None:
            world.server.publish(subject, notices.sign(subject, body, key))

        for key in (None, foreign):
            publish(subjects.orders("w"), b"{}", key)
            publish(subjects.worker("w"), b"{}", key)
        own = bytes.fromhex(digest(TOKENS[f"{1:016x}"]))
        for garbage in (b"{", b"\xff", b"[]"):  # nor what is signed and says nothing
            publish(subjects.orders("w"), garbage, own)
            publish(subjects.worker("w"), garbage, own)
            world.server.publish(subjects.hint("default"), garbage)
            world.server.publish(subjects.ALIVE, garbage)
        world.calling.push("w", Push("stop", ORDER.execution_id, "l1", 1))
        assert (await asyncio.wait_for(heard.get(), LONG)).what == "stop"
        assert heard.empty()


async def _overheard(world: World, subject: str) -> "asyncio.Queue[Message]":
    """What anyone on the bus can hear."""
    messages: asyncio.Queue[Message] = asyncio.Queue()
    world.server._wire.subscribe(subject, messages.put_nowait)
    await world.server._wire.flush()
    return messages


async def test_an_error_that_nobody_signed_is_no_answer(world: World) -> None:
    """Whoever sees a question pass could answer it first; that must not fail a step."""
    first = await _overheard(world, subjects.asked("report", "server"))
    again = await _overheard(world, subjects.asked("report"))
    held, forged = asyncio.Event(), ERROR + encode_error(NotFound("forged"))
    right = world.desk.report

    async def report(told: ReportRequest) -> ReportReply:
        await held.wait()  # the forger is faster
        return await right(told)

    world.desk.report = report  # type: ignore[method-assign]
    async with world.worker(1) as link:
        link._note(ORDER.execution_id, "server")
        told = ReportRequest(ORDER.execution_id, Report("l1", 1, "w", "l1/1/1"), "w")
        asked = asyncio.create_task(link.report(told))
        world.server._wire.publish((await first.get()).reply, forged)
        await asyncio.wait_for(again.get(), LONG)
        held.set()
        assert (await asyncio.wait_for(asked, LONG)).answer == Answer()


async def test_an_error_of_the_server_is_told_as_it_is(world: World) -> None:
    async with world.worker(1) as link:
        with pytest.raises(NotFound, match="no key of a result store"):
            await link.write(Payload("../x", b"forged"))


async def test_an_old_answer_is_no_answer_to_a_new_question(world: World) -> None:
    """A recorded answer to `take` must not make a finished order run again."""
    orders, held = [Orders("server", NOW, [OrderDelivery(ORDER)]), Orders("server", NOW)], asyncio.Event()

    async def take(take: TakeRequest) -> Orders:
        if len(orders) == 1:
            await held.wait()  # the recorded answer is faster
        return orders.pop(0)

    world.desk.take = take  # type: ignore[method-assign]
    questions = await _overheard(world, subjects.asked("take", "server"))
    async with world.worker(1) as link:
        replies = await _overheard(world, f"{link._bus._wire._inbox}.*")
        await link.take_from("server", TakeRequest(hello(), 1))
        recorded = (await replies.get()).body
        assert ORDER.execution_id.encode() in recorded
        await questions.get()
        asked = asyncio.create_task(link.take_from("server", TakeRequest(hello(), 1)))
        world.server._wire.publish((await questions.get()).reply, recorded)
        with pytest.raises(SignatureError):
            await asked
        held.set()


async def test_a_beat_that_is_said_again_is_not_heard(world: World) -> None:
    """A recorded beat must not keep a dead worker alive."""
    beats = await _overheard(world, subjects.BEAT)
    async with world.worker(1) as link:
        link.tell(Heartbeat(hello(), 1))
        recorded = (await beats.get()).body
        assert await asyncio.wait_for(world.desk.met.get(), LONG) == "w"
        world.server._wire.publish(subjects.BEAT, recorded)
        link.tell(Heartbeat(hello("v"), 2))
        assert await asyncio.wait_for(world.desk.met.get(), LONG) == "v"


async def test_a_report_that_is_said_again_by_a_stranger_draws_nothing(world: World) -> None:
    questions = await _overheard(world, subjects.asked("report", "server"))
    told = ReportRequest(ORDER.execution_id, Report("l1", 1, "w", "l1/1/1"), "w", 1)
    async with world.worker(1) as link, world.worker(2, "x") as stranger:
        link._note(ORDER.execution_id, "server")
        await link.report(told)
        recorded = (await questions.get()).body
        subject = subjects.asked("report", "server")
        answer = await stranger._bus._wire.request(subject, recorded, LONG)
        assert b"heard before" in answer
        assert b"next" not in answer


async def test_a_beat_makes_a_worker_known(world: World) -> None:
    async with world.worker(1) as link:
        link.tell(Heartbeat(hello(), 1))
        assert await asyncio.wait_for(world.desk.met.get(), LONG) == "w"
        assert world.calling.hand("w", [ORDER], lambda: None)


async def test_a_worker_remembers_no_more_servers_than_there_can_be(world: World) -> None:
    async with world.worker(1) as link:
        for number in range(2 * SERVERS_KEPT):
            world.server.publish(subjects.ALIVE, b'{"server":"s%d","spoken":[1,1]}' % number)
        for bus in (world.server, link._bus):  # what was said has been heard
            await bus._wire.flush()
        assert len(link._alive) == SERVERS_KEPT
        assert f"s{2 * SERVERS_KEPT - 1}" in link._alive


async def test_a_beat_that_cannot_be_checked_counts_as_not_having_been_able_to_hear(
    world: World,
) -> None:
    async with world.worker(1) as known, world.worker(2, "v") as other:
        other._signer = Signer(spelled(AWAY, "3" * 43))
        other.tell(Heartbeat(hello("v"), 1))
        known.tell(Heartbeat(hello(), 1))
        async with asyncio.timeout(LONG):
            assert sorted([await world.desk.met.get(), await world.desk.met.get()]) == ["missed", "w"]


async def test_a_server_hears_its_own_word_as_long_as_it_can_hear(nats_server: NatsServer) -> None:
    bus = Bus(nats_server.url, "test server")
    assert bus.quiet_s == inf
    await bus.connect()
    calling, desk = NatsWorkerChannel(bus, "server", lambda: NOW), Desk()
    serve(bus, calling, desk, desk, Verifier(None, required=False))  # type: ignore[arg-type]
    await bus._wire.flush()
    bus._wire._connection.heard_at -= 1000.0  # type: ignore[union-attr]
    assert calling.quiet_s() > 900
    calling.alive()
    await bus._wire.flush()
    assert calling.quiet_s() < 900
    await bus.close()
