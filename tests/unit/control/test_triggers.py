"""Triggers: what they may be, what their messages start, and who may call a webhook."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.control.triggers import credential_of
from noetl.errors import Conflict, Denied, NotFound, RequestError
from noetl.ports.front import Started, WebhookCall
from noetl.ports.schedule import TriggerAsk
from noetl.wiring.embedded import Embedded
from tests.unit.server.serving import HELLO, WAITS, engine

SECRET = "a secret of some length"


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as made:
        await made.front.register(HELLO)
        yield made


def ask(**more: Any) -> TriggerAsk:
    return TriggerAsk(**{"name": "orders", "kind": "webhook", "path": "tests/hello", **more})


def signature(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def knock(made: Embedded, call: WebhookCall, name: str = "orders") -> Started:
    started = await made.front.knock(name, call)
    assert isinstance(started, Started)
    return started


async def workload(made: Embedded, execution_id: str) -> dict[str, Any]:
    found = (await made.front.execution(execution_id))["workload"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "../x"}, "no name"),
        ({"kind": "ftp"}, "'ftp' is no kind"),
        ({"payload_key": "a.b"}, "'a.b' is no key"),
        ({"secret": "short"}, "5 characters"),
        ({"subject": "orders"}, "no subject"),
        ({"kind": "nats"}, "'' is no subject"),
        ({"kind": "nats", "subject": "a b"}, "no subject"),
        ({"kind": "nats", "subject": "a..b"}, "no subject"),
        ({"kind": "nats", "subject": "a.>.b"}, "no subject"),
        ({"kind": "nats", "subject": "a.b*"}, "no subject"),
        ({"kind": "nats", "subject": "a" * 300}, "no subject"),
        ({"kind": "nats", "subject": ">"}, "noetl themselves"),
        ({"kind": "nats", "subject": "*.x"}, "noetl themselves"),
        ({"kind": "nats", "subject": "noetl.any.report"}, "noetl themselves"),
        ({"kind": "nats", "subject": "$JS.API.>"}, "noetl themselves"),
        ({"kind": "nats", "subject": "_INBOX.>"}, "noetl themselves"),
        ({"kind": "nats", "subject": "a", "queue": "q q"}, "no queue"),
        ({"kind": "nats", "subject": "a", "secret": SECRET}, "no secret"),
    ],
)
async def test_a_trigger_that_makes_no_sense_is_refused(
    made: Embedded, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        await made.front.put_trigger(ask(**given))
    assert await made.front.triggers() == []


async def test_a_trigger_names_a_playbook_that_is_there(made: Embedded) -> None:
    with pytest.raises(NotFound, match="tests/helo"):
        await made.front.put_trigger(ask(path="tests/helo"))


async def test_the_secret_of_a_webhook_is_made_shown_once_and_not_kept_in_the_clear(made: Embedded) -> None:
    first = await made.front.put_trigger(ask(), new=True)
    assert first.secret is not None
    assert len(first.secret) >= 40
    assert first.secret not in msgspec.json.encode(await made.store.trigger("orders")).decode()
    assert first.secret.encode() not in await made.store.secret(credential_of("orders"))
    again = await made.front.put_trigger(ask(workload={"n": 1}))
    assert again.secret is None
    assert (await knock(made, WebhookCall(body=b"{}", secret=first.secret))).execution_id
    with pytest.raises(Conflict, match="'orders' already"):
        await made.front.put_trigger(ask(secret=SECRET), new=True)
    assert (await knock(made, WebhookCall(body=b"{}", secret=first.secret))).execution_id


async def test_a_call_starts_an_execution_with_its_payload_in_the_workload(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET, workload={"name": "x"}, payload_key="order"))
    body = b'{"id": 7}'
    for proof in ({"secret": SECRET}, {"signature": signature(body)}):
        started = await knock(made, WebhookCall(body=body, **proof))
        assert await workload(made, started.execution_id) == {"name": "x", "order": {"id": 7}}
    started = await knock(made, WebhookCall(body=b"", secret=SECRET))
    assert await workload(made, started.execution_id) == {"name": "x", "order": None}


@pytest.mark.parametrize(
    "proof",
    [
        {},
        {"secret": ""},
        {"secret": SECRET + "x"},
        {"secret": hashlib.sha256(SECRET.encode()).hexdigest()},
        {"secret": "sécret"},
        {"signature": ""},
        {"signature": "sha256=" + "0" * 64},
        {"signature": signature(b"other")},
        {"signature": signature(b"{}", "another secret")},
        {"signature": signature(b"{}", "0" * 64)},
        {"signature": signature(b"{}").removeprefix("sha256=")},
        {"signature": "sha256=é"},
    ],
)
async def test_a_call_that_proves_nothing_is_denied_and_starts_nothing(
    made: Embedded, proof: dict[str, str]
) -> None:
    await made.front.put_trigger(ask(secret=SECRET))
    await made.front.put_trigger(ask(name="bus", kind="nats", subject="orders"))
    for name in ("orders", "bus", "nowhere"):
        with pytest.raises(Denied):
            await made.front.knock(name, WebhookCall(body=b"{}", **proof))
    assert (await made.store.executions()).items == []


async def test_one_key_starts_one_execution_and_is_of_one_trigger(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET))
    await made.front.put_trigger(ask(name="other", secret=SECRET))
    call = WebhookCall(body=b"1", secret=SECRET, key="k")
    first = await knock(made, call)
    assert (await knock(made, call)).execution_id == first.execution_id
    assert (await knock(made, call, "other")).execution_id != first.execution_id
    with pytest.raises(Conflict):
        await made.front.knock("orders", WebhookCall(body=b"2", secret=SECRET, key="k"))


async def test_a_call_that_says_no_json_is_refused(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET))
    with pytest.raises(RequestError, match="no JSON"):
        await made.front.knock("orders", WebhookCall(body=b"{", secret=SECRET))


async def test_a_paused_webhook_starts_nothing(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET, enabled=False))
    with pytest.raises(Conflict, match="paused"):
        await made.front.knock("orders", WebhookCall(body=b"{}", secret=SECRET))


async def test_a_deleted_trigger_takes_its_secret_along(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET))
    await made.front.delete_trigger("orders")
    assert await made.front.credentials() == []
    with pytest.raises(Denied):
        await made.front.knock("orders", WebhookCall(body=b"{}", secret=SECRET))
    with pytest.raises(NotFound):
        await made.front.delete_trigger("orders")


async def test_a_secret_that_was_changed_in_the_keychain_signs_nothing(made: Embedded) -> None:
    await made.front.put_trigger(ask(secret=SECRET))
    await made.front.put_credential(credential_of("orders"), {"secret": "another secret"})
    with pytest.raises(Denied):
        await made.front.knock(
            "orders", WebhookCall(body=b"{}", signature=signature(b"{}", "another secret"))
        )


async def test_a_trigger_fired_by_hand_says_by_whom(made: Embedded) -> None:
    await made.front.register(WAITS)
    await made.front.put_trigger(ask(kind="nats", subject="orders.*", path="tests/waits"))
    found = await made.front.trigger("orders")
    assert (found.subject, found.queue, found.secret) == ("orders.*", "noetl-trigger-orders", None)
    started = await made.front.fire_trigger("orders", [1], by="ann")
    shown = await made.front.execution(started.execution_id)
    assert (shown["by"], shown["workload"]) == ("ann", {"payload": [1]})
