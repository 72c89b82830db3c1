"""Why a server is not reached, in words that say what to do: its certificate, TLS, a proxy."""

import asyncio
from pathlib import Path

import pytest

from noetl.adapters.http.client import Client
from noetl.errors import BackendError
from tests.engine.web import Web
from tests.forward_proxy import HOST, forward_proxy
from tests.servers import free_port
from tests.unit.adapters.direct.test_direct import certificate, tls_proxy


async def refused(url: str) -> BackendError:
    client = Client(url)
    try:
        with pytest.raises(BackendError) as told:
            await asyncio.wait_for(client.ask("GET", "/echo", prefix=""), 30)
    finally:
        await client.close()
    return told.value


async def test_a_certificate_that_is_not_believed_is_named_with_the_way_to_believe_it(tmp_path: Path) -> None:
    web, pem = Web(), certificate(tmp_path)
    try:
        async with tls_proxy(web.url, pem) as url:
            told = await refused(url)
            assert "its certificate is not believed: self-signed certificate" in told.message
            assert "SSL_CERT_FILE" in (told.hint or "")
    finally:
        web.close()


async def test_a_port_without_tls_is_told_from_one_that_nobody_listens_on() -> None:
    web = Web()
    try:
        assert "no TLS: " in (await refused(web.url.replace("http:", "https:"))).message
    finally:
        web.close()
    assert "Connection refused" in (await refused(f"https://127.0.0.1:{free_port()}")).message


async def test_a_proxy_that_refuses_or_is_not_there_is_told_from_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with forward_proxy(answer="403 Forbidden") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        told = await refused(f"https://{HOST}")
        assert told.message == f"the proxy before https://{HOST} does not lead there: 403 Forbidden"
        assert "NO_PROXY" in (told.hint or "")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    assert "the proxy: Connection refused" in (await refused(f"https://{HOST}")).message
