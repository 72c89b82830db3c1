"""Releases side by side on the wire of each link: which version is spoken, who is refused, what is ignored."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from noetl.adapters.direct import serve as direct_serve
from noetl.adapters.direct.connection import NOTICE
from noetl.adapters.link import handlers, requests
from noetl.adapters.nats import serve as nats_serve
from noetl.core.event import Event
from noetl.core.message import Report
from noetl.core.values.lines import Line
from noetl.errors import BackendError, RequestError
from noetl.ports.link import Heartbeat, LinesRequest, Orders, Push, ReportRequest, SecretRequest, TakeRequest
from noetl.ports.link_protocol import NoCommonProtocol, ProtocolRange
from noetl.ports.task_lines import PrintedLines
from tests.unit.adapters.link.test_links import LONG, report_of
from tests.unit.adapters.link.worlds import ORDER, DirectWorld, World, direct_world, hello, nats_world

WorldOf = Callable[[int, int], AbstractAsyncContextManager[World]]


@pytest.fixture(params=["direct", "nats"])
def world_of(request: pytest.FixtureRequest) -> WorldOf:
    def make(oldest: int = 1, newest: int = 1) -> AbstractAsyncContextManager[World]:
        spoken = ProtocolRange(oldest, newest)
        if request.param == "nats":
            return nats_world(request.getfixturevalue("nats_server").url, spoken)
        return direct_world(spoken)

    return make


@pytest.mark.parametrize(
    ("server", "worker", "agreed"),
    [((1, 1), (1, 1), 1), ((1, 1), (1, 2), 1), ((1, 3), (2, 4), 3), ((2, 3), (1, 2), 2)],
)
async def test_the_highest_version_that_both_speak_is_spoken(
    world_of: WorldOf, server: tuple[int, int], worker: tuple[int, int], agreed: int
) -> None:
    pushes: asyncio.Queue[Push] = asyncio.Queue()
    async with world_of(*server) as world, world.worker(1, spoken=ProtocolRange(*worker)) as link:
        link.on_push = pushes.put_nowait
        assert (await link.report(report_of())).answer.accepted
        await link.take_from("server", TakeRequest(hello(), 1))
        assert world.protocol("w") == agreed
        world.channel.alive()
        await link.which()  # what was said before has been heard
        link.tell(Heartbeat(hello(), 1))
        await asyncio.wait_for(world.desk.beats.get(), LONG)
        world.channel.push("w", Push("stop", ORDER.execution_id, "l1", 1))
        assert (await asyncio.wait_for(pushes.get(), LONG)).what == "stop"


@pytest.mark.parametrize(("server", "takes"), [((1, 1), False), ((1, 2), True), ((2, 3), True)])
async def test_lines_go_by_themselves_to_a_server_that_knows_them(
    world_of: WorldOf, server: tuple[int, int], takes: bool
) -> None:
    printed = PrintedLines(ORDER.execution_id, "load.1", "fetch", lines=[Line(1, "error", "no")])
    async with world_of(*server) as world, world.worker(1, spoken=ProtocolRange(1, 2)) as link:
        world.channel.alive()
        await link.which()
        await link.report(report_of())
        assert link.takes_lines(ORDER.execution_id) is takes
        request = LinesRequest("w", [printed])
        if takes:
            await link.lines(request)
            assert world.desk.lines_of == [request]
        else:
            with pytest.raises(BackendError):
                await link.lines(request)


@pytest.mark.parametrize(
    ("server", "worker", "ranges", "upgrade"),
    [
        ((1, 1), (2, 3), ("speaks 2 to 3", "speaks 1"), "upgrade the server"),
        ((3, 4), (1, 2), ("speaks 1 to 2", "speaks 3 to 4"), "upgrade the worker"),
    ],
)
async def test_without_a_common_version_both_ranges_are_said_and_who_is_to_be_upgraded(
    world_of: WorldOf, server: tuple[int, int], worker: tuple[int, int], ranges: tuple[str, ...], upgrade: str
) -> None:
    async with world_of(*server) as world:
        with pytest.raises(RequestError, match="no common version") as refused:
            async with world.worker(1, spoken=ProtocolRange(*worker)):
                pass
        assert all(said in refused.value.message for said in ranges), refused.value.message
        assert (refused.value.hint or "").startswith(upgrade)


async def test_a_server_that_changes_its_release_is_spoken_to_in_the_version_that_it_has_then(
    nats_server: Any,
) -> None:
    """Over NATS nobody is told of the change: the refusal of the older version tells it."""
    spoken = ProtocolRange(1, 2)
    async with nats_world(nats_server.url, spoken) as world, world.worker(1, spoken=spoken) as link:
        world.channel.alive()
        assert await link.which() == "server"
        world.channel.this = world.channel.this._replace(spoken=ProtocolRange(1, 1))
        assert (await link.report(report_of())).answer.accepted
        world.channel.this = world.channel.this._replace(spoken=ProtocolRange(3, 3))
        with pytest.raises(NoCommonProtocol, match="no common version"):
            await link.report(report_of())


def with_more(value: Any) -> Any:
    """What a newer release says: every object has a field that nobody here knows."""
    if isinstance(value, list):
        return [with_more(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {"of_a_newer_release": {"deep": [1]}, **{name: with_more(one) for name, one in value.items()}}


def encode_more(value: Any) -> bytes:
    return msgspec.json.encode(with_more(msgspec.json.decode(msgspec.json.encode(value))))


async def test_fields_that_nobody_knows_are_ignored(
    world_of: WorldOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (requests, handlers, direct_serve, nats_serve):
        monkeypatch.setattr(module, "_encode", encode_more)
    given: asyncio.Queue[Orders] = asyncio.Queue()
    pushes: asyncio.Queue[Push] = asyncio.Queue()
    event = Event("step.started", 1, run="s.1")
    report = ReportRequest(ORDER.execution_id, Report("l1", 1, "w", "l1/1/1", [event]), "w")
    async with world_of(1, 1) as world, world.worker(1) as link:
        link.on_orders, link.on_push = given.put_nowait, pushes.put_nowait
        assert (await link.take_from("server", TakeRequest(hello(), 1))).server == "server"
        body = encode_more(report)
        assert (await link.report_again(report, body)).answer.accepted
        assert world.desk.reports[0].report.events[0].name == "step.started"
        assert await link.secret(SecretRequest(ORDER.execution_id, "l1", 1, "w", "api", b"k")) == b"sealed"
        world.channel.push("w", Push("give_back", ORDER.execution_id, "l1", 1))
        assert (await asyncio.wait_for(pushes.get(), LONG)).what == "give_back"
        assert world.channel.hand("w", [ORDER], lambda: None)
        assert [one.order for one in (await asyncio.wait_for(given.get(), LONG)).orders] == [ORDER]


async def test_a_request_that_nobody_knows_is_refused_and_the_worker_goes_on(world_of: WorldOf) -> None:
    async with world_of(1, 1) as world, world.worker(1) as link:
        for server in ("server", None):
            with pytest.raises(RequestError, match="has no request 'suspend'"):
                await link.once("suspend", b"{}", server, LONG)
        assert (await link.report(report_of())).answer.accepted


@pytest.fixture
async def direct() -> AsyncIterator[DirectWorld]:
    async with direct_world() as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "body", "named"), [(NOTICE, b"?!", "notice of kind b'\\?'"), (99, b"x", "kind 99")]
)
@pytest.mark.parametrize("teller", ["server", "worker"])
async def test_what_nobody_knows_is_refused_on_both_ends_and_the_connection_stays(
    direct: DirectWorld, caplog: pytest.LogCaptureFixture, kind: int, body: bytes, named: str, teller: str
) -> None:
    async with direct.worker(1) as link:
        ends = direct.channel._connections if teller == "server" else link._connections  # type: ignore[attr-defined]
        (connection,) = ends.values()
        connection.send(kind, 0, body)
        if teller == "server":  # what the worker answered has come before this
            await link.report(report_of())
        assert (await link.report(report_of())).answer.accepted
        assert not connection.closed
    warned = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert any("came, which release" in message for message in warned), warned
    assert any("the other side says" in message for message in warned), warned


async def test_what_a_server_of_the_bus_tells_that_nobody_understands_is_said(
    nats_server: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nats_world(nats_server.url) as world, world.worker(1) as link:
        await link.take_from("server", TakeRequest(hello(), 1))
        monkeypatch.setattr(nats_serve, "_encode", lambda push: b'{"what":1}')
        world.channel.push("w", Push("stop", ORDER.execution_id, "l1", 1))
        monkeypatch.undo()
        assert (await link.report(report_of())).answer.accepted
    assert [record for record in caplog.records if "is not understood" in record.message]
