"""Every resource over HTTP: what is asked, what is answered, and how it is refused."""

import base64
from typing import Any

import pytest

from tests.unit.server.serving import BROKEN, HELLO, LONG, WAITS, Served

NO_ID = "0" * 32


def is_problem(answer: Any, status: int, code: str | None = None) -> bool:
    body = answer.json()
    return (
        answer.status_code == status
        and answer.headers["content-type"] == "application/problem+json"
        and body["status"] == status
        and body["type"].endswith("/" + body["code"])
        and (code is None or body["code"] == code)
    )


async def test_a_playbook_is_registered_run_and_read(server: Served) -> None:
    entry = await server.register(HELLO)
    assert (entry["path"], entry["version"]) == ("tests/hello", 1)
    execution_id = await server.start("tests/hello", name="you")
    shown = await server.ended(execution_id)
    assert (shown["status"], shown["ctx"]) == ("completed", {"said": "hello you"})
    listed = (await server.client.get("/api/v1/executions")).json()
    assert [item["execution_id"] for item in listed["items"]] == [execution_id]
    assert listed["cursor"] is None


async def test_a_playbook_with_errors_is_refused_with_every_finding(server: Served) -> None:
    answer = await server.client.post("/api/v1/catalog", json={"playbook": BROKEN})
    assert is_problem(answer, 422, "playbook")
    found = answer.json()["diagnostics"]
    assert {"code", "severity", "message", "line", "column", "path", "hint"} == set(found[0])
    assert is_problem(await server.client.post("/api/v1/executions", json={"playbook": BROKEN}), 422)


async def test_a_text_can_be_checked_without_being_kept(server: Served) -> None:
    good = (await server.client.post("/api/v1/validate", json={"playbook": HELLO})).json()
    assert (good["errors"], good["path"]) == (0, "tests/hello")
    bad = (await server.client.post("/api/v1/validate", json={"playbook": BROKEN})).json()
    assert bad["errors"] > 0
    assert (await server.client.get("/api/v1/catalog")).json() == {"items": [], "cursor": None}


async def test_the_catalog_is_paged_by_path_and_read_by_version(server: Served) -> None:
    for name in ("c", "a", "b"):
        await server.register(HELLO.replace("tests/hello", f"tests/{name}"))
    await server.register(HELLO.replace("tests/hello", "tests/a") + "# changed\n")
    first = (await server.client.get("/api/v1/catalog?limit=2")).json()
    rest = (await server.client.get(f"/api/v1/catalog?limit=2&cursor={first['cursor']}")).json()
    assert [item["path"] for item in first["items"] + rest["items"]] == ["tests/a", "tests/b", "tests/c"]
    assert rest["cursor"] is None
    versions = (await server.client.get("/api/v1/catalog?path=tests/a&limit=1")).json()
    assert [item["version"] for item in versions["items"]] == [2]
    older = await server.client.get(f"/api/v1/catalog?path=tests/a&cursor={versions['cursor']}")
    assert [item["version"] for item in older.json()["items"]] == [1]
    assert "# changed" in (await server.client.get("/api/v1/catalog/tests/a")).json()["text"]
    assert {item["description"] for item in first["items"]} == {None}
    assert "# changed" not in (await server.client.get("/api/v1/catalog/tests/a?version=1")).json()["text"]
    assert (await server.client.delete("/api/v1/catalog/tests/a")).json() == {"deleted": 2}
    assert is_problem(await server.client.get("/api/v1/catalog/tests/a"), 404)
    assert is_problem(await server.client.delete("/api/v1/catalog/tests/a"), 404)


async def test_one_request_starts_an_execution_and_brings_its_end(server: Served) -> None:
    await server.register(HELLO)
    asked = {"path": "tests/hello"}
    ended = await server.client.post("/api/v1/executions?wait=60", json=asked)
    assert (ended.status_code, ended.json()["status"]) == (201, "completed")
    shown = (await server.client.get(f"/api/v1/executions/{ended.json()['execution_id']}?wait=60")).json()
    assert shown["output"] == ended.json()["output"]
    waits = await server.client.post("/api/v1/executions?wait=1", json={"playbook": WAITS})
    assert (waits.status_code, waits.json()["status"]) == (201, "waiting")
    held = (await server.client.get("/api/v1/executions?status=waiting")).json()["items"]
    assert [item["execution_id"] for item in held] == [waits.json()["execution_id"]]
    for wrong in ("-1", "61", "x", "1.5"):
        assert is_problem(await server.client.post(f"/api/v1/executions?wait={wrong}", json=asked), 400)


