"""The nats kind, and NATS buckets of the object kind, against a real server."""

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from noetl.tools.parts import nats_link

Run = Callable[..., Awaitable[Any]]
NUMBERS = itertools.count()


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"n{os.getpid()}x{next(NUMBERS)}"


@pytest.fixture
async def client(nats_server: Any) -> AsyncIterator[Client]:
    connected = await nats.connect(nats_server.url)
    yield connected
    await connected.close()


@pytest.fixture
def bus(use: Any, secrets: Any, nats_server: Any) -> Run:
    """Speak to the server with its credential."""
    secrets["bus"] = {"value": nats_server.url}

    async def run(action: str, **values: Any) -> Any:
        more = {key: values.pop(key) for key in ("idempotency_key",) if key in values}
        return await use("nats", {"action": action, **values}, auth_name="bus", **more)

    return run


VALUES = ["text", "", {"a": [1, None]}, [1, 2], 3.5, None, True, "ünï"]


@pytest.mark.parametrize("value", VALUES)
async def test_what_is_published_arrives(bus, client, name, value):
    subscription = await client.subscribe(name)
    await client.flush()
    output = await bus("publish", subject=name, value=value, headers={"X-Kind": "test"})
    assert (output["status"], output["data"]) == ("ok", None)
    message = await subscription.next_msg(timeout=30)
    expected = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    assert message.data.decode() == expected
    assert message.headers == {"X-Kind": "test"}


@pytest.mark.parametrize(
    "reply, value", [(b'{"n": 1}', {"n": 1}), (b"plain", "plain"), (b"\xff\x00", "/wA=")]
)
async def test_a_request_gives_the_reply(bus, client, name, reply, value):
    async def answer(message: Msg) -> None:
        await message.respond(reply)

    await client.subscribe(name, cb=answer)
    await client.flush()
    assert (await bus("request", subject=name, value=1))["data"] == value


async def test_a_request_that_nobody_answers_is_retryable(bus, client, name):
    problem = (await bus("request", subject=name, value=1))["error"]
    assert (problem["kind"], problem["retryable"]) == ("no_responders", True)
    await client.subscribe(name)
    await client.flush()
    problem = (await bus("request", subject=name, value=1, reply_timeout=0.05))["error"]
    assert (problem["kind"], problem["retryable"]) == ("timeout", True)


async def test_a_repeated_call_is_kept_once_by_a_stream(bus, client, name):
    stream = client.jetstream()
    await stream.add_stream(name=name, subjects=[f"{name}.*"])
    for key, duplicate in (("k1", False), ("k1", True), ("k2", False)):
        values = {"subject": f"{name}.a", "value": {"n": 1}, "stream": True}
        data = (await bus("publish", **values, idempotency_key=key))["data"]
        assert (data["stream"], data["duplicate"]) == (name, duplicate)
    assert (await stream.stream_info(name)).state.messages == 2
    none = await bus("publish", subject=f"{name}-other", value=1, stream=True, reply_timeout=2)
    assert none["error"]["kind"] == "no_stream"


async def test_a_fetch_reads_from_a_number_on_and_can_be_repeated(bus, client, name):
    stream = client.jetstream()
    await stream.add_stream(name=name, subjects=[f"{name}.*"])
    for number in range(5):
        await stream.publish(f"{name}.{'even' if number % 2 == 0 else 'odd'}", str(number).encode())
    for _ in range(2):
        data = (await bus("fetch", subject=f"{name}.*", limit=2))["data"]
        assert [(each["seq"], each["value"]) for each in data["messages"]] == [(1, 0), (2, 1)]
        assert data["next"] == 3
    rest = (await bus("fetch", subject=f"{name}.even", start=2, limit=2))["data"]
    assert [each["subject"] for each in rest["messages"]] == [f"{name}.even"] * 2
    nothing = (await bus("fetch", subject=f"{name}.*", start=6, reply_timeout=0.1))["data"]
    assert nothing == {"messages": [], "next": 6}


