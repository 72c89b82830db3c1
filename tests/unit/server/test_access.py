"""Who may do what, for every route there is: the cases come from the routes themselves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route

from noetl.ports.bearer import SCOPES, Scope, spelled
from noetl.ports.front import Ask, TokenAsk
from noetl.ports.notification import NotificationAsk
from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from noetl.ports.tick import BackfillAsk
from noetl.server.access import BRINGS
from noetl.server.gate import ABOVE_PAGES, PAGES, is_public
from noetl.server.route_spec import SCOPE, Guarded
from noetl.server.routes import ROUTERS
from tests.unit.server.serving import HELLO, Served, guarded, served

ROUTES = [
    (method, route.path, (route.openapi_extra or {})[SCOPE])
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
]
GUARDED = [one for one in ROUTES if one[2] != "public"]
PUBLIC = {
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/api/health"),
    ("POST", "/api/v1/session"),
    ("GET", "/api/v1/session/ways"),
    ("GET", "/api/v1/session/login"),
    ("GET", "/api/v1/session/login/done"),
}
BELONGS_TO_NO_PATH = ("/credentials", "/workers", "/tokens")
ASKS_FOR_ITS_OWN_PROOF = "/hooks/"
STANDING: dict[str, dict[str, Any]] = {
    "/schedules": {"path": "tests/hello", "every_s": 60},
    "/triggers": {"kind": "webhook", "path": "tests/hello"},
    "/notifications": {"path": "tests/hello", "to": "playbook:tests/hello"},
}
# What /mcp says is a matter of the tool that is called: see test_mcp.py.
SAYS_NOTHING_OF_OTHERS = (
    "/tools",
    "/schema",
    "/validate",
    "/session",
    "/about",
    "/api/v1/graph",
    "/api/v1/ticks",
    "/mcp",
)


class Case:
    """A guarded server with one execution of `tests/hello`, and tokens of every sort."""

    def __init__(self, server: Served, execution_id: str, backfill_id: str) -> None:
        self.server, self.execution_id, self.backfill_id = server, execution_id, backfill_id

    async def token(
        self, *scopes: Scope, prefixes: tuple[str, ...] = (), expires_ms: int | None = None
    ) -> str:
        ask = TokenAsk(name="test", scopes=list(scopes), prefixes=list(prefixes), expires_ms=expires_ms)
        return (await self.server.made.front.new_token(ask)).bearer

    def place(self, path: str) -> str:
        """A path with something that exists in each place."""
        values = {
            "execution_id": self.execution_id,
            "other_id": self.execution_id,
            "backfill_id": self.backfill_id,
            "path:path": "tests/hello",
            "name": "pg",
            "token_id": "0" * 16,
            "digest": "0" * 32,
            "run": "greet.1",
            "index": "0",
            "number": "1",
        }
        for name, value in values.items():
            path = path.replace("{" + name + "}", value)
        assert "{" not in path, f"{path}: say here what stands in that place"
        return path

    async def status(self, method: str, path: str, bearer: str | None = None, **more: Any) -> int:
        headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        answer = await self.server.client.request(
            method, path, headers={**headers, **more.pop("headers", {})}, **more
        )
        return answer.status_code


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[Case]:
    async with guarded(tmp_path) as server:
        shown = await server.run(HELLO)
        front = server.made.front
        await front.put_schedule(ScheduleAsk(name="pg", path="tests/hello", cron="0 0 1 1 *"))
        await front.put_trigger(TriggerAsk(name="pg", kind="webhook", path="tests/hello"))
        told = NotificationAsk(name="pg", path="tests/hello", target="playbook:tests/hello")
        await front.put_notification(told)
        assert (await front.send_sample("pg")).id == 1
        span = BackfillAsk(schedule="pg", from_="2025-01-01", to="2025-01-02")
        backfill = (await front.add_backfill(span)).backfill
        del server.client.headers["Authorization"]
        yield Case(server, shown["execution_id"], backfill.id)


async def refusals(case: Case, bearer: str | None, wanted: set[int], routes: Any = None) -> list[str]:
    """The guarded routes that answer otherwise."""
    found = []
    for method, path, _ in GUARDED if routes is None else routes:
        status = await case.status(method, case.place(path), bearer)
        if status not in wanted:
            found.append(f"{method} {path}: {status}")
    return found


def test_only_the_named_routes_are_public() -> None:
    assert {(method, path) for method, path, scope in ROUTES if scope == "public"} == PUBLIC


def test_every_route_of_the_app_is_guarded_or_a_file(server_app: FastAPI) -> None:
    pages = {*PAGES, *(f"{above}{{rest:path}}" for above in ABOVE_PAGES), "/api/openapi.json"}
    pages |= {"/assets/{name}", "/docs", "/docs/{rest:path}"}
    for route in server_app.routes:
        assert not isinstance(route, Mount)
        if isinstance(route, Route) and not isinstance(route, APIRoute):
            assert route.path in pages
            assert is_public("GET", route.path.replace("{rest:path}", "x"))
    for router in ROUTERS:
        assert all(isinstance(route, Guarded) for route in router.routes)


@pytest.fixture
async def server_app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    async with served(tmp_path) as server:
        yield server.app


def test_a_route_that_does_not_say_who_may_call_it_cannot_be_made() -> None:
    async def nothing() -> None: ...

    with pytest.raises(KeyError):
        Guarded("/x", nothing)


async def test_without_a_token_nothing_is_answered(case: Case) -> None:
    assert await refusals(case, None, {401}) == []


async def test_a_token_that_has_expired_is_no_token(case: Case) -> None:
    bearer = await case.token("admin", expires_ms=1)
    await asyncio.sleep(0.01)
    assert await refusals(case, bearer, {401}) == []


@pytest.mark.parametrize(
    "sort", ["other secret", "unknown", "no token", "someone's digest", "empty", "of a provider"]
)
async def test_a_forged_token_is_no_token(case: Case, sort: str) -> None:
    bearer = await case.token("admin")
    stored = next(
        token for token in await case.server.made.store.tokens() if bearer.split("_")[1] == token.id
    )
    forged = {
        "other secret": spelled(stored.id, "A" * 43),
        "unknown": spelled("f" * 16, bearer.split("_", 2)[2]),
        "no token": "x" * 80,
        "someone's digest": spelled(stored.id, stored.hash[:43]),
        "empty": "-",
        "of a provider": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
    }[sort]
    assert await refusals(case, forged, {401}) == []


async def test_a_deleted_token_is_no_token(case: Case) -> None:
    bearer = await case.token("admin")
    await case.server.made.front.delete_token(bearer.split("_")[1])
    assert await refusals(case, bearer, {401}) == []


@pytest.mark.parametrize("needed", ["read", "run", "write", "admin"])
async def test_a_scope_that_does_not_bring_the_needed_one_is_refused(case: Case, needed: str) -> None:
    routes = [one for one in GUARDED if one[2] == needed]
    for scope in SCOPES:
        bearer = await case.token(scope)
        if needed in BRINGS[scope]:
            for method, path, _ in routes:
                assert await case.status(method, case.place(path), bearer) not in (401, 403), (
                    scope,
                    method,
                    path,
                )
        else:
            assert await refusals(case, bearer, {403}, routes) == [], scope


async def test_another_prefix_sees_and_does_nothing(case: Case) -> None:
    """What belongs to a path is not there for a token of another path; lists are empty."""
    for prefix in ("other", "test", "tests/hell", "tests/hello/below", "TESTS"):
        bearer = await case.token("admin", prefixes=(prefix,))
        await _sees_nothing(case, bearer, prefix)


async def _sees_nothing(case: Case, bearer: str, prefix: str) -> None:
    auth = {"Authorization": f"Bearer {bearer}"}
    for method, path, _ in GUARDED:
        if path.startswith(SAYS_NOTHING_OF_OTHERS) or any(part in path for part in SAYS_NOTHING_OF_OTHERS):
            continue
        if ASKS_FOR_ITS_OWN_PROOF in path:
            continue
        body: Any = {"path": "tests/hello", "playbook": HELLO} if method == "POST" else None
        if path.endswith(("/executions", "/execute")):
            body = {"path": "tests/hello"}
        elif path.endswith("/register"):
            body = {"content": HELLO}
        elif path.endswith("/backfills") and method == "POST":
            body = {"path": "tests/hello", "every_s": 60, "from": "2026-01-01", "to": "2026-01-01"}
        elif path.endswith("/catalog"):
            body = {"playbook": HELLO}
        elif method == "POST" and "{execution_id}" in path:
            body = {"signal": {"name": "go"}, "rerun": {"from": "greet"}, "render": {"template": "x"}}.get(
                path.rpartition("/")[2], {}
            )
        for part, standing in STANDING.items():
            if part in path and method in ("POST", "PUT"):
                body = {} if path.endswith("/run") else standing | ({"name": "x"} if method == "POST" else {})
        answer = await case.server.client.request(method, case.place(path), headers=auth, json=body)
        place = f"{method} {path} as {prefix}: {answer.status_code} {answer.text[:200]}"
        if any(part in path for part in BELONGS_TO_NO_PATH):
            assert answer.status_code == 403, place
        elif "{" in path or method != "GET":
            assert answer.status_code in (403, 404), place
        else:
            assert answer.status_code in (200, 403), place
            assert answer.status_code == 403 or "tests/hello" not in answer.text, place
            assert case.execution_id not in answer.text, place


async def test_the_own_prefix_sees_its_own(case: Case) -> None:
    for prefix in ("tests", "tests/hello"):
        bearer = await case.token("run", prefixes=(prefix,))
        assert await case.status("GET", f"/api/v1/executions/{case.execution_id}", bearer) == 200
        assert await case.status("POST", "/api/v1/executions", bearer, json={"path": "tests/hello"}) == 201
        listed = await case.server.client.get(
            "/api/v1/executions", headers={"Authorization": f"Bearer {bearer}"}
        )
        assert case.execution_id in listed.text


async def test_a_misspelt_path_is_corrected_to_what_the_token_may_see_alone(case: Case) -> None:
    auth = {"Authorization": f"Bearer {await case.token('run', prefixes=('testz',))}"}
    answers = [
        await case.server.client.post("/api/v1/executions", headers=auth, json={"path": "testz/hello"}),
        await case.server.client.get("/api/v1/catalog/testz/hello", headers=auth),
    ]
    for answer in answers:
        assert answer.status_code in (403, 404), answer.text
        assert "tests/hello" not in answer.text
    auth = {"Authorization": f"Bearer {await case.token('read', prefixes=('tests',))}"}
    seen = await case.server.client.get("/api/v1/catalog/tests/helo", headers=auth)
    assert "did you mean 'tests/hello'?" in seen.text


async def test_home_of_a_limited_token_counts_what_it_sees_and_nothing_else(case: Case) -> None:
    other = HELLO.replace("tests/hello", "elsewhere/hello")
    front, ended = case.server.made.front, list[str]()
    await front.register(other, by="test")
    for _ in range(2):
        ended.append((await front.start(Ask(path="elsewhere/hello"))).execution_id)
        async for _ in front.follow(ended[-1]):
            pass
    for prefixes, seen in {("tests",): None, ("elsewhere/hello", "elsewhere"): 2, ("none",): 0}.items():
        auth = {"Authorization": f"Bearer {await case.token('read', prefixes=prefixes)}"}
        answer = await case.server.client.get("/api/v1/overview", headers=auth)
        assert answer.status_code == 200, answer.text
        completed = answer.json()["counts"]["completed"]
        assert completed >= 1 if seen is None else completed == seen, prefixes
        assert any(one in answer.text for one in ended) == (seen == 2)


async def test_running_a_text_is_writing_a_playbook(case: Case) -> None:
    runner, writer = await case.token("run"), await case.token("run", "write")
    body = {"playbook": HELLO}
    assert await case.status("POST", "/api/v1/executions", runner, json=body) == 403
    assert await case.status("POST", "/api/v1/executions", writer, json=body) == 201
    again = {"from": "greet", "playbook": HELLO}
    place = f"/api/v1/executions/{case.execution_id}/rerun"
    assert await case.status("POST", place, runner, json=again) == 403
    assert await case.status("POST", place, writer, json=again) == 201


TRICKS = (
    "{}/health/live",
    "{}/configs",
    "{};x",
    "{};/health/live",
    "{}%2fhealth%2flive",
    "{}/../../health/live",
    "{}%00",
    "{}.css",
    "{}/assets/x",
    "/{}",
    "//health/live/..{}",
    "/assets/..%2f..{}",
    "/assets/../..{}",
    "/health/live%2f..{}",
    "/health/live/..{}",
    "{}?x=/health/live",
    "{}#/health/live",
)


@pytest.mark.parametrize("trick", TRICKS)
async def test_a_path_that_only_looks_public_is_not(case: Case, trick: str) -> None:
    """The request is sent letter for letter, as no client would: nothing is made tidy on the way."""
    for method, path, _ in GUARDED:
        status = await _raw_status(case.server.url, method, trick.format(case.place(path)))
        assert status in (400, 401, 404, 405), f"{method} {trick.format(path)}: {status}"


async def _raw_status(url: str, method: str, target: str) -> int:
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


async def test_a_session_is_a_cookie_that_scripts_cannot_read(case: Case) -> None:
    bearer = await case.token("run")
    client = case.server.client
    answer = await client.post("/api/v1/session", json={"token": bearer})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert answer.json()["scopes"] == ["read", "run"]
    assert "Secure" not in cookie
    assert (await client.get("/api/v1/executions")).status_code == 200
    body = {"path": "tests/hello"}
    assert (await client.post("/api/v1/executions", json=body)).status_code == 403
    wrong = {"X-CSRF-Token": "0" * 64}
    assert (await client.post("/api/v1/executions", json=body, headers=wrong)).status_code == 403
    shown = (await client.get("/api/v1/session")).json()
    right = {"X-CSRF-Token": shown["csrf"]}
    assert shown["csrf"] == answer.json()["csrf"]
    assert (await client.post("/api/v1/executions", json=body, headers=right)).status_code == 201
    foreign = {**right, "Origin": "https://elsewhere.example"}
    assert (await client.post("/api/v1/executions", json=body, headers=foreign)).status_code == 403
    assert (await client.delete("/api/v1/session", headers=right)).status_code == 204
    assert (await client.get("/api/v1/executions")).status_code == 401


async def test_the_cookie_of_a_session_over_tls_stays_there(case: Case) -> None:
    proxied = {"X-Forwarded-Proto": "https"}
    body = {"token": await case.token("read")}
    answer = await case.server.client.post("/api/v1/session", json=body, headers=proxied)
    assert "Secure" in answer.headers["set-cookie"]


async def test_a_session_begins_with_a_token_that_is_one(case: Case) -> None:
    answer = await case.server.client.post("/api/v1/session", json={"token": "x"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


async def test_tokens_are_made_shown_once_and_deleted_over_http(case: Case) -> None:
    admin = await case.token("admin")
    client = case.server.client
    client.headers["Authorization"] = f"Bearer {admin}"
    body = {"name": "ci", "scopes": ["run"], "prefixes": ["tests/"], "expires_ms": 60_000}
    made = (await client.post("/api/v1/tokens", json=body)).json()
    assert await case.status("GET", "/api/v1/executions", made["token"]) == 200
    listed = await client.get("/api/v1/tokens")
    assert made["token"].split("_", 2)[2] not in listed.text
    assert made["id"] in listed.text
    stored = await case.server.made.store.token(made["id"])
    assert made["token"].split("_", 2)[2].encode() not in msgspec.json.encode(stored)
    assert (await client.delete(f"/api/v1/tokens/{made['id']}")).status_code == 204
    assert (await client.delete(f"/api/v1/tokens/{made['id']}")).status_code == 404


async def test_strangers_are_slowed_down(case: Case) -> None:
    gate: Any = case.server.app.state.gate
    gate.strangers._burst, gate.strangers._per_s = 3, 0.001
    gate.strangers._buckets.clear()
    statuses = [await case.status("GET", "/api/v1/executions", "x") for _ in range(30)]
    assert statuses[0] == 401
    assert 429 in statuses


async def test_idempotency_keys_of_others_tell_nothing(case: Case) -> None:
    admin, limited = await case.token("admin"), await case.token("run", prefixes=("tests",))
    body, key = {"path": "tests/hello"}, {"headers": {"Idempotency-Key": "k"}}
    assert await case.status("POST", "/api/v1/executions", admin, json=body, **key) == 201
    assert await case.status("POST", "/api/v1/executions", limited, json=body, **key) == 201
    assert await case.status("POST", "/api/v1/executions", limited, json=body, **key) == 200