async def test_an_idempotency_key_starts_one_execution(server: Served) -> None:
    await server.register(HELLO)

    async def start(**body: Any) -> Any:
        return await server.client.post(
            "/api/v1/executions", json={"path": "tests/hello", **body}, headers={"Idempotency-Key": "k1"}
        )

    first, repeat, other = await start(), await start(), await start(workload={"name": "other"})
    assert (first.status_code, repeat.status_code) == (201, 200)
    assert first.json()["execution_id"] == repeat.json()["execution_id"]
    assert first.headers["location"] == f"/api/v1/executions/{first.json()['execution_id']}"
    assert is_problem(other, 409, "conflict")
    assert is_problem(await start(idempotency_key="k2"), 400)


async def test_executions_are_filtered_and_paged_by_cursor(server: Served) -> None:
    await server.register(HELLO)
    await server.register(WAITS)
    ids = [await server.start("tests/waits") for _ in range(3)]
    done = await server.ended(await server.start("tests/hello"))

    async def listed(query: str) -> list[str]:
        answer = await server.client.get(f"/api/v1/executions?{query}")
        assert answer.status_code == 200, answer.text
        return [item["execution_id"] for item in answer.json()["items"]]

    assert await listed("status=completed") == [done["execution_id"]]
    assert await listed("path=tests/waits") == ids[::-1]
    assert await listed("text=hello") == [done["execution_id"]]
    assert await listed("since=2100-01-01T00:00:00Z") == []
    assert len(await listed("until=2100-01-01T00:00:00Z")) == 4
    page = (await server.client.get("/api/v1/executions?path=tests/waits&limit=2")).json()
    rest = await listed(f"path=tests/waits&limit=2&cursor={page['cursor']}")
    assert [item["execution_id"] for item in page["items"]] + rest == ids[::-1]
    assert is_problem(await server.client.get("/api/v1/executions?limit=0"), 400)
    assert is_problem(await server.client.get("/api/v1/executions?status=odd"), 400)


async def test_an_execution_is_paused_resumed_signalled_and_cancelled(server: Served) -> None:
    await server.register(WAITS)
    execution_id = await server.start("tests/waits")
    place = f"/api/v1/executions/{execution_id}"
    paused = await server.client.post(f"{place}/pause", json={"why": "lunch"})
    assert (paused.status_code, paused.json()["execution_id"]) == (202, execution_id)
    assert (await server.client.post(f"{place}/resume")).status_code == 202
    signalled = await server.client.post(f"{place}/signal", json={"name": "go", "payload": {"a": 1}})
    assert signalled.status_code == 202
    assert (await server.ended(execution_id))["status"] == "completed"
    assert is_problem(await server.client.post(f"{place}/cancel"), 409, "conflict")
    other = await server.start("tests/waits")
    assert (await server.client.post(f"/api/v1/executions/{other}/cancel", json={})).status_code == 202
    assert (await server.ended(other))["status"] == "cancelled"


async def test_what_failed_is_retried_and_what_ran_is_run_again(server: Served) -> None:
    failing = HELLO.replace("result = f'hello {name}'", "raise ValueError(name)")
    failed = await server.run(failing)
    assert failed["status"] == "failed"
    place = f"/api/v1/executions/{failed['execution_id']}"
    again = await server.client.post(f"{place}/retry")
    assert again.status_code == 201
    assert (await server.ended(again.json()["execution_id"]))["retry_of"] == failed["execution_id"]
    mended = await server.client.post(f"{place}/rerun", json={"from": "greet", "playbook": HELLO})
    assert (await server.ended(mended.json()["execution_id"]))["status"] == "completed"
    assert is_problem(
        await server.client.post(f"{place}/rerun", json={"from": "greet", "playbook": BROKEN}), 422
    )
    assert is_problem(await server.client.post(f"{place}/rerun", json={}), 400)


