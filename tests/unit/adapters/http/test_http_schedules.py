"""Schedules and triggers of a server far away are those of the server."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from noetl.adapters.http.front import HttpFront
from noetl.errors import Conflict, Denied, NotFound, RequestError
from noetl.ports.front import Collected, Started, WebhookCall
from noetl.ports.schedule import ScheduleAsk, TriggerAsk, TriggerBatch
from noetl.ports.tick import BackfillAsk
from tests.unit.server.serving import HELLO, Served, served

SECRET = "a secret of some length"
NIGHTLY = ScheduleAsk(
    name="nightly",
    path="tests/hello",
    version=1,
    workload={"name": "you"},
    cron="0 3 * * *",
    timezone="Europe/Berlin",
    catch_up="none",
)
ORDERS = TriggerAsk(name="orders", kind="webhook", path="tests/hello", payload_key="order", secret=SECRET)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        await made.register(HELLO)
        yield made


@pytest.fixture
async def front(server: Served) -> AsyncIterator[HttpFront]:
    made = HttpFront(server.url)
    yield made
    await made.close()


async def test_schedules_are_those_of_the_server(server: Served, front: HttpFront) -> None:
    made = await front.put_schedule(NIGHTLY, new=True)
    assert made == await server.made.front.schedule("nightly") == await front.schedule("nightly")
    assert (made.timezone, made.workload, made.catch_up) == ("Europe/Berlin", {"name": "you"}, "none")
    with pytest.raises(Conflict, match="'nightly' already"):
        await front.put_schedule(NIGHTLY, new=True)
    every = replace(NIGHTLY, name="poll", cron=None, timezone="UTC", every_s=60)
    await front.put_schedule(every)
    assert await front.schedules() == await server.made.front.schedules()
    assert (await front.put_schedule(replace(every, enabled=False))).next_at is None
    started = await front.run_schedule("nightly")
    assert (await server.ended(started.execution_id))["workload"] == {"name": "you"}
    await front.delete_schedule("nightly")
    with pytest.raises(NotFound, match="'nightly'"):
        await front.schedule("nightly")


async def test_a_schedule_that_makes_no_sense_is_told_in_the_same_words(front: HttpFront) -> None:
    with pytest.raises(RequestError, match="wrong minute: '61'"):
        await front.put_schedule(replace(NIGHTLY, cron="61 * * * *"))
    with pytest.raises(NotFound, match="tests/helo") as refused:
        await front.put_schedule(replace(NIGHTLY, path="tests/helo", version=None))
    assert refused.value.hint == "did you mean 'tests/hello'?"


async def test_triggers_are_those_of_the_server(server: Served, front: HttpFront) -> None:
    made = await front.put_trigger(ORDERS, new=True)
    assert made.secret == SECRET
    there = await server.made.front.trigger("orders")
    assert made.trigger == replace(there, secret=None) == await front.trigger("orders")
    on_bus = replace(ORDERS, name="bus", kind="nats", secret=None, subject="orders.*")
    assert (await front.put_trigger(on_bus)).secret is None
    assert [one.name for one in await front.triggers()] == ["bus", "orders"]
    started = await front.fire_trigger("orders", {"id": 1}, key="k")
    assert (await front.fire_trigger("orders", {"id": 1}, key="k")).execution_id == started.execution_id
    assert (await server.ended(started.execution_id))["workload"]["order"] == {"id": 1}
    await front.delete_trigger("orders")
    with pytest.raises(NotFound):
        await front.trigger("orders")


async def test_what_a_trigger_waits_for_and_what_arrived_are_those_of_the_server(
    server: Served, front: HttpFront
) -> None:
    waits = replace(ORDERS, batch=TriggerBatch(2, "1h"), debounce="1h", filter="{{ trigger.payload.id > 1 }}")
    made = await front.put_trigger(waits)
    assert made.trigger == replace(await server.made.front.trigger("orders"), secret=None)
    assert (made.trigger.batch, made.trigger.debounce) == (waits.batch, "1h")
    assert await front.knock("orders", call(b'{"id": 1}')) == Collected("filtered", "tests/hello")
    for body in (b'{"id": 2}', b'{"id": 3}', b'{"id": 4}'):
        assert await front.knock("orders", call(body)) == Collected("collected", "tests/hello")
    with pytest.raises(RequestError, match="cannot tell"):
        await front.knock("orders", call(b"[]"))
    await server.made.front.fire_due()
    there = await server.made.front.arrivals("orders")
    assert [replace(one, key="", firing=None) for one in there] == list(await front.arrivals("orders"))
    assert [one.state for one in there] == ["pending", "fired", "fired"]
    assert [one.id for one in await front.arrivals("orders", 1, there[0].id)] == [there[1].id]
    assert (await front.trigger("orders")).pending == 1
    started = there[1].execution or ""
    assert (await server.ended(started))["workload"]["order"] == [{"id": 2}, {"id": 3}]
    with pytest.raises(RequestError, match="for ever"):
        await front.put_trigger(TriggerAsk(name="t", kind="playbook", path="tests/hello", after=["*"]))
    with pytest.raises(NotFound):
        await front.arrivals("no")


def call(body: bytes) -> WebhookCall:
    return WebhookCall(body=body, secret=SECRET)


async def test_a_webhook_is_called_as_in_the_process(server: Served, front: HttpFront) -> None:
    await front.put_trigger(ORDERS)
    body = b'{"id": 2}'
    signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    for knock in (
        WebhookCall(body=body, secret=SECRET),
        WebhookCall(body=body, signature=signature, key="k"),
    ):
        started = await front.knock("orders", knock)
        assert isinstance(started, Started)
        assert (await server.ended(started.execution_id))["workload"]["order"] == {"id": 2}
    with pytest.raises(Denied, match="no such webhook"):
        await front.knock("orders", WebhookCall(body=body, secret="wrong"))


async def test_backfills_and_ticks_are_those_of_the_server(server: Served, front: HttpFront) -> None:
    own = server.made.front
    await front.put_schedule(NIGHTLY, new=True)
    ask = BackfillAsk(schedule="nightly", from_="2026-01-01", to="2026-01-03T12:00", parallel=2)
    planned = await front.add_backfill(replace(ask, dry_run=True))
    assert len(planned.ticks) == planned.backfill.total
    made = (await front.add_backfill(ask)).backfill
    assert made == await own.backfill(made.id) == await front.backfill(made.id)
    assert await front.backfills() == await own.backfills()
    assert await front.backfill_ticks(made.id, 2) == await own.backfill_ticks(made.id, 2)
    assert (await front.control_backfill(made.id, "pause")).status == "paused"
    with pytest.raises(Conflict, match="is paused: there is nothing to pause"):
        await front.control_backfill(made.id, "pause")
    assert await front.schedule_ticks("nightly") == []
    with pytest.raises(NotFound, match="there is no schedule"):
        await front.schedule_ticks("no")
