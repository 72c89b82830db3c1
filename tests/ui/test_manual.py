"""The documentation that a server serves, as readers use it: search, copy, themes, a phone, playbooks that run."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Api, Complaints, Server
from tests.ui.test_login import guarded  # noqa: F401

EXECUTION = re.compile(r"/executions/([0-9a-f]{32})")


def test_the_web_ui_leads_to_the_docs_and_a_search_to_the_page(page: Page) -> None:
    page.goto("/settings")
    page.get_by_role("link", name="Docs").click()
    expect(page.get_by_role("heading", name="NoETL", level=1)).to_be_visible()
    page.wait_for_load_state()  # the search comes with the page's script, which is behind its text
    page.keyboard.press("/")
    page.keyboard.type("unknown-ste")
    expect(page.get_by_role("option").first).to_contain_text("unknown-step")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/docs/errors/unknown-step#unknown-step$"))
    expect(page.get_by_role("navigation", name="Pages").locator("[aria-current]")).to_have_text(
        "unknown-step"
    )
    page.get_by_role("combobox").fill(
        "unknown-step xyzzy"
    )  # what has most of the words, when nothing has all
    expect(page.get_by_role("option").first).to_contain_text("unknown-step")
    page.get_by_role("combobox").fill("xyzzy qwertz")
    expect(page.get_by_text("Nothing found")).to_be_visible()


def test_a_playbook_of_a_page_is_copied_and_run(page: Page, server: Server) -> None:
    page.goto("/docs/tutorial/1-first-playbook")
    block = page.locator(".code").first
    block.hover()
    block.get_by_role("button", name="Copy").click()
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    assert "path: tutorial/first" in page.evaluate("navigator.clipboard.readText()")
    block.get_by_role("button", name="Run").click()
    page.wait_for_url(EXECUTION)
    found = EXECUTION.search(page.url)
    assert found is not None
    server.until(found[1], "playbook.processed")
    ran = server.get(f"/executions/{found[1]}")
    assert (ran["status"], ran["playbook"]["path"], ran["output"]) == (
        "completed",
        "docs/tutorial/first",
        "HELLO!",
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_a_phone_and_follow_the_theme(open_page: Callable[..., Page], theme: str) -> None:
    page = open_page(width=390, theme=theme)
    for name in ("", "reference/settings", "how-to/use-the-web-ui", "explanation/performance"):
        page.goto(f"/docs/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("navigation", name="Pages").get_by_text("Reference", exact=True).click()
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    page.get_by_role("button", name="Light or dark theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light" if theme == "dark" else "dark")


def test_where_a_server_asks_who_one_is_reading_needs_nothing_and_running_a_token(
    guarded: Api,  # noqa: F811
    open_page: Callable[..., Page],
    complaints: Complaints,
) -> None:
    complaints.expect("401")
    page = open_page(base=guarded.url)
    page.goto("/docs/tutorial/1-first-playbook")
    page.locator(".code").first.get_by_role("button", name="Run").click()
    page.get_by_label("Token").fill("noetl_wrong")
    page.get_by_role("button", name="Enter and run").click()
    expect(page.get_by_role("alert").filter(has_text="token")).to_be_visible()
    page.get_by_label("Token").fill(guarded.token)
    page.get_by_role("button", name="Enter and run").click()
    page.wait_for_url(EXECUTION)
    expect(page.get_by_text("docs/tutorial/first").first).to_be_visible()