async def test_what_happened_can_be_read_in_every_way(server: Served) -> None:
    shown = await server.run(HELLO)
    place = f"/api/v1/executions/{shown['execution_id']}"
    events = (await server.client.get(f"{place}/events")).json()
    assert [item["seq"] for item in events["items"]] == list(range(1, shown["counts"]["events"] + 1))
    page = (await server.client.get(f"{place}/events?from=2&limit=3")).json()
    assert ([item["seq"] for item in page["items"]], page["next"]) == ([2, 3, 4], 5)
    tasks = (await server.client.get(f"{place}/events?name=task.*&step=greet")).json()["items"]
    assert {item["name"] for item in tasks} == {"task.started", "task.done"}
    state = (await server.client.get(f"{place}/state")).json()
    assert (state["status"], state["ctx"]) == ("completed", {"said": "hello world"})
    assert (await server.client.get(f"{place}/state?at=1")).json()["ctx"] == {}
    assert is_problem(await server.client.get(f"{place}/state?at=100000"), 404)
    assert (await server.client.get(f"{place}/why?step=greet")).json()["step"] == "greet"
    assert [step["step"] for step in (await server.client.get(f"{place}/graph")).json()["steps"]] == ["greet"]
    assert "execution_id" not in (await server.client.get(f"{place}/diff/{shown['execution_id']}")).json()
    rendered = await server.client.post(f"{place}/render", json={"template": "{{ ctx.said | upper }}"})
    assert rendered.json() == {"value": "HELLO WORLD"}
    assert is_problem(await server.client.post(f"{place}/render", json={"template": "{{ nope.x }}"}), 400)
    log = (await server.client.get(f"{place}/log?limit=1")).json()
    assert (log["items"][0]["first"], log["next"]) == (1, log["items"][0]["last"] + 1)


async def test_a_large_result_is_read_whole_and_in_part(server: Served) -> None:
    text = HELLO.replace("result = f'hello {name}'", "result = {'rows': [{'n': i} for i in range(20000)]}")
    shown = await server.run(
        text.replace('set: {ctx.said: "{{ output.data }}"}', "output: '{{ output.data }}'")
    )
    events = await server.client.get(f"/api/v1/executions/{shown['execution_id']}/events?name=task.done")
    key = events.json()["items"][0]["data"]["output"]["ref"]["locator"]["key"]
    whole = (await server.client.get(f"/api/v1/results/{key}")).json()
    assert len(whole["data"]["rows"]) == 20000
    part = (await server.client.get(f"/api/v1/results/{key}?select=rows&offset=5&limit=2")).json()
    assert (part["data"], part["total"], part["offset"]) == ([{"n": 5}, {"n": 6}], 20000, 5)
    assert is_problem(await server.client.get(f"/api/v1/results/{NO_ID}/{NO_ID}"), 404)


async def test_credentials_go_in_and_never_come_out(server: Served) -> None:
    put = await server.client.put("/api/v1/credentials/pg", json={"user": "me", "password": "s3cr3t-canary"})
    assert put.status_code == 204
    listed = await server.client.get("/api/v1/credentials")
    assert [item["name"] for item in listed.json()["items"]] == ["pg"]
    assert "canary" not in listed.text
    assert (await server.client.delete("/api/v1/credentials/pg")).status_code == 204
    assert is_problem(await server.client.delete("/api/v1/credentials/pg"), 404)
    assert is_problem(await server.client.put("/api/v1/credentials/pg", json={}), 400)
    assert is_problem(await server.client.put("/api/v1/credentials/p%00g", json={"a": 1}), 404)


