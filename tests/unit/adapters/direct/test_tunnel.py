"""Workers and commands that reach their server through a forward proxy, as HTTPS_PROXY and HTTP_PROXY say."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.adapters.direct.dial import dial
from noetl.adapters.direct.link import DirectLink
from noetl.adapters.forward_proxy import forward_proxy as proxy_of
from noetl.adapters.http.client import Client
from noetl.errors import BackendError, NoetlError, RequestError
from tests.engine.web import Web
from tests.forward_proxy import HOST, forward_proxy
from tests.unit.adapters.direct.test_direct import QUERY, certificate, ignore, tls_proxy
from tests.unit.adapters.link.test_links import LONG, report_of
from tests.unit.adapters.link.worlds import DirectWorld, bearer, direct_world

LOGIN = ("user", "p@ss:word/")


@pytest.fixture
async def world() -> AsyncIterator[DirectWorld]:
    async with direct_world() as made:
        yield made


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def beyond(url: str) -> str:
    """The address of a server here, by the name that only the proxy knows."""
    return url.replace("127.0.0.1", HOST)


async def report_through(url: str) -> None:
    link = DirectLink([url], "default", "w", bearer(1))
    link.open()
    try:
        assert await asyncio.wait_for(link.which(), LONG) == "server"
        assert (await link.report(report_of())).answer.accepted
    finally:
        await link.close()


@pytest.mark.parametrize("login", [None, LOGIN])
async def test_a_worker_works_through_a_proxy_that_leads_to_its_server(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch, login: tuple[str, str] | None
) -> None:
    async with forward_proxy(login) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await report_through(beyond(world.url))
        assert proxy.seen == [f"CONNECT {beyond(world.url).removeprefix('http://')} HTTP/1.1"]


async def test_what_a_worker_says_through_a_proxy_is_encrypted_as_far_as_the_server(
    world: DirectWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = certificate(tmp_path)
    async with forward_proxy() as proxy, tls_proxy(world.url, pem) as url:
        monkeypatch.setenv("https_proxy", proxy.url)
        with pytest.raises(BackendError, match="certificate"):
            await dial(beyond(url), QUERY, bearer(1), ignore)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        await report_through(beyond(url))
        assert [line.split(" ")[0] for line in proxy.seen] == ["CONNECT"] * 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [("403 Forbidden", RequestError), ("502 Bad Gateway", BackendError), ("gibberish", BackendError)],
)
async def test_a_proxy_that_does_not_lead_on_is_named_with_its_reason(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch, answer: str, error: type[NoetlError]
) -> None:
    async with forward_proxy(answer=answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with pytest.raises(
            error, match=f"the proxy 127.0.0.1:{proxy.port} does not lead to .*: it answers {answer}"
        ) as told:
            await dial(beyond(world.url), QUERY, bearer(1), ignore)
        assert "NO_PROXY" in (told.value.hint or "")


async def test_a_proxy_that_is_not_there_is_tried_again(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with pytest.raises(BackendError, match=f"no link to http://{HOST}"):
        await dial(beyond(world.url), QUERY, bearer(1), ignore)


async def test_commands_go_through_the_same_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web()
    try:
        async with forward_proxy(LOGIN) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            client = Client(beyond(web.url))
            try:
                await client.ask("GET", "/echo", prefix="")
            finally:
                await client.close()
            assert proxy.seen == [f"GET {beyond(web.url)}/echo HTTP/1.1"]
    finally:
        web.close()


@pytest.mark.parametrize(
    ("url", "settings", "proxy"),
    [
        ("http://one.test", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        ("http://one.test", {"HTTP_PROXY": "p:3128"}, "http://p:3128"),
        ("https://one.test", {"HTTP_PROXY": "http://p:3128"}, None),
        ("https://one.test", {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://one.test", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "two.test, .test"}, None),
        ("https://one.test:8443", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "two.test"}, "http://p:3128"),
        ("http://localhost:8080", {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://127.0.0.1:8080", {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://[::1]:8080", {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://one.test", {"HTTP_PROXY": ""}, None),
    ],
)
def test_the_variables_of_other_programs_say_which_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, settings: dict[str, str], proxy: str | None
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(url) == proxy


def test_a_proxy_of_another_kind_is_refused_by_name_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:secret@p:1080")
    with pytest.raises(RequestError, match="HTTPS_PROXY names p:1080, and only") as told:
        proxy_of("https://one.test")
    assert "secret" not in str(told.value)
