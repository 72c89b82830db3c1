"""What the web UI's pages read: logs projected, searched, and followed from afar."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.store import MemoryStore
from noetl.errors import NotFound
from noetl.server.routes import overview
from tests.unit.server.serving import BROKEN, HELLO, WAITS, Served, served

LOOP = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: loop, path: tests/loop}
workflow:
  - step: each
    loop: {in: [1, 2, 3], iterator: n}
    tool: {kind: python, input: {n: "{{ iter.n }}", code: "print('line', n)"}}
    set: {ctx.done: true}
"""
KEYCHAIN = "keychain: [{name: shop_api, kind: credential, credential: shop}]\n"
ORDER = WAITS.replace(
    "{kind: wait, signal: go}",
    "{kind: wait, input: {signal: go}, spec: {validate: {output: {type: object}}}}",
)


async def asked(server: Served, path: str) -> Any:
    answer = await server.client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def looped(server: Served) -> str:
    return f"/executions/{(await server.run(LOOP))['execution_id']}"


async def test_progress_data_and_loops_tell_of_the_whole_log(server: Served, looped: str) -> None:
    progress = await asked(server, f"{looped}/progress")
    assert progress["steps"]["each"]["loop"] == {
        "total": 3,
        "done": 3,
        "failed": 0,
        "running": 0,
        "queued": 0,
    }
    data = await asked(server, f"{looped}/data")
    assert (data["ctx"], data["writers"]["done"]["run"]) == ({"done": True}, "each.1")
    assert (await asked(server, f"{looped}/loops"))["items"] == ["each.1"]
    assert (await asked(server, f"{looped}/loops/each.1"))["marks"] == "ddd"
    assert (await asked(server, f"{looped}/timeline"))["critical"] == ["each.1"]


async def test_the_past_is_read_up_to_an_event_and_no_further(server: Served, looped: str) -> None:
    assert (await asked(server, f"{looped}/progress?at=3"))["seq"] == 3
    assert (await asked(server, f"{looped}/data?at=3"))["ctx"] == {}
    answer = await server.client.get(f"/api/v1{looped}/progress?at=100000")
    assert answer.status_code == 404


@pytest.mark.parametrize("path", ["progress", "data", "timeline", "loops", "lines", "found", "pulse"])
async def test_what_is_not_there_is_said_to_be_so(server: Served, path: str) -> None:
    answer = await server.client.get(f"/api/v1/executions/{'0' * 32}/{path}")
    assert answer.status_code == 404


async def test_a_run_that_is_no_loop_has_no_iterations(server: Served) -> None:
    shown = await server.run(HELLO)
    answer = await server.client.get(f"/api/v1/executions/{shown['execution_id']}/loops/greet.1")
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "query, total",
    [
        ("name=loop.iteration.*", 6),
        ("name=iteration.done", 3),
        ("iteration=1", 4),
        ("iteration=[1]&name=task.*", 2),
        ("step=nowhere", 0),
        ("task=each_task", 6),
        ("text=EACH.1", 18),
    ],
)
async def test_events_are_found_by_what_is_in_them(
    server: Served, looped: str, query: str, total: int
) -> None:
    found = await asked(server, f"{looped}/found?{query}")
    assert found["total"] == len(found["items"]) == total


async def test_any_page_of_the_log_is_read_without_the_ones_before(server: Served, looped: str) -> None:
    page = await asked(server, f"{looped}/found?offset=5&limit=2")
    assert [item["seq"] for item in page["items"]] == [6, 7]
    assert page["total"] > 7
    narrowed = await asked(server, f"{looped}/found?step=each&offset=1&limit=1")
    assert len(narrowed["items"]) == 1


async def test_a_pulse_says_how_far_the_log_is_and_ends_with_the_execution(server: Served) -> None:
    await server.register(ORDER)
    execution_id = await server.start("tests/waits")
    beats: list[str] = []
    async with (
        asyncio.timeout(60),
        server.client.stream("GET", f"/api/v1/executions/{execution_id}/pulse") as stream,
    ):
        async for line in stream.aiter_lines():
            if line.startswith("data: {") and not beats:
                signal = {"name": "go", "payload": {}}
                await server.client.post(f"/api/v1/executions/{execution_id}/signal", json=signal)
            beats += [line] if line.startswith("data: ") else []
    assert '"status":"waiting"' in "".join(beats[:2])  # it may have come to its wait after the first
    assert '"status":"running"' in "".join(beats[:-2])
    assert '"status":"completed"' in beats[-2]
    assert beats[-1] == "data: {}"


