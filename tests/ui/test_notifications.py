"""Notifications: made, tried, changed, paused and removed from the page, with what was answered."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.books import LONG_PATH
from tests.ui.conftest import Complaints, Server


def test_a_notification_is_made_tried_changed_and_removed(server: Server, page: Page) -> None:
    server.call("PUT", "/credentials/signing", {"secret": "it signs"})
    page.goto("/notifications")
    expect(page.get_by_text("Nobody is told of anything")).to_be_visible()
    page.get_by_role("button", name="New notification").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("ops")
    dialog.get_by_label("it completes").check()
    dialog.get_by_label("Playbooks, where").fill("ui/*")
    dialog.get_by_label("Address").fill("http://127.0.0.1:9/told")
    dialog.get_by_label("Credential with").fill("signing")
    dialog.get_by_role("button", name="Create").click()
    row = page.get_by_role("region", name="Notifications").locator("tbody tr", has_text="ops")
    expect(row).to_contain_text("failed, stuck, completed")
    expect(row).to_contain_text("webhook:http://127.0.0.1:9/told with signing")
    row.get_by_role("button", name="Test ops").click()
    told = page.get_by_role("region", name="Deliveries").locator("tbody tr", has_text="sample")
    expect(told).to_contain_text("127.0.0.1 cannot be reached")
    expect(told.locator("[data-status]")).to_have_attribute("data-status", "waiting")
    row.get_by_role("button", name="Edit ops").click()
    dialog.get_by_label("Told by").select_option("mail")
    dialog.get_by_label("Recipients").fill("ops@example.com")
    dialog.get_by_role("button", name="Keep").click()
    expect(row).to_contain_text("mail:ops@example.com with signing")
    row.get_by_role("button", name="Pause ops").click()
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "paused")
    told.get_by_role("button", name="again").click()
    expect(told).to_contain_text("the credential needs 'host' and 'from'")
    page.get_by_label("State of deliveries").select_option("failed")
    expect(page.get_by_text("Nothing was told")).to_be_visible()
    row.get_by_role("button", name="Remove ops", exact=True).click()
    row.get_by_role("button", name="Really remove ops").click()
    expect(page.get_by_text("Nobody is told of anything")).to_be_visible()
    server.call("DELETE", "/credentials/signing")


def test_what_the_server_refuses_is_said_in_the_dialog(
    server: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expect("404")
    page.goto("/notifications")
    page.get_by_role("button", name="New notification").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nobody")
    dialog.get_by_label("Told by").select_option("slack")
    dialog.get_by_label("Credential with").fill("not_there")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog).to_contain_text("There is no credential 'not_there'")


@pytest.mark.parametrize("width", [1440, 390])
def test_what_was_not_delivered_of_a_long_path_stays_readable(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    server.call("PUT", "/credentials/signing", {"secret": "it signs"})
    body = {
        "name": "long",
        "on": ["failed"],
        "path": LONG_PATH,
        "to": "webhook:http://127.0.0.1:9/told",
        "auth": "signing",
    }
    server.call("POST", "/notifications", body)
    begun = server.call("POST", "/executions", {"path": LONG_PATH})["execution_id"]
    server.until(begun, "playbook.processed")
    page = open_page(width)
    page.goto("/notifications")
    row = page.get_by_role("region", name="Deliveries").locator("tbody tr", has_text=LONG_PATH)
    expect(row).to_contain_text("trying again")
    expect(row).to_contain_text("127.0.0.1 cannot be reached")
    why = row.get_by_text("127.0.0.1 cannot be reached").bounding_box()
    assert why is not None
    assert why["width"] > 150
    assert why["x"] + why["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    server.call("DELETE", "/notifications/long")
    server.call("DELETE", "/credentials/signing")