@pytest.mark.parametrize("value", VALUES)
async def test_a_value_is_kept_under_its_key(bus, client, name, value, use, secrets):
    await client.jetstream().create_key_value(bucket=name)
    kept = await bus("kv_put", bucket=name, key="a.b", value=value)
    assert (kept["data"], kept["ref"]["type"]) == ({"revision": 1}, "nats")
    assert (await bus("kv_get", bucket=name, key="a.b"))["data"] == (value if value != "" else "")
    assert (await use("resolve", {"ref": kept["ref"]}))["data"] == value


async def test_keys_are_listed_created_once_and_deleted(bus, client, name):
    await client.jetstream().create_key_value(bucket=name)
    assert (await bus("kv_keys", bucket=name))["data"] == []
    for key in ("b.1", "a.1", "a.2"):
        await bus("kv_put", bucket=name, key=key, value=key)
    assert (await bus("kv_keys", bucket=name))["data"] == ["a.1", "a.2", "b.1"]
    assert (await bus("kv_keys", bucket=name, key="a.>"))["data"] == ["a.1", "a.2"]
    assert (await bus("kv_create", bucket=name, key="a.1", value=1))["error"]["kind"] == "exists"
    assert (await bus("kv_delete", bucket=name, key="a.1"))["status"] == "ok"
    assert (await bus("kv_get", bucket=name, key="a.1"))["error"]["kind"] == "not_found"
    assert (await bus("kv_create", bucket=name, key="a.1", value=1))["status"] == "ok"


@pytest.mark.parametrize(
    "values, kind",
    [
        ({"action": "kv_get", "bucket": "nowhere", "key": "a"}, "not_found"),
        ({"action": "kv_get", "bucket": "nowhere"}, "not_found"),
        ({"action": "publish"}, "input"),
        ({"action": "kv_get", "key": "a"}, "input"),
        ({"action": "shout"}, "input"),
    ],
)
async def test_what_cannot_be_done_says_why(bus, values, kind):
    assert (await bus(**values))["error"]["kind"] == kind


async def test_a_bucket_that_is_not_there_is_named_with_what_makes_one(bus):
    error = (await bus("kv_put", bucket="nowhere", key="a", value=1))["error"]
    assert error["message"] == "the bucket nowhere is not there; make it with NATS' own tools"


async def test_a_server_that_is_not_there_is_retryable(use, secrets):
    secrets["bus"] = {"servers": ["nats://127.0.0.1:9"], "user": "u", "password": "canary-pw"}
    output = await use("nats", {"action": "publish", "subject": "a"}, auth_name="bus")
    assert (output["error"]["kind"], output["error"]["retryable"]) == ("connect", True)
    assert "canary-pw" not in str(output)
    assert (await use("nats", {"action": "publish", "subject": "a"}))["error"]["kind"] == "auth"