async def test_a_wait_tells_the_schema_of_its_answer(server: Served) -> None:
    await server.register(ORDER)
    execution_id = await server.start("tests/waits")
    async with asyncio.timeout(60):
        async for _, events in server.made.front.follow(execution_id):
            if any(event.name == "task.parked" for event in events):
                break
    (wait,) = (await asked(server, f"/executions/{execution_id}/progress"))["waits"]
    assert (wait["signal"], wait["schema"], wait["approval"]) == ("go", {"type": "object"}, None)


async def test_the_overview_counts_and_times_what_ran_of_late(server: Served, looped: str) -> None:
    told = await asked(server, "/overview")
    assert told["counts"]["completed"] == 1
    assert [row["step"] for row in told["slowest"]] == ["each"]
    assert told["failures"] == told["active"] == []


async def test_one_iteration_tells_its_item_and_its_output(server: Served, looped: str) -> None:
    told = await asked(server, f"{looped}/loops/each.1/1")
    assert (told["item"], told["index"], told["error"]) == (2, 1, None)
    assert (await asked(server, f"{looped}/loops/each.1/99"))["item"] is None


async def test_items_and_outputs_that_rest_elsewhere_are_fetched(server: Served) -> None:
    large = (
        LOOP.replace("in: [1, 2, 3]", 'in: "{{ range(40000) | list }}"')
        .replace("code: \"print('line', n)\"", "code: \"result = 'x' * 20\"")
        .replace('kind: python, input: {n: "{{ iter.n }}", code: "result = \'x\' * 20"}', "kind: noop")
    )
    place = f"/executions/{(await server.run(large))['execution_id']}/loops/each.1/39999"
    assert (await asked(server, place))["item"] == 39_999


async def parked(server: Served, execution_id: str) -> None:
    async with asyncio.timeout(60):
        async for _, events in server.made.front.follow(execution_id):
            if any(event.name == "task.parked" for event in events):
                return


async def test_failures_are_told_with_their_error_and_who_asked(server: Served) -> None:
    fails = HELLO.replace("result = f'hello {name}'", "raise ValueError(name)")
    ended = [await server.run(fails, name=f"row {number}") for number in (1, 2)]
    (group,) = (await asked(server, "/overview"))["failures"]
    assert (group["count"], group["step"], group["kind"]) == (2, "greet", "python")
    assert "row 2" in group["message"]
    assert group["newest"]["execution_id"] == ended[1]["execution_id"]
    item = (await asked(server, "/executions?limit=1"))["items"][0]
    assert (item["by"], item["error"]["step"]) == ("operator", "greet")
    (runs,) = (await asked(server, "/recent"))["items"].values()
    assert [run["status"] for run in runs] == ["failed", "failed"]


async def test_what_runs_often_hides_neither_a_failure_nor_the_last_run_of_another(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "COUNTED", 1)
    failed = await server.run(HELLO.replace("result = f'hello {name}'", "raise ValueError(name)"))
    for _ in range(2):
        await server.run(HELLO.replace("tests/hello", "tests/often"))
    told = await asked(server, "/overview")
    assert (told["counts"]["completed"], told["counts"]["failed"]) == (2, 1)
    assert [group["newest"]["execution_id"] for group in told["failures"]] == [failed["execution_id"]]
    assert sum(bucket["completed"] for bucket in told["buckets"]) == 2
    assert {path: len(runs) for path, runs in (await asked(server, "/recent"))["items"].items()} == {
        "tests/often": 1,
        "tests/hello": 1,
    }


async def test_executions_are_found_by_the_labels_of_their_playbook(server: Served) -> None:
    labelled = HELLO.replace("path: tests/hello", "path: tests/labelled, labels: {team: pricing}")
    ended = await server.run(labelled)
    await server.run(HELLO)
    for label, found in {"team": 1, "team=pricing": 1, "team=sales": 0, "none": 0}.items():
        items = (await asked(server, f"/executions?label={label}"))["items"]
        assert [item["execution_id"] for item in items] == [ended["execution_id"]] * found
    labels = {item["path"]: item["labels"] for item in (await asked(server, "/catalog"))["items"]}
    assert labels == {"tests/hello": {}, "tests/labelled": {"team": "pricing"}}


