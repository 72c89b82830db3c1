"""The start of an execution is reached without the framework, and answers to the letter what it answered with it."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from noetl.ports.front import TokenAsk
from noetl.server.closing import OutOfTime
from noetl.server.gate import Gate
from noetl.server.head_method import Head
from noetl.server.hot_route import HotRoute
from noetl.server.request_log import Record
from tests.unit.server.serving import HELLO, Served, guarded

PLACE = "/api/v1/executions"
ITS_OWN = {"x-request-id", "location", "date"}


def _through_the_framework(app: FastAPI) -> Record:
    gate: Gate = app.state.gate
    timely = gate.app
    assert isinstance(timely, OutOfTime)
    head = timely.app
    assert isinstance(head, Head)
    direct = head.app
    assert isinstance(direct, HotRoute)
    usual = Gate(OutOfTime(Head(direct.app)), gate.options)
    usual.doorkeeper, usual.strangers = gate.doorkeeper, gate.strangers
    return Record(usual, app.state.meter)


class _App:
    """An app with another stack before its routes."""

    def __init__(self, app: FastAPI) -> None:
        self._app, self._stack = app, _through_the_framework(app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._stack({**scope, "app": self._app}, receive, send)


REQUESTS: list[dict[str, Any]] = [
    {"json": {"path": "tests/hello", "idempotency_key": "k"}},
    {"json": {"path": "tests/hello", "idempotency_key": "k", "workload": {"name": "other"}}},
    {"json": {"path": "tests/nowhere"}},
    {"json": {"path": "tests/hello", "until": "nowhere"}},
    {"json": {"playbook": "workflow: ["}},
    {"json": {}},
    {"json": {"pathh": "tests/hello"}},
    {"json": {"path": 1}},
    {"json": []},
    {"content": b"{", "headers": {"content-type": "application/json"}},
    {"content": b"", "headers": {"content-type": "application/json"}},
    {"content": b"path: tests/hello", "headers": {"content-type": "application/yaml"}},
    {"json": {"path": "tests/hello"}, "params": {"wait": "soon"}},
    {"json": {"path": "tests/hello"}, "headers": {"idempotency-key": "x" * 256}},
    {"json": {"path": "tests/hello"}, "headers": {"authorization": "Bearer wrong"}},
    {"json": {"path": "tests/hello"}, "headers": {"origin": "https://elsewhere.test"}},
    {"content": b"x" * 20_000_000, "headers": {"content-type": "application/json"}},
]


@pytest.fixture
async def both(tmp_path: Path) -> Any:
    async with guarded(tmp_path) as server:
        await server.register(HELLO)
        yield server


async def _answer(server: Served, app: Any, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    headers = {"authorization": server.client.headers["authorization"], **request.get("headers", {})}
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=server.url) as client:
        answer = await client.post(PLACE, **{**request, "headers": headers})
    kept = {name: value for name, value in answer.headers.items() if name not in ITS_OWN}
    return answer.status_code, kept, answer.content


@pytest.mark.parametrize("request_", REQUESTS)
async def test_a_start_is_answered_the_same_both_ways(both: Served, request_: dict[str, Any]) -> None:
    first = {"json": {"path": "tests/hello", "idempotency_key": "k"}}
    await _answer(both, both.app, first)  # so that a repeat finds it
    assert await _answer(both, both.app, request_) == await _answer(both, _App(both.app), request_)


async def test_a_sender_without_the_scope_is_refused_the_same_both_ways(both: Served) -> None:
    token = await both.made.front.new_token(TokenAsk(name="reader", scopes=["read"]))
    request = {"json": {"path": "tests/hello"}, "headers": {"authorization": f"Bearer {token.bearer}"}}
    answer = await _answer(both, both.app, request)
    assert answer[0] == 403
    assert answer == await _answer(both, _App(both.app), request)


async def test_a_bug_is_answered_the_same_both_ways(both: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(ask: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(both.made.front, "start", broken)
    request = {"json": {"path": "tests/hello"}}
    answer = await _answer(both, both.app, request)
    assert answer[0] == 500
    assert answer == await _answer(both, _App(both.app), request)


async def test_a_start_is_counted_under_its_route(both: Served) -> None:
    await _answer(both, both.app, {"json": {"path": "tests/hello"}})
    text = (await both.app.state.meter.text(both.made.front)).decode()
    assert f'noetl_http_requests_total{{method="POST",route="{PLACE}",status="201"}}' in text
