"""Notifications over HTTP: made, shown, changed, tried and removed, and who may do that."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.adapters.http.front import HttpFront
from noetl.errors import NotFound
from noetl.ports.bearer import Scope
from noetl.ports.front import TokenAsk
from noetl.ports.notification import FindDeliveries, NotificationAsk
from tests.receiver import Receiver, receiving
from tests.unit.server.serving import HELLO, Served, guarded

OPS = {"name": "ops", "on": ["failed"], "path": "tests/*", "to": "webhook:https://example.com/x", "auth": "s"}
FAILS = HELLO.replace("tests/hello", "tests/fails").replace("result = f'hello {name}'", "1 / 0")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with guarded(tmp_path) as found:
        await found.made.front.put_credential("s", {"secret": "it signs"})
        yield found


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def token(server: Served, *scopes: Scope, prefixes: tuple[str, ...] = ()) -> str:
    ask = TokenAsk(name="test", scopes=list(scopes), prefixes=list(prefixes))
    return (await server.made.front.new_token(ask)).bearer


async def test_a_notification_is_made_shown_changed_and_removed(server: Served) -> None:
    client = server.client
    made = await client.post("/api/v1/notifications", json=OPS)
    assert made.status_code == 201, made.text
    shown = made.json()
    assert shown == {
        **OPS,
        "children": False,
        "enabled": True,
        "by": "admin",
        "created_at": shown["created_at"],
    }
    assert (await client.post("/api/v1/notifications", json=OPS)).status_code == 409
    assert (await client.get("/api/v1/notifications")).json() == {"items": [shown], "cursor": None}
    change = {"on": ["late", "completed"], "to": "mail:a@example.com", "auth": "s", "enabled": False}
    changed = await client.put("/api/v1/notifications/ops", json=change)
    assert changed.json() == {**shown, **change, "path": "*"}
    assert (await client.get("/api/v1/notifications/ops")).json() == changed.json()
    assert (await client.delete("/api/v1/notifications/ops")).status_code == 204
    for method, place in (("GET", ""), ("DELETE", ""), ("POST", "/test")):
        answer = await client.request(method, f"/api/v1/notifications/ops{place}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert (await client.get("/api/v1/deliveries/12")).status_code == 404


async def test_what_makes_no_sense_is_a_problem(server: Served) -> None:
    for change, status in (
        ({"on": ["faild"]}, 400),
        ({"to": "webhook:nowhere"}, 400),
        ({"auth": "none"}, 404),
    ):
        answer = await server.client.post("/api/v1/notifications", json={**OPS, **change})
        assert answer.status_code == status, answer.text


async def test_a_front_far_away_does_the_same(server: Served, receiver: Receiver) -> None:
    front = HttpFront(server.url, await token(server, "admin"))
    try:
        ask = NotificationAsk(name="ops", occasions=["failed"], target=f"webhook:{receiver.url}/", auth="s")
        made = await front.put_notification(ask, new=True)
        assert made == await front.notification("ops") == (await front.notifications())[0]
        assert await front.put_notification(ask) == await server.made.front.notification("ops")
        sample = await front.send_sample("ops")
        assert (sample.state, sample.code, sample.occasion) == ("delivered", 200, "sample")
        await server.run(FAILS)
        await server.made.front.finish_sending()
        failed, tried = await front.deliveries(FindDeliveries(notification="ops"))
        assert (failed.occasion, tried) == ("failed", sample)
        assert await front.delivery(failed.id) == failed
        assert failed.key == (await server.made.front.delivery(failed.id)).key
        assert len(await front.deliveries(FindDeliveries(before=failed.id))) == 1
        again = await front.redeliver(failed.id)
        assert (again.key, again.state) == (failed.key, "delivered")
        assert len(receiver.calls) == 3
        await front.delete_notification("ops")
        with pytest.raises(NotFound):
            await front.notification("ops")
    finally:
        await front.close()


async def test_who_is_limited_to_prefixes_tells_and_sees_only_of_those(server: Served) -> None:
    client, place = server.client, "/api/v1/notifications"
    await client.post(place, json={**OPS, "name": "all", "path": "*"})
    await client.post(place, json=OPS)
    own = {"Authorization": f"Bearer {await token(server, 'write', prefixes=('tests',))}"}
    assert [item["name"] for item in (await client.get(place, headers=own)).json()["items"]] == ["ops"]
    mine = {**OPS, "name": "mine"}
    assert (await client.post(place, json=mine, headers=own)).status_code == 201
    for path in ("*", "other/*", "test*"):
        answer = await client.post(place, json={**mine, "name": "x", "path": path}, headers=own)
        assert answer.status_code in (403, 404), answer.text
    assert (
        await client.put(f"{place}/all", json=dict(list(OPS.items())[1:]), headers=own)
    ).status_code == 404
    assert (await client.delete(f"{place}/all", headers=own)).status_code == 404
    await server.made.store.add_delivery("all", "sample", 1)
    assert (await client.get("/api/v1/deliveries", headers=own)).json()["items"] == []
    number = (await client.get("/api/v1/deliveries")).json()["items"][0]["id"]
    assert (await client.post(f"/api/v1/deliveries/{number}/redeliver", headers=own)).status_code == 404


async def test_reading_takes_read_changing_takes_write_and_a_playbook_takes_run(server: Served) -> None:
    await server.register(HELLO)
    client, place = server.client, "/api/v1/notifications"
    reader = {"Authorization": f"Bearer {await token(server, 'read')}"}
    writer = {"Authorization": f"Bearer {await token(server, 'write')}"}
    assert (await client.get(place, headers=reader)).status_code == 200
    assert (await client.post(place, json=OPS, headers=reader)).status_code == 403
    starts = {"name": "p", "to": "playbook:tests/hello"}
    assert (await client.post(place, json=starts, headers=writer)).status_code == 403
    both = {"Authorization": f"Bearer {await token(server, 'write', 'run')}"}
    assert (await client.post(place, json=starts, headers=both)).status_code == 201
