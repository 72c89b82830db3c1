"""What somebody on call opens the pages for: what waits for an answer, what failed and why, who started it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.books import LONG_QUESTION
from tests.ui.conftest import Server
from tests.ui.test_editor import change, text_of


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
def test_a_label_of_a_playbook_leads_to_its_executions_and_can_be_chosen(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    execution_id, other = server.ran("typed", owner="Ann"), server.ran("edit")
    page = open_page(width)
    page.goto("/playbooks")
    page.get_by_label("Search playbooks").fill("team=shop")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="team=shop").click()
    expect(page.get_by_label("Label", exact=True)).to_have_value("team=shop")
    expect(page.locator(f"a[href='/executions/{execution_id}']:visible")).to_be_visible()
    expect(page.locator(f"a[href='/executions/{other}']")).to_have_count(0)
    page.get_by_label("Label", exact=True).select_option("")
    expect(page.locator(f"a[href='/executions/{other}']:visible")).to_be_visible()


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


def test_from_a_failure_on_home_to_its_item_the_fix_and_the_rerun_takes_four_clicks(
    server: Server, page: Page
) -> None:
    execution_id = server.ran("prices")
    clicks = 0

    def click(target: Locator) -> None:
        nonlocal clicks
        clicks += 1
        target.click()

    page.goto("/")
    failures = page.get_by_role("region", name="Failures")
    click(failures.locator(f"a[href^='/executions/{execution_id}']"))
    panel = page.get_by_role("complementary", name="Step price")
    expect(panel.get_by_role("region", name="Traceback")).to_contain_text("ZeroDivisionError")
    click(panel.get_by_role("button", name="Iterations"))
    item = page.get_by_role("complementary", name="Iteration 1")
    expect(item.get_by_role("region", name="Item")).to_contain_text("id8")
    expect(item.get_by_role("region", name="Traceback")).to_contain_text('order["lines"]')
    click(item.get_by_role("link", name="Fix and rerun"))
    expect(page.get_by_text("You are fixing what failed at price")).to_be_visible()
    expect(text_of(page).locator(".cm-activeLine")).to_contain_text("- step: price")  # it opens there
    change(page, 'result = {"id"', 'result = {"id": order["id"], "mean": sum(order["lines"])}')
    click(page.get_by_role("button", name="Rerun from price"))
    expect(page.locator("main header [data-status]").first).to_have_attribute("data-status", "completed")
    expect(page.locator("[data-step='load']")).to_have_attribute("data-state", "kept")
    assert clicks <= 6


@pytest.mark.parametrize("width", [1280, 390])
def test_a_failure_for_want_of_what_a_loop_did_not_get_leads_to_the_items_that_failed_before_it(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    page = open_page(width)
    page.goto(f"/executions/{server.ran('starved')}")
    expect(page.get_by_role("alert")).to_contain_text("there are no rows")
    earlier = page.get_by_role("note")
    expect(earlier).to_contain_text("3 of 3 iterations of fetch failed before it")
    expect(earlier).to_contain_text("orders: the key was refused")
    earlier.get_by_role("link", name="Look and run them again").click()
    item = page.get_by_role("complementary", name="Iteration 0")
    expect(item.get_by_role("region", name="Item")).to_contain_text("orders")
    page.get_by_role("button", name="Rerun 3 failed").click()
    expect(page.locator("main header")).to_contain_text("goes on from")


def test_an_iteration_shows_its_item_and_what_it_put_out(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('prices')}/loops")
    page.get_by_label("Iteration number").fill("0")
    page.get_by_role("button", name="Go", exact=True).click()
    item = page.get_by_role("complementary", name="Iteration 0")
    expect(item.get_by_role("region", name="Item")).to_contain_text("id7")
    expect(item.get_by_role("region", name="Output")).to_contain_text("3.5")


def test_a_run_is_asked_for_by_a_form_of_the_types_that_the_workload_declares(
    server: Server, page: Page
) -> None:
    page.goto("/playbooks")
    page.get_by_role("button", name="Run ui/typed").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("rows of one page")).to_be_visible()
    expect(
        dialog.get_by_role("heading")
    ).to_be_in_viewport()  # a form longer than the screen begins at its top
    for choice in ("late", "full"):
        dialog.get_by_role("group", name="load").get_by_label(choice).check()
    dialog.get_by_label("region").select_option(label="us")
    dialog.get_by_label("since").fill("2026-02-01")
    run = dialog.get_by_role("button", name="Run", exact=True)
    run.click()
    expect(dialog.get_by_label("owner")).to_be_focused()  # the browser asks for what is required
    dialog.get_by_label("owner").fill("ada")
    run.click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    told = server.get(f"/executions/{page.url.partition('/executions/')[2][:32]}")["workload"]
    told.pop("$schema")
    assert told.pop("load") == ["full", "late"]
    assert told == {"region": "us", "since": "2026-02-01", "limit": 100, "dry": False, "owner": "ada"}


def test_rows_of_sql_are_a_table_and_told_once(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('rows')}/data")
    panel = page.get_by_role("tabpanel", name="data")
    expect(panel.get_by_role("cell", name="second")).to_have_count(1)
    expect(panel).to_contain_text("2 rows changed")


def test_rows_of_sql_that_are_stored_are_a_table_in_pages(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('many_rows')}/data")
    panel = page.get_by_role("tabpanel", name="data")
    expect(panel).to_contain_text("2,000 rows")
    expect(panel.locator("tbody tr")).to_have_count(50)
    panel.get_by_role("button", name="Next").click()
    expect(panel.get_by_role("cell", name="a customer with a name, number 51", exact=True)).to_be_visible()
    expect(panel).to_contain_text("51–100 of 2,000")


def test_what_failed_for_a_child_leads_to_the_child_in_which_it_began(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('grandparent')}")
    page.get_by_role("alert").get_by_role("link", name="Open the child that failed").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("ui/broken")
    expect(page.get_by_role("alert")).to_contain_text("the table is locked")


def test_a_long_question_is_read_whole_before_it_is_answered(
    server: Server, open_page: Callable[..., Page]
) -> None:
    execution_id = asked(server, "ask_long")
    page = open_page(390)
    page.goto("/approvals")
    question = page.get_by_text(LONG_QUESTION)
    question.scroll_into_view_if_needed()
    assert question.evaluate("(text) => getComputedStyle(text).webkitLineClamp") == "none"
    row = page.locator("li", has=question)
    row.get_by_role("button", name="With details").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(LONG_QUESTION)).to_be_visible()
    dialog.get_by_label("reason").fill("it is ready")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog).to_have_count(0)
    server.until(execution_id, "playbook.processed")


def test_playbooks_tell_how_they_went_and_folders_close(server: Server, page: Page) -> None:
    server.ran("says")
    page.goto("/playbooks")
    row = page.locator("tr", has=page.locator("a[href='/playbooks/ui/says']"))
    expect(row.locator("[data-last=failed]")).to_be_visible()
    expect(row.get_by_label("run failed").first).to_be_visible()
    page.get_by_role("button", name=re.compile(r"^ui \d+$")).click()
    expect(row).to_have_count(0)


def test_executions_are_compared_by_choosing_them_from_a_list(server: Server, page: Page) -> None:
    first, second = server.ran("broken"), server.ran("broken")
    page.goto(f"/executions/{first}")
    page.get_by_role("link", name="Compare").last.click()
    page.get_by_label("Second execution", exact=True).click()
    choices = page.get_by_role("listbox")
    expect(choices.locator(f"[title='{first}']")).to_have_count(0)  # it is the other one
    choices.locator(f"[title='{second}']").click()
    expect(page).to_have_url(re.compile(f"a={first}&b={second}"))
    expect(page.get_by_role("region", name="Time of each step")).to_contain_text("second")


def test_what_a_retry_kept_is_said_and_not_compared(server: Server, page: Page) -> None:
    first = server.ran("broken")
    again = server.call("POST", f"/executions/{first}/retry", {})["execution_id"]
    server.until(again, "playbook.processed")
    page.goto(f"/compare?a={first}&b={again}")
    expect(page.locator("main")).to_contain_text("Kept from the execution before, and so not compared: first")
    expect(page.get_by_role("region", name="Time of each step")).not_to_contain_text("first")


def test_a_template_is_typed_as_soon_as_its_box_is_open(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    page.get_by_role("button", name="{{ }} evaluate").click()
    expect(page.get_by_label("Template")).to_be_focused()


def test_on_a_phone_the_graph_has_most_of_the_screen(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('flow')}")
    box = page.locator("[data-graph]").bounding_box()
    assert box is not None
    assert box["y"] < 300
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("button", name="New run")).to_be_visible()
