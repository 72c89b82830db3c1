"""Messages on subjects start what triggers start: once each, on one of the servers, over a real NATS server."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from noetl.adapters.nats import subject_triggers
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.subject_triggers import SubjectTriggers
from noetl.errors import BackendError, NotFound
from noetl.ports.front import Started
from noetl.ports.schedule import Trigger
from tests.planted import caught
from tests.servers import NatsServer
from tests.unit.adapters.nats.test_bus import connected

LONG = 60.0


class Front:
    """Triggers, and what they have started: in order, and with which key."""

    def __init__(self) -> None:
        self.known: list[Trigger] = []
        self.fired: asyncio.Queue[tuple[str, Any, str | None]] = asyncio.Queue()
        self.keys: list[str | None] = []  # of every attempt
        self.trouble: list[Exception] = []
        self.failed = asyncio.Event()

    async def triggers(self) -> list[Trigger]:
        return self.known

    async def fire(self, name: str, payload: Any, *, key: str | None = None) -> Started:
        self.keys.append(key)
        if self.trouble:
            self.failed.set()
            raise self.trouble.pop()
        self.fired.put_nowait((name, payload, key))
        return Started("e", "running")

    async def next(self) -> tuple[str, Any, str | None]:
        async with asyncio.timeout(LONG):
            return await self.fired.get()


class World:
    """Servers and someone who publishes, under subjects that only this test uses."""

    def __init__(self, sender: Bus, *servers: Bus) -> None:
        self.sender, self.servers = sender, servers
        self.front, self.prefix = Front(), f"test{uuid4().hex}"
        self.listening = [SubjectTriggers(bus, self.front.triggers, self.front.fire) for bus in servers]

    def trigger(self, name: str = "orders", subject: str = "new", **more: Any) -> Trigger:
        at = {"subject": f"{self.prefix}.{subject}", "queue": f"q-{name}"}
        return Trigger(**{"name": name, "kind": "nats", "path": "p", **at, **more})

    async def listen(self, *triggers: Trigger) -> None:
        self.front.known = list(triggers)
        for one in self.listening:
            await one.look()
        for bus in self.servers:
            await (await bus.client()).flush()

    async def say(self, body: bytes, subject: str = "new", **headers: str) -> None:
        given = {name.replace("_", "-"): value for name, value in headers.items()} or None
        await (await self.sender.client()).publish(f"{self.prefix}.{subject}", body, headers=given)
        await (await self.sender.client()).flush()


@pytest.fixture
async def world(nats_server: NatsServer) -> AsyncIterator[World]:
    url = nats_server.url
    async with connected(url) as sender, connected(url) as one, connected(url) as other:
        yield World(sender, one, other)


async def test_one_of_the_servers_takes_each_message(world: World) -> None:
    await world.listen(world.trigger())
    for number in range(20):
        await world.say(b"%d" % number)
    heard = [await world.front.next() for _ in range(20)]
    assert sorted(payload for _, payload, _ in heard) == list(range(20))
    assert world.front.fired.empty()


async def test_every_trigger_on_a_subject_hears_it(world: World) -> None:
    await world.listen(world.trigger("a"), world.trigger("b", subject="*"))
    await world.say(b'{"id": 1}')
    heard = sorted([await world.front.next(), await world.front.next()])
    assert [one[:2] for one in heard] == [("a", {"id": 1}), ("b", {"id": 1})]


async def test_servers_listen_to_what_is_wanted_by_now(world: World) -> None:
    await world.listen(
        world.trigger("old", subject="old"), world.trigger("paused", subject="old", enabled=False)
    )
    await world.say(b"1", "old")
    assert (await world.front.next())[0] == "old"
    hook = Trigger(name="hook", kind="webhook", path="p")
    await world.listen(world.trigger("old", subject="new"), hook)
    await world.say(b"2", "old")
    await world.say(b"3", "new")
    assert (await world.front.next())[:2] == ("old", 3)
    await world.listen()
    await world.say(b"4", "new")
    await world.listen(world.trigger("last", subject="last"))
    await world.say(b"5", "last")
    assert (await world.front.next())[:2] == ("last", 5)


async def test_the_id_of_a_message_is_the_key_of_its_execution(world: World) -> None:
    await world.listen(world.trigger())
    await world.say(b"1", Nats_Msg_Id="m-1")
    assert await world.front.next() == ("orders", 1, "m-1")
    await world.say(b"2", Nats_Msg_Id="m" * 5000)
    _, _, key = await world.front.next()
    assert len(key or "") == 64


async def test_a_message_that_starts_nothing_is_left_behind(world: World) -> None:
    await world.listen(world.trigger())
    await world.say(b"no json")
    world.front.trouble.append(NotFound("there is no playbook"))
    await world.say(b"1")
    async with asyncio.timeout(LONG):
        await world.front.failed.wait()
    await world.say(b"2")
    assert (await world.front.next())[:2] == ("orders", 2)
    await world.say(b"")
    assert (await world.front.next())[:2] == ("orders", None)


async def test_a_message_waits_for_a_store_that_is_away(world: World) -> None:
    await world.listen(world.trigger())
    world.front.trouble.append(BackendError("away"))
    await world.say(b"1")
    assert (await world.front.next())[:2] == ("orders", 1)


async def test_one_received_message_has_one_key_however_often_it_is_tried(world: World) -> None:
    await world.listen(world.trigger())
    world.front.trouble += [BackendError("the connection broke during the commit")] * 2
    await world.say(b"1")
    keys = [(await world.front.next())[2]]
    assert world.front.keys == keys * 3
    await world.say(b"1")  # another message that says the same
    keys.append((await world.front.next())[2])
    assert all(keys)
    assert len(set(keys)) == 2


async def test_a_message_without_a_key_of_its_own_is_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: what nobody gave an id is started without a key, and again after an unknown commit."""
    monkeypatch.setattr(subject_triggers, "secrets", SimpleNamespace(token_hex=lambda size: None))
    test = test_one_received_message_has_one_key_however_often_it_is_tried
    await caught("a message without a key", test(world))


async def test_a_message_does_not_wait_for_a_store_for_ever(world: World) -> None:
    for one in world.listening:
        one.patience_s = -1.0
    await world.listen(world.trigger())
    world.front.trouble.append(BackendError("away"))
    await world.say(b"1")
    async with asyncio.timeout(LONG):
        await world.front.failed.wait()
    await world.say(b"2")
    assert (await world.front.next())[:2] == ("orders", 2)


async def test_a_message_of_a_stream_has_its_place_as_key_and_is_acknowledged(world: World) -> None:
    from nats.js.api import AckPolicy, ConsumerConfig

    stream = (await world.sender.client()).jetstream()
    name = f"S{uuid4().hex}"
    await stream.add_stream(name=name, subjects=[f"{world.prefix}.stored"])
    await stream.publish(f"{world.prefix}.stored", b'{"id": 1}')
    await world.listen(world.trigger())
    wanted = ConsumerConfig(
        durable_name="noetl",
        deliver_subject=f"{world.prefix}.new",
        deliver_group="q-orders",
        ack_policy=AckPolicy.EXPLICIT,
    )
    await stream.add_consumer(name, wanted)
    assert await world.front.next() == ("orders", {"id": 1}, f"{name}/1")
    async with asyncio.timeout(LONG):
        pending = 1
        while pending:
            pending = (await stream.consumer_info(name, "noetl")).num_ack_pending
            await asyncio.sleep(0.05)
    await stream.delete_stream(name)