@pytest.mark.parametrize("route, key", [("credentials", "name"), ("tokens", "id"), ("tools", "kind")])
async def test_every_list_is_paged_by_cursor(server: Served, route: str, key: str) -> None:
    for name in ("c", "a", "b"):
        await server.client.put(f"/api/v1/credentials/{name}", json={"value": name})
        await server.client.post("/api/v1/tokens", json={"name": name, "scopes": ["read"]})
    whole = (await server.client.get(f"/api/v1/{route}")).json()
    assert whole["cursor"] is None
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while query.get("cursor", "") is not None:
        page = (await server.client.get(f"/api/v1/{route}", params=query)).json()
        assert 1 <= len(page["items"]) <= 2
        found += [item[key] for item in page["items"]]
        query["cursor"] = page["cursor"]
    assert found == [item[key] for item in whole["items"]]
    assert len(set(found)) == len(found) >= 3


@pytest.mark.parametrize(
    "path, detail",
    [
        ("/api/v1/catalog?limit=0", "query.limit: input should be greater than or equal to 1, not '0'"),
        ("/api/v1/executions?status=odd", "not 'odd'"),
        ("/api/v1/executions/odd/state", "not 'odd'"),
    ],
)
async def test_a_refused_part_of_an_address_is_named_with_the_value_seen(
    server: Served, path: str, detail: str
) -> None:
    body = (await server.client.get(path)).json()
    assert detail in body["detail"]
    assert body["hint"]


async def test_what_there_is_to_work_with_can_be_looked_up(server: Served) -> None:
    workers = (await server.client.get("/api/v1/workers")).json()
    assert (len(workers["items"]), workers["cursor"]) == (1, None)
    kinds = {item["kind"] for item in (await server.client.get("/api/v1/tools")).json()["items"]}
    assert {"http", "python", "postgres"} <= kinds
    assert "$defs" in (await server.client.get("/api/v1/schema")).json()
    assert (await server.client.get("/api/v1/schema?kind=http")).status_code == 200
    assert is_problem(await server.client.get("/api/v1/schema?kind=nope"), 404)


async def test_the_four_older_spellings_do_the_same(server: Served) -> None:
    coded = base64.b64encode(HELLO.encode()).decode()
    assert (await server.client.post("/api/catalog/register", json={"content": coded})).status_code == 201
    assert (await server.client.post("/api/catalog/register", json={"content": HELLO})).status_code == 201
    body = {"path": "tests/hello", "payload": {"name": "old"}, "merge": False}
    key = {"Idempotency-Key": "old"}
    started = await server.client.post("/api/execute", json=body, headers=key)
    assert started.status_code == 201
    assert (await server.client.post("/api/execute", json=body, headers=key)).status_code == 200
    execution_id = started.json()["execution_id"]
    assert (await server.ended(execution_id))["ctx"] == {"said": "hello old"}
    old = await server.client.get(f"/api/executions/{execution_id}")
    assert old.json()["status"] == "COMPLETED"
    ours = await server.client.get(f"/api/v1/executions/{execution_id}")
    assert ours.json() == {**old.json(), "status": "completed"}
    credential = {"name": "k", "type": "httpBearer", "data": {"token": "t"}}
    stored = await server.client.post("/api/credentials", json=credential)
    assert (stored.status_code, stored.json()["name"], stored.json()["fields"]) == (200, "k", ["token"])


@pytest.mark.parametrize("field", ["payload", "workload", "input_payload", "parameters", "args"])
@pytest.mark.parametrize("version", [None, 1, "1", "latest"])
async def test_clients_of_the_original_name_the_workload_and_the_version_in_their_ways(
    server: Served, field: str, version: Any
) -> None:
    coded = base64.b64encode(HELLO.encode()).decode()
    kept = await server.client.post("/api/catalog/register", json={"content_base64": coded})
    assert kept.status_code == 201
    body = {"path": "tests/hello", field: {"name": "old"}, "version": version}
    started = await server.client.post("/api/execute", json=body)
    shown = await server.ended(started.json()["execution_id"])
    assert shown["ctx"] == {"said": "hello old"}


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/api/v1/executions/nope"),
        ("GET", f"/api/v1/executions/{NO_ID}"),
        ("GET", f"/api/v1/executions/{NO_ID.upper().replace('0', 'A')}"),
        ("GET", f"/api/v1/executions/{NO_ID}/events"),
        ("GET", f"/api/v1/executions/{NO_ID}/stream"),
        ("GET", f"/api/v1/executions/{NO_ID}/log"),
        ("GET", f"/api/v1/executions/{NO_ID}/why"),
        ("GET", f"/api/v1/executions/{NO_ID}/graph"),
        ("GET", f"/api/v1/executions/{NO_ID}/diff/{NO_ID}"),
        ("POST", f"/api/v1/executions/{NO_ID}/cancel"),
        ("GET", "/api/v1/executions/..%2f..%2fetc%2fpasswd"),
        ("GET", "/api/v1/catalog/nope"),
        ("GET", "/nope"),
        ("GET", "/api/v1/executions/"),
        ("GET", "/assets/../app.py"),
    ],
)
async def test_what_is_not_there_is_a_problem_and_never_a_page(
    server: Served, method: str, path: str
) -> None:
    assert is_problem(await server.client.request(method, path), 404, "not-found")


