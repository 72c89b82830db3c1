"""What is counted, and what the log says; and what is in neither."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from noetl.cli.processes.process_log import set_up
from noetl.errors import BackendError
from tests.unit.server.serving import HELLO, Served


def values(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_executions_steps_tasks_and_requests_are_counted(server: Served) -> None:
    await server.run(HELLO)
    await server.run(HELLO.replace("result = f'hello {name}'", "raise ValueError(name)"))
    answer = await server.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = values(answer.text)
    assert found["noetl_executions_started_total"] == 2
    assert found['noetl_executions_finished_total{status="completed"}'] == 1
    assert found['noetl_executions_finished_total{status="failed"}'] == 1
    assert found['noetl_steps_total{status="done"}'] == 1
    assert found['noetl_steps_total{status="failed"}'] == 1
    assert found['noetl_tasks_total{status="ok"}'] == 1
    assert found['noetl_tasks_total{status="error"}'] == 1
    assert found['noetl_workers{pool="default"}'] == 1
    assert found["noetl_oldest_due_seconds"] == 0
    assert found["noetl_commit_seconds_count"] > 2
    assert found['noetl_http_requests_total{method="POST",route="/api/v1/catalog",status="201"}'] == 2
    assert found['noetl_http_request_seconds_count{route="/api/v1/executions/{execution_id}"}'] == 2


async def test_ids_and_strange_methods_do_not_become_labels(server: Served) -> None:
    for path in (
        "/nope/1",
        "/nope/2",
        f"/api/v1/executions/{'a' * 32}",
        f"/api/v1/executions/{'b' * 32}/events",
    ):
        await server.client.get(path)
    await server.client.request("BREW", "/nope")
    text = (await server.client.get("/metrics")).text
    assert "nope" not in text
    assert "aaaa" not in text
    assert "BREW" not in text


async def test_metrics_are_told_while_the_store_is_away(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(self: Any) -> Any:
        raise BackendError("away")

    monkeypatch.setattr(type(server.made.front), "overdue_ms", failing)
    found = values((await server.client.get("/metrics")).text)
    assert found["noetl_store_up"] == 0


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    set_up("server", words=False)
    monkeypatch.setattr(logging.getLogger("httpx2"), "disabled", True)  # the tests' own client
    yield told
    root.handlers[:] = handlers
    root.setLevel(level)


async def test_a_request_leaves_one_line_with_its_ids(server: Served, logged: io.StringIO) -> None:
    shown = await server.run(HELLO)
    place = f"/api/v1/executions/{shown['execution_id']}"
    answer = await server.client.post(f"{place}/cancel?token=s3cr3t", json={"why": "s3cr3t"})
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    line = next(line for line in lines if line.get("request_id") == answer.headers["X-Request-ID"])
    assert (line["execution_id"], line["status"], line["path"]) == (
        shown["execution_id"],
        409,
        f"{place}/cancel",
    )
    assert (line["level"], line["process"], line["by"]) == ("info", "server", "operator")
    assert "s3cr3t" not in logged.getvalue()


async def test_no_secret_that_goes_in_is_in_the_log(server: Served, logged: io.StringIO) -> None:
    await server.client.put("/api/v1/credentials/pg", json={"password": "s3cr3t-canary"})
    headers = {"Authorization": "Bearer s3cr3t-canary", "Cookie": "noetl_session=s3cr3t-canary"}
    await server.client.post("/api/v1/executions", json={"path": "s3cr3t-canary"}, headers=headers)
    assert logged.getvalue().count("\n") >= 2
    assert "canary" not in logged.getvalue()


async def test_what_failed_is_told_with_its_ids_and_without_values(
    server: Served, logged: io.StringIO
) -> None:
    failing = HELLO.replace("result = f'hello {name}'", "raise ValueError('s3cr3t-canary')")
    shown = await server.run(failing)
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    told = [(line["event"], line.get("step")) for line in lines if line["logger"] == "noetl.execution"]
    assert told == [("step failed", "greet"), ("execution failed", None)]
    assert all(
        line["execution_id"] == shown["execution_id"] for line in lines if line["event"] == "step failed"
    )
    assert "canary" not in logged.getvalue()


async def test_a_bug_is_told_whole_in_the_log(
    server: Served, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Any) -> Any:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(type(server.made.front), "workers", broken)
    await server.client.get("/api/v1/workers")
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert any("ZeroDivisionError" in line.get("exception", "") for line in lines)
    assert any(line.get("status") == 500 and line["level"] == "error" for line in lines)
