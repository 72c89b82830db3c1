"""Schedules and triggers over HTTP, and who may call a webhook."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noetl.ports.bearer import Scope
from noetl.ports.front import TokenAsk
from noetl.ports.schedule import Fired
from noetl.ports.tick import Tick
from tests.unit.server.serving import HELLO, WAITS, Served, guarded

SECRET = "a secret of some length"
NIGHTLY = {"name": "nightly", "path": "tests/hello", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}
ORDERS = {"name": "orders", "kind": "webhook", "path": "tests/hello", "as": "order", "secret": SECRET}


@pytest.fixture
async def guarded_server(tmp_path: Path) -> AsyncIterator[Served]:
    async with guarded(tmp_path) as server:
        await server.register(HELLO)
        yield server


async def token(server: Served, *scopes: Scope, prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    ask = TokenAsk(name="test", scopes=list(scopes), prefixes=list(prefixes))
    return {"Authorization": f"Bearer {(await server.made.front.new_token(ask)).bearer}"}


async def test_a_schedule_is_made_shown_changed_run_and_deleted(server: Served) -> None:
    await server.register(HELLO)
    client = server.client
    made = await client.post("/api/v1/schedules", json={**NIGHTLY, "workload": {"name": "you"}})
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["cron"], shown["enabled"], shown["catch_up"]) == ("0 3 * * *", True, "latest")
    assert shown["next_at"].endswith("Z")
    assert (await client.post("/api/v1/schedules", json=NIGHTLY)).status_code == 409
    assert (await client.get("/api/v1/schedules/nightly")).json() == shown
    change = {name: value for name, value in NIGHTLY.items() if name != "name"} | {"enabled": False}
    changed = (await client.put("/api/v1/schedules/nightly", json=change)).json()
    assert (changed["next_at"], changed["workload"]) == (None, {})
    started = await client.post("/api/v1/schedules/nightly/run")
    assert started.status_code == 201
    assert started.json()["playbook"] == {"path": "tests/hello"}, "as GET of the execution says it"
    assert started.json()["path"] == "tests/hello", "where clients of earlier releases read it"
    assert (await server.ended(started.json()["execution_id"]))["status"] == "completed"
    assert (await client.delete("/api/v1/schedules/nightly")).status_code == 204
    for method, place in (("GET", ""), ("DELETE", ""), ("POST", "/run")):
        answer = await client.request(method, f"/api/v1/schedules/nightly{place}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


FLAWED = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: flawed, path: tests/flawed}
workflow:
  - step: each
    loop: {in: [0, 1, 0], iterator: n}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: noop, output: "{{ 1 // iter.n }}"}
"""


async def test_ticks_to_come_are_told_before_a_schedule_is_kept(server: Served) -> None:
    client = server.client
    yearly: dict[str, str | int] = {"cron": "30 12 1 1,7 *", "timezone": "Europe/Berlin", "limit": 3}
    items = (await client.get("/api/v1/ticks", params=yearly)).json()["items"]
    assert [one["local"][10:16] for one in items] == [" 12:30"] * 3
    assert {one["clocks"] for one in items[1:]} == {"forward", "back"}
    winter = next(one for one in items if "-01-01" in one["local"])
    assert (winter["local"][11:], winter["tick"][11:16]) == ("12:30:00 +0100 CET", "11:30")
    for wrong, told in {
        "cron=at+noon": "has 2 fields",
        "": "either",
        "every_s=60&timezone=Mars": "Mars",
    }.items():
        answer = await client.get(f"/api/v1/ticks?{wrong}")
        assert (answer.status_code, told in answer.json()["detail"]) == (400, True), answer.text
    assert (await client.get("/api/v1/ticks?schedule=none")).status_code == 404


async def test_ticks_of_other_times_begin_now_and_those_of_the_same_go_on(server: Served) -> None:
    await server.register(HELLO)
    body = {"name": "beat", "path": "tests/hello", "every_s": 86400}
    shown = (await server.client.post("/api/v1/schedules", json=body)).json()
    same = (await server.client.get("/api/v1/ticks?schedule=beat&every_s=86400")).json()["items"]
    own = (await server.client.get("/api/v1/ticks?schedule=beat&limit=1")).json()["items"]
    other = (await server.client.get("/api/v1/ticks?schedule=beat&every_s=3600")).json()["items"]
    assert same[0]["tick"] == own[0]["tick"] == shown["next_at"]
    assert (len(same), len(own)) == (5, 1)
    assert other[4]["tick"] < shown["next_at"]


