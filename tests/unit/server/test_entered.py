"""What a request brings that is kept is refused at the door with its place, before any store takes it or refuses it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.store import SqliteStore
from noetl.ports.store import Store
from tests.unit.server.serving import HELLO, WAITS, Served, served

TOPOLOGIES = ("memory", "sqlite", "postgres")


@pytest.fixture(params=TOPOLOGIES)
async def topology(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    """A server over each store."""
    store: Store = MemoryStore(now_ms)
    if request.param == "sqlite":
        store = SqliteStore(str(tmp_path / "noetl.db"), now_ms)
    if request.param == "postgres":
        store = await PostgresStore.open(request.getfixturevalue("database"))
    async with served(tmp_path, store=store) as server:
        await server.register(HELLO)
        await server.register(WAITS)
        yield server


HELLO_PATH = {"path": "tests/hello"}
TRIGGER = {"name": "t", "kind": "webhook", **HELLO_PATH}
ENDS = {"name": "t", "kind": "playbook", **HELLO_PATH, "after": ["x"]}
OBJECTS = {"name": "t", "kind": "object", **HELLO_PATH, "source": "s3://bucket"}
TICKS = {"name": "s", "cron": "0 0 1 1 *"}
TOLD = {"name": "n", "path": "tests/*", "to": "playbook:tests/hello"}
NAMES: list[tuple[str, dict[str, Any], str]] = [
    ("tokens", {"name": "ci\0", "scopes": ["read"]}, "name has the control character U+0000 at character 3"),
    ("tokens", {"name": "c\x1b[2Ji", "scopes": ["read"]}, "name has the control character U+001B"),
    ("tokens", {"name": "c\ni", "scopes": ["read"]}, "name has the control character U+000A"),
    ("tokens", {"name": "ci", "scopes": ["read"], "prefixes": ["a", "a\0b"]}, "prefix has the control"),
    ("tokens", {"name": "ci", "scopes": ["worker"], "pools": ["a\x85b"]}, "pool has the control"),
    ("notifications", {**TOLD, "path": "tests/\0"}, "path has the control"),
    ("notifications", {**TOLD, "to": "playbook:tests/\x01"}, "to has the control"),
    ("schedules", {**TICKS, "path": "tests/hello\0"}, "path has the control"),
    ("triggers", {**TRIGGER, "path": "tests/hello\x7f"}, "path has the control"),
    ("triggers", {**ENDS, "after": ["x", "y\0"]}, "after has the control"),
    ("triggers", {**OBJECTS, "source": "s3://b\x02"}, "source has the control"),
    ("executions", {"path": "tests/hello\x1b"}, "path has the control"),
]
VALUES: list[tuple[str, dict[str, Any], str]] = [
    ("schedules", {**TICKS, **HELLO_PATH, "workload": {"a": [{"b\0": 1}]}}, "workload.a[0] contains a NUL"),
    ("triggers", {**TRIGGER, "workload": {"a": "\0"}}, "trigger.workload.a contains a NUL"),
    ("triggers", {**TRIGGER, "filter": "{{ trigger.payload == '\0' }}"}, "trigger.filter contains a NUL"),
    ("backfills", {**HELLO_PATH, "cron": "0 0 1 1 *", "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z",
                   "workload": {"a": "\0"}}, "workload.a contains a NUL"),
]  # fmt: skip


async def test_what_no_store_keeps_is_refused_at_the_door_in_every_topology(topology: Served) -> None:
    for route, body, words in NAMES + VALUES:
        answer = await topology.client.post(f"/api/v1/{route}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "request"), (route, body, answer.text)
        assert words in answer.json()["detail"], answer.text
        assert answer.json()["hint"] == "remove it"
    for route in ("tokens", "notifications", "schedules", "triggers", "backfills", "executions"):
        assert (await topology.client.get(f"/api/v1/{route}")).json()["items"] == []


async def test_a_signal_has_a_name_and_a_reason_that_the_log_keeps(topology: Served) -> None:
    place = f"/api/v1/executions/{await topology.start('tests/waits')}"
    for wish, body in (("signal", {"name": "go\0"}), ("pause", {"why": "\0"})):
        answer = await topology.client.post(f"{place}/{wish}", json=body)
        assert answer.status_code == 400
        assert "contains a NUL character" in answer.json()["detail"]


async def test_a_webhook_is_not_called_with_what_no_execution_could_begin_with(topology: Served) -> None:
    made = (await topology.client.post("/api/v1/triggers", json={**TRIGGER, "debounce": "1s"})).json()
    headers = {"X-Noetl-Secret": made["secret"]}
    answer = await topology.client.post("/api/v1/hooks/t", json={"a": "\0"}, headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "the text at the message.a contains a NUL character",
    )
    assert (await topology.client.get("/api/v1/triggers/t/arrivals")).json()["items"] == []
