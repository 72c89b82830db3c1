"""Logging in at an OpenID provider: there and back, and every way in which it may go wrong."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from noetl.server.access import NotProven
from noetl.server.auth import Auth
from noetl.server.oidc import Oidc
from noetl.server.options import Options
from noetl.server.sign_in import Leaving, LoginClient, SignIn, came_back, leaving, own_place
from tests.openid_provider import CLIENT, SECRET, OpenIdProvider, providing
from tests.unit.server.serving import Served, served

LOGIN = "/api/v1/session/login"


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with providing() as made:
        yield made


@pytest.fixture
async def server(tmp_path: Path, provider: OpenIdProvider) -> AsyncIterator[Served]:
    client = LoginClient(client_id=CLIENT, secret=SECRET)

    made: list[Served] = []  # the store is there once the server is asked something

    async def find(token_id: str) -> Any:
        return await made[0].made.engine.store.token(token_id)

    def changed(options: Options) -> Options:
        oidc = Oidc(issuer=provider.url, audience=CLIENT)
        return replace(options, auth=Auth(find, oidc, SignIn(provider.url, client)))

    async with served(tmp_path, changed) as running:
        made.append(running)
        yield running


async def there_and_back(server: Served, place: str = "/executions") -> Any:
    """The answer to somebody who comes back from the provider."""
    left = await server.client.get(LOGIN, params={"place": place})
    assert left.status_code == 303, left.text
    sent_back = await server.client.get(left.headers["location"])
    assert sent_back.status_code == 302
    return await server.client.get(sent_back.headers["location"])


async def test_somebody_logs_in_elsewhere_and_comes_back_to_the_page_that_they_wanted(
    server: Served, provider: OpenIdProvider
) -> None:
    assert (await server.client.get("/api/v1/session/ways")).json() == {
        "token": True,
        "provider": provider.url,
    }
    answer = await there_and_back(server, "/executions?status=failed")
    assert (answer.status_code, answer.headers["location"]) == (303, "/executions?status=failed")
    shown = (await server.client.get("/api/v1/session")).json()
    assert (shown["name"], shown["scopes"]) == ("ada", ["read", "run"])
    asked = provider.asked[0]
    assert asked["redirect_uri"] == f"{server.url}{LOGIN}/done"
    assert (asked["client_id"], asked["code_challenge_method"]) == (CLIENT, "S256")
    [token] = await server.made.front.tokens()
    assert (token.name, token.by, token.expires_at is not None) == ("ada", "login", True)
    right = {"X-CSRF-Token": shown["csrf"]}
    assert (await server.client.delete("/api/v1/session", headers=right)).status_code == 204
    assert await server.made.front.tokens() == []


async def test_an_access_token_that_is_meant_for_the_server_will_do(
    server: Served, provider: OpenIdProvider
) -> None:
    provider.opaque = False
    assert (await there_and_back(server)).headers["location"] == "/executions"


async def test_the_cookie_of_a_login_is_read_by_no_script_and_goes_with_it(server: Served) -> None:
    left = await server.client.get(LOGIN, headers={"X-Forwarded-Proto": "https"})
    cookie = left.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Secure", f"Path={LOGIN}"))
    back = dict(parse_qsl(urlsplit(left.headers["location"]).query))["redirect_uri"]
    assert back.startswith("https://")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"refuses": True}, "unproven"),
        ({"claims": {"roles": ["noetl:nothing"]}}, "powerless"),
        ({"claims": {"roles": ["noetl:worker"]}}, "powerless"),
        ({"claims": {"aud": "another", "roles": ["noetl:run"]}}, "unproven"),
    ],
)
async def test_a_login_that_proves_nothing_begins_no_session(
    server: Served, provider: OpenIdProvider, change: dict[str, Any], why: str
) -> None:
    for name, value in change.items():
        setattr(provider, name, value)
    assert (await there_and_back(server)).headers["location"] == f"/?login={why}"
    assert (await server.client.get("/api/v1/session")).status_code == 401


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"code": "x", "state": "another"}, "unproven"),
        ({"error": "access_denied"}, "refused"),
        ({"code": "made-up"}, "unproven"),
        ({}, "refused"),
    ],
)
async def test_who_comes_back_with_something_else_is_not_let_in(
    server: Served, parameters: dict[str, str], why: str
) -> None:
    left = await server.client.get(LOGIN)
    state = dict(parse_qsl(urlsplit(left.headers["location"]).query))["state"]
    answer = await server.client.get(f"{LOGIN}/done", params={"state": state, **parameters})
    assert answer.headers["location"] == f"/?login={why}"


async def test_who_never_left_does_not_come_back(server: Served) -> None:
    answer = await server.client.get(f"{LOGIN}/done", params={"code": "x", "state": "y"})
    assert answer.headers["location"] == "/?login=unproven"


async def test_a_provider_that_is_away_is_said(server: Served, provider: OpenIdProvider) -> None:
    left = await server.client.get(LOGIN)
    sent_back = await server.client.get(left.headers["location"])
    provider.shutdown()
    provider.server_close()
    assert (await server.client.get(LOGIN)).status_code == 503
    answer = await server.client.get(sent_back.headers["location"])
    assert answer.headers["location"] == "/?login=away"


async def test_without_a_client_nobody_is_sent_anywhere(tmp_path: Path) -> None:
    async with served(tmp_path) as plain:
        assert (await plain.client.get("/api/v1/session/ways")).json() == {"token": True, "provider": None}
        assert (await plain.client.get(LOGIN)).status_code == 404


@pytest.mark.parametrize(
    "place",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "x",
        "",
        "/a\nb",
        "/a" * 2000,
    ],
)
def test_nobody_is_led_elsewhere_by_a_login(place: str) -> None:
    assert own_place(place) == "/"


def test_a_page_of_this_server_is_gone_back_to() -> None:
    assert own_place("/executions?status=failed") == "/executions?status=failed"


@pytest.mark.parametrize("cookie", ["", "!", "e30=", "\u00e9"])
def test_a_cookie_that_is_none_of_ours_proves_nothing(cookie: str) -> None:
    with pytest.raises(NotProven):
        came_back(cookie, leaving("/").state)


def test_a_cookie_that_somebody_else_wrote_leads_nobody_elsewhere() -> None:
    left = Leaving("state", "verifier", "https://elsewhere.example/")
    assert came_back(left.sealed(), "state").place == "/"