async def test_a_dry_run_tells_which_ticks_have_their_execution_already(server: Served) -> None:
    await server.register(HELLO)
    await server.client.post("/api/v1/schedules", json={**NIGHTLY, "enabled": False})
    span = {"schedule": "nightly", "from": "2026-01-01", "to": "2026-01-02T12:00"}
    first = (await server.client.post("/api/v1/backfills", json={**span, "to": "2026-01-01T12:00"})).json()
    place = f"/api/v1/backfills/{first['id']}"
    async with asyncio.timeout(60):
        while (await server.client.get(place)).json()["status"] != "done":
            await server.made.front.fire_schedules()
    (ran,) = (await server.client.get(f"{place}/ticks")).json()["items"]
    plan = (await server.client.post("/api/v1/backfills", json={**span, "dry_run": True})).json()
    assert plan["ticks"] == ["2026-01-01T02:00:00.000Z", "2026-01-02T02:00:00.000Z"]
    assert plan["existing"] == {"2026-01-01T02:00:00.000Z": ran["execution"]}


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"cron": "0 24 * * *"}, 400, "wrong hour: '24'"),
        ({"timezone": "Europe/Berln"}, 400, "'Europe/Berln' is no time zone"),
        ({"path": "tests/helo"}, 404, "'tests/helo'"),
        ({"every_s": 60}, 400, "either a cron expression or an interval"),
        ({"name": "a/b"}, 400, "name"),
        ({"catch_up": "some"}, 400, "catch_up"),
        ({"overlap": "some"}, 400, "overlap"),
        ({"crom": "* * * * *"}, 400, "crom"),
    ],
)
async def test_a_schedule_that_makes_no_sense_is_refused(
    server: Served, change: dict[str, Any], status: int, told: str
) -> None:
    await server.register(HELLO)
    answer = await server.client.post("/api/v1/schedules", json={**NIGHTLY, **change})
    assert answer.status_code == status
    assert told in answer.json()["detail"]


async def test_lists_come_page_by_page(server: Served) -> None:
    await server.register(HELLO)
    bodies = (("schedules", NIGHTLY), ("triggers", ORDERS))
    for place, body in bodies:
        for name in ("c", "a", "b"):
            answer = await server.client.post(f"/api/v1/{place}", json={**body, "name": name})
            assert answer.status_code == 201, answer.text
        first = (await server.client.get(f"/api/v1/{place}", params={"limit": 2})).json()
        rest = await server.client.get(f"/api/v1/{place}", params={"cursor": first["cursor"]})
        assert [one["name"] for one in first["items"] + rest.json()["items"]] == ["a", "b", "c"]
        assert rest.json()["cursor"] is None


async def test_a_trigger_is_made_shown_changed_run_and_deleted(server: Served) -> None:
    await server.register(HELLO)
    client = server.client
    body = {name: value for name, value in ORDERS.items() if name != "secret"}
    made = (await client.post("/api/v1/triggers", json=body)).json()
    assert made["hook"] == "/api/v1/hooks/orders"
    shown = (await client.get("/api/v1/triggers/orders")).json()
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    for place in ("/api/v1/triggers", "/api/v1/triggers/orders"):
        text = (await client.get(place)).text
        assert made["secret"] not in text
        assert hashlib.sha256(made["secret"].encode()).hexdigest() not in text
    change = {name: value for name, value in body.items() if name != "name"} | {"as": "said"}
    assert (await client.put("/api/v1/triggers/orders", json=change)).json()["secret"] is None
    started = await client.post("/api/v1/triggers/orders/run", json={"payload": {"id": 1}})
    assert started.status_code == 201
    shown = await server.ended(started.json()["execution_id"])
    assert shown["workload"]["said"] == {"id": 1}
    assert (await client.delete("/api/v1/triggers/orders")).status_code == 204
    assert (await client.get("/api/v1/triggers/orders")).status_code == 404


async def test_a_webhook_is_called_with_its_own_secret_and_no_token(guarded_server: Served) -> None:
    client = guarded_server.client
    assert (await client.post("/api/v1/triggers", json=ORDERS)).status_code == 201
    del client.headers["Authorization"]
    body = b'{"id": 7}'
    signed = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    for proof in ({"X-Noetl-Secret": SECRET}, {"X-Hub-Signature-256": signed}):
        headers = {"Content-Type": "application/json", **proof}
        answer = await client.post("/api/v1/hooks/orders", content=body, headers=headers)
        assert answer.status_code == 202, answer.text
        execution_id = answer.json()["execution_id"]
        found = await guarded_server.made.front.execution(execution_id)
        assert isinstance(found["workload"], dict)
        assert (found["workload"]["order"], found["by"]) == ({"id": 7}, "trigger orders")
    assert (await client.get(f"/api/v1/executions/{execution_id}")).status_code == 401


