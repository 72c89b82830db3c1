"""The door: how much, how often, from where; and what every answer carries."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noetl.errors import BackendError, InvariantViolation, RequestError
from noetl.ports.network import is_loopback
from noetl.server import reply
from noetl.server.gate import HEADERS
from noetl.server.listen import bind, url_of
from noetl.server.options import Options
from noetl.server.rate import CALLERS_MOST, Rate
from tests.unit.server.serving import Served, served


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/health/live"),
        ("GET", "/nope"),
        ("GET", "/api/v1/executions"),
        ("POST", "/api/v1/executions"),
    ],
)
async def test_every_answer_is_dressed(server: Served, method: str, path: str) -> None:
    answer = await server.client.request(method, path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert len(answer.headers["X-Request-ID"]) == 32
    assert "access-control-allow-origin" not in answer.headers


async def test_a_bug_is_dressed_and_says_nothing_of_itself(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Any) -> Any:
        raise ZeroDivisionError("s3cr3t")

    monkeypatch.setattr(type(server.made.front), "workers", broken)
    answer = await server.client.get("/api/v1/workers")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "s3cr3t" not in answer.text
    assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "error, status", [(BackendError("the store is away"), 503), (InvariantViolation("a bug"), 500)]
)
async def test_our_own_errors_keep_their_code(
    server: Served, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    async def failing(self: Any) -> Any:
        raise error

    monkeypatch.setattr(type(server.made.front), "overdue_ms", failing)
    answer = await server.client.get("/health/ready")
    assert (answer.status_code, answer.json()["detail"]) == (status, str(error))
    assert ("retry-after" in answer.headers) == (status == 503)


async def test_a_server_is_not_ready_when_work_waits_too_long(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(self: Any) -> int:
        return 31_000

    assert (await server.client.get("/health/ready")).json() == {"status": "ok", "overdue_ms": 0}
    monkeypatch.setattr(type(server.made.front), "overdue_ms", late)
    answer = await server.client.get("/health/ready")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert (await server.client.get("/health/live")).status_code == 200


@pytest.mark.parametrize(
    "host, status",
    [
        ("127.0.0.1", 200),
        ("localhost:8080", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.", 403),
        ("[", 403),
    ],
)
async def test_a_server_without_a_guard_answers_only_to_its_own_names(
    server: Served, host: str, status: int
) -> None:
    answer = await server.client.get("/api/v1/executions", headers={"Host": host})
    assert answer.status_code == status


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://[", "x"])
async def test_a_page_of_another_site_changes_nothing(server: Served, origin: str) -> None:
    answer = await server.client.post("/api/v1/validate", json={"playbook": ""}, headers={"Origin": origin})
    assert answer.status_code == 403
    own = {"Origin": server.url}
    assert (
        await server.client.post("/api/v1/validate", json={"playbook": ""}, headers=own)
    ).status_code == 200


async def test_a_body_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    async with served(tmp_path, lambda options: replace(options, body_bytes=1000)) as server:
        fits = {"playbook": "x" * 900}
        assert (await server.client.post("/api/v1/validate", json=fits)).status_code == 200
        declared = await server.client.post("/api/v1/validate", json={"playbook": "x" * 1000})
        assert (declared.status_code, declared.json()["code"]) == (413, "too-large")

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield b"x" * 100

        headers = {"Content-Type": "application/json"}
        streamed = await server.client.post("/api/v1/validate", content=chunks(), headers=headers)
        assert streamed.status_code == 413


async def test_who_sends_all_of_a_refused_body_before_reading_still_gets_the_answer(tmp_path: Path) -> None:
    async with served(tmp_path, lambda options: replace(options, body_bytes=1000)) as server:
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        whole, some = b"x" * 5_000_000, b"x" * 2000
        head = f"POST /api/v1/validate HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
        head += "Content-Type: application/json\r\n"
        declared = f"{head}Content-Length: {len(whole)}\r\n\r\n".encode() + whole
        chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"7d0\r\n" + some + b"\r\n"
        chunked += b"%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole)
        for request in (declared, chunked):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            await writer.drain()
            assert b" 413 " in await reader.readline()
            writer.close()


async def test_a_length_that_is_no_number_is_refused(server: Served) -> None:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    for length in ("99999999999999999999999999", "-1", "x", "1e3"):
        reader, writer = await asyncio.open_connection(host, int(port))
        request = f"POST /api/v1/validate HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {length}\r\n\r\n"
        writer.write(request.encode())
        status = int((await reader.readline()).split()[1])
        assert status in (400, 413), length
        writer.close()


async def test_headers_without_end_are_refused(server: Served) -> None:
    answer = await server.client.get("/health/live", headers={"X-Long": "x" * 40_000})
    assert (answer.status_code, answer.json()["code"]) == (431, "too-large")
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /health/live HTTP/1.1\r\nX-Long: ")
    with suppress(ConnectionError):  # it may be closed while we still write
        for _ in range(100):
            writer.write(b"x" * 10_000)
            await writer.drain()
    with suppress(ConnectionError):
        assert b"400" in await reader.readline()
    writer.close()
    assert (await server.client.get("/health/live")).status_code == 200


def hasty(options: Options) -> Options:
    return replace(options, rate_per_s=0.001, rate_burst=3)


async def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    async with served(tmp_path, hasty) as server:
        answers = [await server.client.get("/api/v1/tools") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["Retry-After"]) > 0
        assert answers[-1].json()["code"] == "rate"


def test_a_bucket_fills_with_time_and_no_further_than_its_brim() -> None:
    now = [0.0]
    rate = Rate(2.0, 3, lambda: now[0])
    assert [rate.wait_s("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert rate.wait_s("b") == 0
    now[0] = 0.5
    assert [rate.wait_s("a"), rate.wait_s("a")] == [0, 0.5]
    now[0] = 100
    assert [rate.wait_s("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_callers_without_number_do_not_fill_the_memory() -> None:
    rate = Rate(1.0, 1)
    for number in range(CALLERS_MOST + 10):
        rate.wait_s(str(number))
    assert len(rate._buckets) == CALLERS_MOST


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.invalid"])
def test_an_address_that_others_reach_needs_a_guard(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(RequestError):
        bind(host, 0, guarded=False).close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_an_address_of_this_machine_alone_needs_none(host: str) -> None:
    assert is_loopback(host)


def test_a_port_that_is_taken_is_named_with_a_way_out() -> None:
    first = bind("127.0.0.1", 0, guarded=False)
    port = first.getsockname()[1]
    assert url_of(first) == f"http://127.0.0.1:{port}"
    with pytest.raises(BackendError, match=str(port)) as caught:
        bind("127.0.0.1", port, guarded=False)
    assert "--port 0" in (caught.value.hint or "")
    first.close()


def test_a_name_that_is_no_address_is_refused() -> None:
    with pytest.raises(RequestError, match="no address"):
        bind("no such host", 0, guarded=True)


async def test_a_body_that_does_not_come_is_not_waited_for(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "BODY_S", 0.05)
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /api/v1/validate HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 10\r\n\r\nx"
    writer.write(head.encode())
    assert b" 408 " in await reader.readline()
    writer.close()


async def test_who_goes_away_before_the_end_of_the_body_is_no_bug(server: Served) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/v1/validate", "headers": [(b"host", b"127.0.0.1")],
        "query_string": b"", "client": ("127.0.0.1", 1), "http_version": "1.1", "scheme": "http",
    }  # fmt: skip
    await server.app(scope, receive, send)
    assert sent[0]["status"] == 400


async def test_other_sockets_are_closed(server: Served) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "path": "/api/v1/executions", "headers": []}
    await server.app(scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
