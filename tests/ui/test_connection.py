"""A connection that is cut: the page says so, tries again by itself, and catches up."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.ui.conftest import Complaints, Server
from tests.ui.wire import Wire


def test_a_lost_stream_says_so_reconnects_and_catches_up(
    server: Server, open_page: Callable[..., Page], complaints: Complaints
) -> None:
    execution_id = server.start("ask")
    server.until(execution_id, "task.parked")
    complaints.expect("net::ERR")
    wire = Wire(server.url)
    page = open_page(base=wire.url)
    page.goto(f"/executions/{execution_id}")
    link = page.locator("[data-link]")
    expect(link).to_have_attribute("data-link", "live")
    expect(page.locator("[data-step=ask]")).to_have_attribute("data-state", "waiting")
    wire.cut()
    expect(link).to_have_attribute("data-link", "lost")
    expect(link).to_contain_text("connection lost")
    expect(page.locator("[data-step=ask]")).to_have_attribute("data-state", "waiting")
    server.call(
        "POST",
        f"/executions/{execution_id}/signal",
        {"name": "ask", "payload": {"approved": True}},
    )
    server.until(execution_id, "playbook.processed")
    wire.mend()
    expect(page.locator("[data-step=meet]")).to_have_attribute("data-state", "done")
    expect(link).to_have_attribute("data-link", "ended")
    wire.close()


def test_a_list_whose_server_is_gone_says_so_and_keeps_what_it_knows(
    server: Server, open_page: Callable[..., Page], complaints: Complaints
) -> None:
    execution_id = server.ran("edit")
    complaints.expect("net::ERR")
    wire = Wire(server.url)
    page = open_page(base=wire.url)
    page.goto("/executions")
    row = page.locator(f"a[href='/executions/{execution_id}']:visible")
    expect(row).to_be_visible()
    wire.cut()
    expect(page.get_by_text("the server does not answer; trying again")).to_be_visible()
    expect(row).to_be_visible()
    wire.mend()
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()
    wire.close()


def test_every_page_says_that_its_server_is_gone_until_it_is_back(
    server: Server, open_page: Callable[..., Page], complaints: Complaints
) -> None:
    complaints.expect("net::ERR")
    wire = Wire(server.url)
    page = open_page(base=wire.url)
    page.goto("/settings")  # asks for nothing by itself
    expect(page.get_by_role("region", name="This server")).to_contain_text("Version")
    wire.cut()
    page.get_by_role("link", name="Home").click()
    gone = page.get_by_text("the server does not answer; trying again")
    expect(gone).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(gone).to_be_visible()
    wire.mend()
    expect(gone).to_have_count(0)
    wire.close()


def test_what_is_not_known_of_a_playbook_is_not_said_to_be_nothing(
    server: Server, page: Page, complaints: Complaints
) -> None:
    server.ran("edit")
    complaints.expect("net::ERR")
    page.route("**/api/v1/recent", lambda route: route.abort())
    page.goto("/playbooks")
    row = page.locator("tr", has=page.locator("a[href='/playbooks/ui/edit']"))
    expect(row).to_contain_text("–")
    expect(page.get_by_role("main")).not_to_contain_text("not run yet")
    page.unroute_all(behavior="ignoreErrors")
    expect(row.locator("[data-last=completed]")).to_be_visible()