async def test_a_call_of_a_webhook_without_its_secret_starts_nothing(guarded_server: Served) -> None:
    client = guarded_server.client
    assert (await client.post("/api/v1/triggers", json=ORDERS)).status_code == 201
    signed = "sha256=" + hmac.new(SECRET.encode(), b"{}", hashlib.sha256).hexdigest()
    proofs: list[dict[str, str]] = [
        {},
        {"X-Noetl-Secret": "wrong"},
        {"X-Hub-Signature-256": signed.replace("sha256=", "sha1=")},
        {"X-Hub-Signature-256": signed[:-1]},
    ]
    for name in ("orders", "nowhere", "a b"):
        for proof in proofs:  # an admin's token is none of them
            answer = await client.post(f"/api/v1/hooks/{name}", json={}, headers=proof)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
            assert "no such webhook, or the secret is another one" in answer.json()["detail"]
    assert (await client.get("/api/v1/executions")).json()["items"] == []


async def test_a_signed_call_that_is_repeated_with_its_key_starts_nothing_more(server: Served) -> None:
    """What is signed is the body: the key tells the repeat of a sender from another call."""
    await server.register(WAITS)
    await server.client.post("/api/v1/triggers", json={**ORDERS, "path": "tests/waits"})
    body = b'{"id": 7}'
    signed = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": signed, "Idempotency-Key": "k"}
    for _ in range(3):
        answer = await server.client.post("/api/v1/hooks/orders", content=body, headers=headers)
        assert answer.status_code == 202
    assert len((await server.client.get("/api/v1/executions")).json()["items"]) == 1


