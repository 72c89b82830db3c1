"""What somebody on call opens the pages for: what waits for an answer, what failed and why, who started it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Server


def asked(server: Server, name: str) -> str:
    """An execution that has come to its question."""
    execution_id = server.start(name)
    server.until(execution_id, "task.parked")
    return execution_id


@pytest.mark.parametrize("width", [1280, 390])
def test_an_approval_is_given_from_the_inbox(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    execution_id = asked(server, "ask")
    page = open_page(width)
    page.goto("/approvals")
    row = page.locator("li", has=page.locator(f"a[href*='{execution_id}']"))
    expect(row).to_contain_text("Publish the report?")
    expect(page.locator("[data-waits]:visible")).to_be_visible()
    row.get_by_role("button", name="Approve").click()
    expect(row).to_have_count(0)
    server.until(execution_id, "playbook.processed")
    assert server.get(f"/executions/{execution_id}")["status"] == "completed"


def test_a_signal_is_answered_from_home_with_the_form_of_its_schema(server: Server, page: Page) -> None:
    execution_id = asked(server, "signal")
    page.goto("/")
    row = page.get_by_role("region", name="Waiting for an answer").locator(
        "li", has=page.locator(f"a[href*='{execution_id}']")
    )
    row.get_by_role("button", name="Answer").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("size").select_option(label="large")
    dialog.get_by_label("count").fill("3")
    dialog.get_by_role("button", name="Send").click()
    expect(row).to_have_count(0)
    server.until(execution_id, "playbook.processed")
    assert server.get(f"/executions/{execution_id}")["ctx"] == {"order": {"size": "large", "count": 3}}


def test_a_failure_is_told_on_home_with_its_error_until_somebody_goes_on_from_it(
    server: Server, page: Page
) -> None:
    first, second = (server.ran("says") for _ in range(2))
    page.goto("/")
    row = page.get_by_role("region", name="Failures").locator(
        "li", has=page.locator(f"a[href^='/executions/{second}']")
    )
    expect(row).to_contain_text("syntax error")
    expect(row).to_contain_text("\u00d7")
    expect(row).to_contain_text("by operator")
    begun = server.call("POST", f"/executions/{second}/retry", {})
    server.until(begun["execution_id"], "playbook.processed")
    expect(row).to_have_count(0)
    assert server.get(f"/executions/{first}")["error"]["step"] == "store"


def test_executions_tell_who_started_them_and_filters_are_kept_by_name(server: Server, page: Page) -> None:
    server.call("POST", "/schedules", {"name": "on-call", "path": "ui/edit", "every_s": 86_400})
    execution_id = server.ran("edit")
    page.goto("/executions?status=completed")
    row = page.locator("tr", has=page.locator(f"a[href='/executions/{execution_id}']"))
    row.get_by_role("button", name="operator").click()
    expect(page).to_have_url(re.compile("by=operator"))
    page.get_by_role("button", name="Save filters").click()
    page.get_by_label("Name of these filters").fill("mine")
    page.get_by_role("button", name="Keep").click()
    page.goto("/executions")
    page.get_by_role("link", name="mine").click()
    expect(page.get_by_label("Started by")).to_have_value("operator")
    expect(page.get_by_label("Status")).to_have_value("completed")
    page.get_by_role("button", name="Forget mine").click()
    expect(page.get_by_role("link", name="mine")).to_have_count(0)
    server.call("DELETE", "/schedules/on-call")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_token_is_made_shown_once_and_revoked(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    name = f"night shift {width}"
    page = open_page(width)
    page.goto("/tokens")
    page.get_by_role("button", name="Create a token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("checkbox", name="start and steer").check()
    dialog.get_by_label("Only under these paths").fill("ui/edit, ui/flow")
    dialog.get_by_role("button", name="Create", exact=True).click()
    expect(dialog.locator("[data-token]")).to_contain_text("noetl_")
    dialog.get_by_role("button", name="I have it").click()
    row = page.locator("tr", has_text=name)
    expect(row).to_contain_text("read, run")
    expect(row).to_contain_text("ui/edit, ui/flow")
    assert "noetl_" not in page.content()
    row.get_by_role("button", name=f"Revoke {name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(row).to_have_count(0)
    assert name not in str(server.get("/tokens"))