async def test_whatever_waits_for_somebody_is_told_the_oldest_first(server: Served) -> None:
    await server.register(WAITS)
    both = [await server.start("tests/waits") for _ in range(2)]
    for execution_id in both:
        await parked(server, execution_id)
    items = (await asked(server, "/waits"))["items"]
    assert sorted(item["execution_id"] for item in items) == sorted(both)
    assert [item["since"] for item in items] == sorted(item["since"] for item in items)
    assert {(item["path"], item["step"], item["signal"], item["approval"]) for item in items} == {
        ("tests/waits", "ask", "go", None)
    }
    await server.client.post(f"/api/v1/executions/{both[0]}/signal", json={"name": "go"})
    await server.ended(both[0])
    assert [item["execution_id"] for item in (await asked(server, "/waits"))["items"]] == [both[1]]


async def test_one_execution_that_cannot_be_read_hides_no_other_that_waits(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.register(WAITS)
    both = [await server.start("tests/waits") for _ in range(2)]
    for execution_id in both:
        await parked(server, execution_id)
    state = type(server.made.front).state

    async def damaged(self: Any, execution_id: str, at: int | None = None) -> Any:
        if execution_id == both[0]:
            raise NotFound("gone")
        return await state(self, execution_id, at)

    monkeypatch.setattr(type(server.made.front), "state", damaged)
    assert [item["execution_id"] for item in (await asked(server, "/waits"))["items"]] == [both[1]]


async def test_a_text_is_drawn_with_its_findings_and_its_workload(server: Served) -> None:
    good = (await server.client.post("/api/v1/graph", json={"playbook": HELLO})).json()
    assert ([step["step"] for step in good["graph"]["steps"]], good["workload"]) == (
        ["greet"],
        {"name": "world"},
    )
    bad = (await server.client.post("/api/v1/graph", json={"playbook": BROKEN})).json()
    assert any(finding["severity"] == "error" for finding in bad["diagnostics"])
    assert (await server.client.post("/api/v1/graph", json={"playbook": "no"})).json()["graph"] is None


async def test_playbooks_that_name_a_credential_are_told(server: Served) -> None:
    named = HELLO.replace("kind: python,", "kind: python, auth: shop_api,").replace(
        "workload:", KEYCHAIN + "workload:"
    )
    await server.register(named)
    await server.register(WAITS)
    assert (await asked(server, "/uses"))["items"] == {"shop": ["tests/hello"], "shop_api": ["tests/hello"]}


async def test_a_server_says_what_it_is(server: Served) -> None:
    told = await asked(server, "/about")
    assert (told["you"]["name"], "python" in told["kinds"]) == ("operator", True)


async def test_readings_beyond_the_kept_ones_are_made_again(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noetl.server.log_projections.READINGS_MAX", 1)
    ids = [(await server.run(HELLO))["execution_id"] for _ in range(2)]
    for execution_id in [*ids, *ids]:
        assert (await asked(server, f"/executions/{execution_id}/progress"))["status"] == "completed"


async def test_the_page_of_what_is_stuck_shows_its_log_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    store: Any = MemoryStore(now_ms)
    async with served(tmp_path, store=store) as before:
        execution_id = await before.start((await before.register(WAITS))["path"])
        await parked(before, execution_id)
    rows = store._executions[execution_id].rows
    rows[-1].body = b"[{"
    async with served(tmp_path, store=store) as server:
        place = f"/executions/{execution_id}"
        assert (await asked(server, place))["status"] == "stuck"
        page = await asked(server, f"{place}/page")
        assert page["summary"]["stuck"]["reason"] == "log"
        assert page["progress"]["seq"] == rows[-1].first - 1
        assert [step["step"] for step in page["graph"]["steps"]] == ["ask"]
        assert (await asked(server, f"{place}/found"))["total"] == rows[-1].first - 1
        (told,) = (await asked(server, "/overview"))["failures"]
        assert (told["kind"], told["newest"]["status"]) == ("stuck", "stuck")
        assert "cannot be read" in told["message"]


async def test_a_log_that_was_damaged_later_is_said_to_be_and_hides_nothing_else(server: Served) -> None:
    execution_id = (await server.run(HELLO))["execution_id"]
    store: Any = server.made.store
    store._executions[execution_id].rows[-1].body = b"[{"
    assert (await asked(server, "/overview"))["counts"]["completed"] == 1
    answer = await server.client.get(f"/api/v1/executions/{execution_id}/timeline")
    assert answer.status_code == 503
    assert "cannot be read" in answer.json()["detail"]