async def test_one_key_of_a_webhook_starts_one_execution(server: Served) -> None:
    await server.register(WAITS)
    await server.client.post("/api/v1/triggers", json={**ORDERS, "path": "tests/waits"})
    headers = {"X-Noetl-Secret": SECRET, "Idempotency-Key": "k"}
    answers = [
        await server.client.post("/api/v1/hooks/orders", json={"id": 1}, headers=headers) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert len({answer.json()["execution_id"] for answer in answers}) == 1
    other = await server.client.post("/api/v1/hooks/orders", json={"id": 2}, headers=headers)
    assert other.status_code == 409


async def test_a_webhook_reads_json_and_nothing_else(server: Served) -> None:
    await server.register(HELLO)
    await server.client.post("/api/v1/triggers", json=ORDERS)
    proof = {"X-Noetl-Secret": SECRET}
    form = await server.client.post("/api/v1/hooks/orders", data={"a": "b"}, headers=proof)
    assert form.status_code == 415
    headers = {**proof, "Content-Type": "application/json"}
    broken = await server.client.post("/api/v1/hooks/orders", content=b"{", headers=headers)
    assert broken.status_code == 400
    nothing = await server.client.post("/api/v1/hooks/orders", headers=proof)
    assert nothing.status_code == 202


async def test_those_who_guess_a_secret_are_slowed_down_and_those_who_know_it_are_not(
    guarded_server: Served,
) -> None:
    gate: Any = guarded_server.app.state.gate
    gate.strangers._burst, gate.strangers._per_s = 3, 0.001
    gate.strangers._buckets.clear()
    client = guarded_server.client
    await client.post("/api/v1/triggers", json=ORDERS)
    right, wrong = {"X-Noetl-Secret": SECRET}, {"X-Noetl-Secret": "x"}
    knows = [await client.post("/api/v1/hooks/orders", json={}, headers=right) for _ in range(8)]
    guesses = [await client.post("/api/v1/hooks/orders", json={}, headers=wrong) for _ in range(8)]
    assert {answer.status_code for answer in knows} == {202}
    assert guesses[0].status_code == 401
    assert guesses[-1].status_code == 429


async def test_what_outlives_its_maker_takes_the_right_to_write_and_to_run(guarded_server: Served) -> None:
    client = guarded_server.client
    for place, body in (("schedules", NIGHTLY), ("triggers", ORDERS)):
        for scopes, status in ((("run",), 403), (("write",), 403), (("run", "write"), 201)):
            headers = await token(guarded_server, *scopes)
            answer = await client.post(f"/api/v1/{place}", json=body, headers=headers)
            assert answer.status_code == status, (place, scopes)


async def test_a_token_of_a_prefix_keeps_to_its_own(guarded_server: Served) -> None:
    client = guarded_server.client
    await guarded_server.register(HELLO.replace("tests/hello", "other/hello"))
    own = await token(guarded_server, "run", "write", prefixes=("tests",))
    for place, body in (("schedules", NIGHTLY), ("triggers", ORDERS)):
        theirs = {**body, "name": "theirs", "path": "other/hello"}
        assert (await client.post(f"/api/v1/{place}", json=theirs)).status_code == 201
        assert (await client.post(f"/api/v1/{place}", json=body, headers=own)).status_code == 201
        listed = (await client.get(f"/api/v1/{place}", headers=own)).json()
        assert [one["name"] for one in listed["items"]] == [body["name"]]
        change = {name: value for name, value in body.items() if name != "name"}
        taken = await client.put(f"/api/v1/{place}/theirs", json=change, headers=own)
        assert taken.status_code == 404
        reaching = {**change, "path": "other/hello"}
        moved = await client.put(f"/api/v1/{place}/{body['name']}", json=reaching, headers=own)
        assert moved.status_code == 404


async def test_a_token_of_a_prefix_hears_no_subject(guarded_server: Served) -> None:
    own = await token(guarded_server, "run", "write", prefixes=("tests",))
    body = {"name": "bus", "kind": "nats", "path": "tests/hello", "subject": "orders.new"}
    client = guarded_server.client
    assert (await client.post("/api/v1/triggers", json=body, headers=own)).status_code == 403
    made = await client.post("/api/v1/triggers", json=body)
    assert made.status_code == 201
    assert (made.json()["secret"], made.json()["hook"]) == (None, None)


async def test_a_tick_tells_how_many_iterations_failed_of_what_it_started(server: Served) -> None:
    await server.register(FLAWED)
    span = {"from": "2026-01-01T00:00", "to": "2026-01-02T00:00", "cron": "0 3 * * *", "path": "tests/flawed"}
    backfill = (await server.client.post("/api/v1/backfills", json=span)).json()
    place = f"/api/v1/backfills/{backfill['id']}/ticks"
    while (tick := (await server.client.get(place)).json()["items"][0])["status"] != "completed":
        await server.made.front.fire_schedules()
    assert tick["failed_iterations"] == 2


async def test_what_became_of_ticks_is_read_the_newest_first_and_page_by_page(server: Served) -> None:
    front, client = server.made.front, server.client
    await server.register(HELLO)
    await client.post("/api/v1/schedules", json={"name": "fast", "path": "tests/hello", "every_s": 1})
    schedule = await server.made.store.schedule("fast")
    ticks = [
        Tick(owner="schedule/fast", tick=number * 1000, status="skipped", why="no server ran then")
        for number in range(3)
    ]
    await server.made.store.advance_schedule("fast", schedule.next_at or 0, Fired(1, 1), ticks)
    first = (await client.get("/api/v1/schedules/fast/ticks?limit=2")).json()
    assert [item["tick"] for item in first["items"]] == [
        "1970-01-01T00:00:02.000Z",
        "1970-01-01T00:00:01.000Z",
    ]
    rest = (await client.get(f"/api/v1/schedules/fast/ticks?cursor={first['cursor']}")).json()
    assert rest == {
        "items": [
            {
                "tick": "1970-01-01T00:00:00.000Z",
                "status": "skipped",
                "execution": None,
                "why": "no server ran then",
                "at": "1970-01-01T00:00:00.000Z",
                "failed_iterations": 0,
            }
        ],
        "cursor": None,
    }
    assert (await client.get("/api/v1/schedules/fast/ticks?cursor=x")).status_code == 400
    assert (await client.get("/api/v1/schedules/no/ticks")).status_code == 404
    assert len(await front.schedule_ticks("fast")) == 3


async def test_a_backfill_is_planned_made_paused_and_cancelled(server: Served) -> None:
    client = server.client
    await server.register(HELLO)
    body = {"path": "tests/hello", "every_s": 3600, "from": "2026-01-01T00:00Z", "to": "2026-01-01T02:00Z"}
    planned = await client.post("/api/v1/backfills", json={**body, "dry_run": True})
    assert (planned.status_code, len(planned.json()["ticks"])) == (201, 3)
    assert (await client.get("/api/v1/backfills")).json()["items"] == []
    made = (await client.post("/api/v1/backfills", json=body)).json()
    place = f"/api/v1/backfills/{made['id']}"
    assert (made["total"], made["counts"], made["status"]) == (3, {"planned": 3}, "running")
    assert (await client.post(f"{place}/pause")).json()["status"] == "paused"
    assert (await client.post(f"{place}/pause")).status_code == 409
    assert (await client.post(f"{place}/resume")).json()["status"] == "running"
    assert (await client.post(f"{place}/cancel")).json()["counts"] == {"cancelled": 3}
    (item,) = (await client.get("/api/v1/backfills")).json()["items"]
    assert item == (await client.get(place)).json()
    ticks = (await client.get(f"{place}/ticks?limit=2")).json()
    assert [tick["status"] for tick in ticks["items"]] == ["cancelled"] * 2
    assert ticks["cursor"] is not None
    for wrong in ({**body, "from": "never"}, {**body, "path": None}, {**body, "parallel": 1000}):
        assert (await client.post("/api/v1/backfills", json=wrong)).status_code == 400
    assert (await client.get(f"/api/v1/backfills/{'0' * 32}")).status_code == 404