@pytest.mark.parametrize(
    "content, kind, status",
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"path": "\\ud800"}', "application/json", 400),
        (b'{"path": 5}', "application/json", 400),
        (b'{"path": "a", "odd": 1}', "application/json", 400),
        (b"{}", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"path": "a", "workload": {"x": 1e400}}', "application/json", 400),
        (b"path=a", "application/x-www-form-urlencoded", 415),
        (b'{"path": "a"}', "text/plain", 415),
        (b'\xef\xbb\xbf{"path": "a"}', "application/json", 404),  # a mark of the byte order is no mistake
    ],
)
async def test_a_body_that_does_not_fit_is_refused_by_name(
    server: Served, content: bytes, kind: str, status: int
) -> None:
    answer = await server.client.post("/api/v1/executions", content=content, headers={"Content-Type": kind})
    assert is_problem(answer, status)


async def test_a_method_that_is_not_offered_says_which_are(server: Served) -> None:
    answer = await server.client.patch("/api/v1/executions")
    assert is_problem(answer, 405)
    assert answer.json()["detail"] == "PATCH is not offered at /api/v1/executions"
    assert answer.json()["hint"] == f"offered: {answer.headers['allow']}"
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize(
    "path, status",
    [
        ("/health/live", 200),
        ("/api/openapi.json", 200),
        ("/api/v1/executions", 200),
        ("/api/v1/executions/{}", 200),
        ("/api/v1/executions/" + "0" * 32, 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/validate", 405),
        ("/metrics", 200),
    ],
)
async def test_head_is_answered_as_get_without_a_body(server: Served, path: str, status: int) -> None:
    place = path.format((await server.run(HELLO))["execution_id"])
    got, head = [await server.client.request(method, place) for method in ("GET", "HEAD")]
    assert (head.status_code, head.content) == (status, b"")
    assert got.status_code == status
    own = {"x-request-id", "date"}  # of each answer
    if path != "/metrics":  # they grow with every request
        assert {k: v for k, v in head.headers.items() if k not in own} == {
            k: v for k, v in got.headers.items() if k not in own
        }


async def test_head_on_a_stream_ends_at_once_and_lets_go_of_the_execution(server: Served) -> None:
    await server.register(WAITS)
    execution_id = await server.start("tests/waits")
    for _ in range(2):  # on one connection: the second is not kept waiting
        answer = await server.client.head(f"/api/v1/executions/{execution_id}/stream", timeout=LONG)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"].startswith("text/event-stream")
    assert (await server.client.post(f"/api/v1/executions/{execution_id}/cancel")).is_success


async def test_a_wish_that_the_state_forbids_says_what_to_do(server: Served) -> None:
    await server.register(HELLO)
    execution_id = await server.start("tests/hello")
    await server.ended(execution_id)
    for what in ("cancel", "pause", "resume"):
        answer = await server.client.post(f"/api/v1/executions/{execution_id}/{what}")
        assert is_problem(answer, 409, "conflict")
        hint = f"noetl execution rerun {execution_id} --from STEP"  # what completed has nothing to retry
        assert answer.json()["hint"] == hint


async def test_an_empty_body_is_said_to_be_empty(server: Served) -> None:
    answer = await server.client.post("/api/v1/executions", headers={"Content-Type": "application/json"})
    assert is_problem(answer, 400, "request")
    assert answer.json()["detail"] == "the body is empty"