@asynccontextmanager
async def silent() -> AsyncIterator[tuple[str, asyncio.Queue[Any]]]:
    """A server that takes connections and says nothing, and those that it has taken."""
    taken: asyncio.Queue[Any] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.put_nowait(writer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", taken


def published(use: Any, name: str) -> asyncio.Task[Any]:
    """A call in a task of its own, as the worker makes calls."""
    return asyncio.ensure_future(
        use("nats", {"action": "publish", "subject": "a", "value": 1}, auth_name=name)
    )


async def test_a_server_that_does_not_answer_holds_up_nobody_else(use, bus, secrets):
    async with silent() as (url, taken):
        secrets["silent"] = {"value": url}
        waiting = [published(use, "silent") for _ in range(2)]
        connection = await taken.get()
        assert (await bus("publish", subject="a", value=1))["status"] == "ok"
        assert not any(one.done() for one in waiting)
        waiting[0].cancel()  # who gives up does not give up for the other
        connection.close()
        error = (await waiting[1])["error"]
        assert (error["kind"], error["retryable"], taken.empty()) == ("connect", True, True)


async def test_the_passwords_of_servers_are_not_told(use, secrets):
    secrets["away"] = {"value": "nats://me:canary-pw@127.0.0.1:1,nats://me:canary-pw@127.0.0.1:2"}
    error = (await published(use, "away"))["error"]
    assert "127.0.0.1:1, 127.0.0.1:2" in error["message"]
    assert "canary-pw" not in error["message"]


@pytest.mark.parametrize("bound", [("IDLE_S", -1.0), ("LINKS_MAX", 1)])
async def test_a_connection_that_nobody_uses_any_more_is_closed(
    use, resources, secrets, nats_server, monkeypatch, bound
):
    """A credential that was changed leaves none behind; one that a task may still use stays."""
    monkeypatch.setattr(nats_link, *bound)
    links = resources.get("nats", nats_link.Links)
    for number in range(3):
        secrets[f"bus{number}"] = {"value": nats_server.url, "user": f"user{number}", "password": "canary-pw"}
    await published(use, "bus0")
    (first,) = [one.task.result() for one in links._links.values()]
    await use("nats", {"action": "publish", "subject": "a", "value": 1}, auth_name="bus1")  # in this task
    await published(use, "bus2")
    assert len(links._links) == 2
    assert "canary-pw" not in str(links._links)
    await asyncio.gather(*links._closing)
    assert [first.is_closed] + [one.task.result().is_closed for one in links._links.values()] == [
        True,
        False,
        False,
    ]


async def test_a_lost_connection_is_made_again_by_the_next_call(use, secrets, tmp_path):
    from tests.servers import NatsServer

    with await asyncio.to_thread(NatsServer.start, tmp_path) as server:
        secrets["bus"] = {"value": server.url}
        values = {"action": "publish", "subject": "a", "value": 1}
        assert (await use("nats", values, auth_name="bus"))["status"] == "ok"
        await asyncio.to_thread(server.restart)
        async with asyncio.timeout(60):
            while (await use("nats", values, auth_name="bus"))["status"] != "ok":  # noqa: ASYNC110
                await asyncio.sleep(0.05)


# ---- the object store -----------------------------------------------------------------------------------


async def test_objects_of_a_nats_bucket(use, secrets, nats_server, name, payloads):
    secrets["bus"] = {"value": nats_server.url}

    async def objects(action: str, **values: Any) -> Any:
        spec = values.pop("spec", {})
        given = {"action": action, "store": f"nats://{name}/in", **values}
        return await use("object", given, auth_name="bus", spec=spec)

    assert (await objects("get", key="a.json"))["error"]["kind"] == "not_found"
    kept = await objects("put", key="a.json", content={"n": [1]})
    assert (await objects("get", key="a.json"))["data"] == {"n": [1]}
    assert (await use("resolve", {"ref": kept["ref"]}))["data"] == {"n": [1]}
    assert (await objects("put", key="a.json", content=1, mode="create"))["error"]["kind"] == "exists"
    text = "x" * 300_000
    await objects("put", key="big.txt", content=text, mode="create")
    listed = (await objects("list"))["data"]
    assert [(entry["key"], entry["bytes"]) for entry in listed] == [("a.json", 23), ("big.txt", 300_000)]
    assert (await objects("head", key="big.txt"))["data"]["bytes"] == 300_000
    large = await objects("get", key="big.txt", spec={"limits": {"max_hydrate_bytes": 1000}})
    assert (large["data"], large["ref"]["meta"]["bytes"]) == (None, 300_000)
    assert await payloads.get(large["ref"]) == text
    assert (await objects("get", key="big.txt", spec={"max_bytes": 5}))["error"]["kind"] == "too_large"
    assert (await objects("delete", key="a.json"))["status"] == "ok"
    assert (await objects("head", key="a.json"))["error"]["kind"] == "not_found"
