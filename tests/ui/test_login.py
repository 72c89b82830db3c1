"""A server that others can reach wants to know who one is before it shows anything."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.openid_provider import CLIENT, SECRET, OpenIdProvider, providing
from tests.ui.books import EDIT
from tests.ui.conftest import Api, Complaints, noetl


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenIdProvider]:
    """A place to log in at, which the servers that are started now know."""
    with providing() as made:
        monkeypatch.setenv("NOETL_OIDC_ISSUER", made.url)
        monkeypatch.setenv("NOETL_OIDC_AUDIENCE", CLIENT)
        monkeypatch.setenv("NOETL_OIDC_CLIENT_ID", CLIENT)
        monkeypatch.setenv("NOETL_OIDC_CLIENT_SECRET", SECRET)
        yield made


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Api]:
    """A server on every address, and an API with a token that may do anything."""
    made = noetl(tmp_path, "token", "create", "ada", "--scope", "admin")
    token = made.communicate(timeout=60)[0].strip()
    log = (tmp_path / "server.log").open("w")
    process = noetl(tmp_path, "server", "start", "--host", "0.0.0.0", "--port", "0", stderr=log)
    assert process.stdout is not None
    port = urlsplit(process.stdout.readline().strip()).port
    yield Api(f"http://127.0.0.1:{port}", token)
    process.terminate()
    process.communicate(timeout=60)
    log.close()


def test_a_token_opens_the_pages_and_leaving_closes_them(
    guarded: Api, open_page: Callable[..., Page], complaints: Complaints
) -> None:
    complaints.expect("401")
    guarded.call("POST", "/catalog", {"playbook": EDIT})
    page = open_page(base=guarded.url)
    page.goto("/playbooks")
    expect(page.get_by_text("This server wants to know who you are")).to_be_visible()
    page.get_by_label("Token").fill("noetl_wrong")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Token").fill(guarded.token)
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("button", name="Run ui/edit").click()
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    expect(page.locator("main header [data-status]").first).to_have_attribute("data-status", "completed")
    assert guarded.token not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
    page.goto("/settings")
    expect(page.get_by_role("region", name="You")).to_contain_text("ada")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_somebody_logs_in_elsewhere_and_is_back_at_the_page_that_they_wanted(
    provider: OpenIdProvider,
    guarded: Api,
    open_page: Callable[..., Page],
    complaints: Complaints,
    width: int,
) -> None:
    complaints.expect("401")
    page = open_page(width, base=guarded.url)
    provider.claims = {"preferred_username": "ada", "roles": []}
    page.goto("/settings")
    page.get_by_role("link", name="Log in at 127.0.0.1").click()
    expect(page.get_by_role("alert")).to_contain_text("has no rights on this server")
    provider.claims = {"preferred_username": "ada", "roles": ["noetl:run"]}
    page.goto("/settings")
    page.get_by_role("link", name="Log in at 127.0.0.1").click()
    expect(page.get_by_role("region", name="You")).to_contain_text("ada")
    expect(page).to_have_url(re.compile("/settings$"))
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_what_needs_a_scope_that_one_has_not_is_said_before_a_form_is_filled_in(
    guarded: Api, open_page: Callable[..., Page], complaints: Complaints
) -> None:
    complaints.expect("401")
    guarded.call("POST", "/catalog", {"playbook": EDIT})
    execution_id = guarded.start("edit")
    runner = guarded.call("POST", "/tokens", {"name": "eve", "scopes": ["run"]})["token"]
    page = open_page(base=guarded.url)
    page.goto("/schedules")
    page.get_by_label("Token").fill(runner)
    page.get_by_role("button", name="Enter").click()
    for name in ("New schedule", "New trigger"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
        expect(page.get_by_role("button", name=name)).to_have_attribute(
            "title", "this needs the scope 'write'"
        )
    page.goto("/playbooks")
    expect(page.get_by_role("button", name="New playbook")).to_be_disabled()
    expect(page.get_by_role("button", name="Run ui/edit")).to_be_enabled()
    page.goto("/credentials")
    expect(page.get_by_role("button", name="Set a credential")).to_be_disabled()
    page.goto(f"/executions/{execution_id}")
    expect(page.get_by_role("button", name="New run")).to_be_enabled()
