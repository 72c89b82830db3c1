"""A connection that does not say what it wants is closed, and too many of them keep nobody out."""

import asyncio
import contextlib
import resource
from typing import Any

import pytest

from noetl.server import header_timeout, listen
from tests.unit.server.serving import Served

HEAD = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"


@pytest.fixture(params=["httptools", "h11"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two reads requests, with little patience."""
    monkeypatch.setattr(listen, "HEAD_S", 0.3)
    monkeypatch.setattr(listen, "BODY_S", 0.3)
    monkeypatch.setattr(header_timeout, "HEAD_S", 0.3)
    if request.param == "h11":
        monkeypatch.setattr(listen, "_protocol", listen._plain)
    return str(request.param)


@pytest.fixture
def impatient(parser: str, server: Served) -> Served:
    return server


async def spoken(server: Served, said: bytes) -> Any:
    """A connection on which something was said."""
    url = server.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(said)
    await writer.drain()
    return reader, writer


@pytest.mark.parametrize(
    "said", [b"", b"G", HEAD, HEAD + b"X-Half: ", BODY], ids=lambda said: repr(said[-12:])
)
async def test_a_connection_that_does_not_go_on_is_closed(impatient: Served, said: bytes) -> None:
    reader, writer = await spoken(impatient, said)
    async with asyncio.timeout(30):
        with contextlib.suppress(ConnectionError):
            while await reader.read(1000):  # an answer may come first, to what was said
                pass
    writer.close()


async def test_a_connection_that_drips_is_closed_all_the_same(impatient: Served) -> None:
    reader, writer = await spoken(impatient, HEAD)
    ended = asyncio.ensure_future(reader.read())
    async with asyncio.timeout(30):
        with contextlib.suppress(ConnectionError):
            while not ended.done():
                writer.write(b"X-A: b\r\n")
                await writer.drain()
                await asyncio.wait([ended], timeout=0.05)
            await ended
    writer.close()


async def test_a_request_that_is_whole_is_answered_however_long_the_answer_takes(impatient: Served) -> None:
    shown = await impatient.client.get("/health/live")
    assert shown.status_code == 200
    async with impatient.client.stream("GET", "/api/v1/executions?limit=1") as answer:
        assert answer.status_code in (200, 401)


async def test_too_many_silent_connections_keep_nobody_out(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(header_timeout, "connections_most", lambda: 20)
    silent = [await spoken(server, HEAD) for _ in range(40)]
    assert (await server.client.get("/health/live")).status_code == 200
    for _, writer in silent:
        writer.close()


def test_some_descriptors_are_kept_for_the_server_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((256, 128), (100, 16), (1_000_000, 4096), (resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert header_timeout.connections_most() == most
