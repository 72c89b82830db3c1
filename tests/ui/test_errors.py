"""What failed is never green, and says all that is known of it: in the banner, the panel, the data and the logs."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.conftest import Server
from tests.ui.test_execution import choose


def test_the_panel_of_a_failed_step_shows_the_authors_lines_and_its_input(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('says')}")
    panel = choose(page, "price")
    traceback = panel.get_by_role("region", name="Traceback")
    expect(traceback).to_contain_text('File "price/sum_up", line 6, in main')
    expect(traceback).to_contain_text("ZeroDivisionError: division by zero")
    expect(panel.get_by_role("region", name="Printed last")).to_contain_text("pricing order 7")
    expect(panel.get_by_role("region", name="Rendered input")).to_contain_text("order")
    traceback.get_by_role("button", name="Copy: Traceback").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert 'line["price"] for line in order["lines"]' in copied
    expect(choose(page, "ask").get_by_role("region", name="End of stderr")).to_contain_text(
        "the disk is full"
    )


def test_data_shows_the_place_in_the_sql(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('says')}/data?run=store.1")
    place = page.get_by_role("region", name="SQL, line 2, column 7")
    assert place.locator("pre").inner_text() == " form orders\n      ^"
    expect(page.get_by_role("region", name="Rendered input")).to_contain_text(":memory:")


def test_logs_and_reasons_have_the_traceback_too(server: Server, page: Page) -> None:
    execution_id = server.ran("says")
    page.goto(f"/executions/{execution_id}/logs?step=price")
    expect(page.get_by_label("Log lines")).to_contain_text('File "price/sum_up", line 2, in total')
    page.goto(f"/executions/{execution_id}/logs?text=pricing")
    expect(page.get_by_text("1 line", exact=True)).to_be_visible()
    page.goto(f"/executions/{execution_id}/why")
    page.locator("summary", has_text="SQL, line 2, column 7").click()
    expect(page.get_by_role("region", name="SQL, line 2, column 7")).to_contain_text("form orders")


def test_a_failure_that_nothing_asked_about_is_red_and_says_so(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('says')}")
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("store / store_task")
    expect(banner).to_contain_text("Nothing asked about it: the arc to ask took the failure")
    page.get_by_text("3 failures taken by arcs, 2 unanswered").click()
    rows = page.get_by_role("list", name="Failures").get_by_role("listitem")
    expect(rows.nth(0)).to_contain_text(re.compile("answered.*price.*taken by store"))
    expect(rows.nth(1)).to_contain_text(re.compile("unanswered.*store.*taken by ask"))


def test_failed_iterations_are_amber_and_can_be_retried(server: Server, page: Page) -> None:
    execution_id = server.ran("flawed", rows=200)
    page.goto("/executions?path=ui/flawed")
    row = page.get_by_role("row").filter(has=page.locator(f"[title='{execution_id}']"))
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "flawed")
    expect(row).to_contain_text("completed, 2 failed")
    page.goto(f"/executions/{execution_id}")
    expect(page.get_by_role("alert")).to_contain_text("completed, 2 of 200 iterations failed")
    page.get_by_role("button", name="Retry those 2").click()
    expect(page).not_to_have_url(re.compile(execution_id))
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    again = page.url.partition("/executions/")[2][:32]
    server.until(again, "playbook.processed")
    found = server.get(f"/executions/{again}")
    assert found["retry_of"] == execution_id
    assert found["counts"]["iterations"] == 2


def test_what_waits_has_its_own_word_everywhere(server: Server, page: Page) -> None:
    execution_id = server.start("ask")
    server.until(execution_id, "token.held")
    page.goto(f"/executions/{execution_id}")
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "waiting")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    found = server.get(f"/executions/{execution_id}")
    assert found["steps"]["ask"]["status"] == "waiting"
    runs = {run["run"]: run["status"] for run in server.get(f"/executions/{execution_id}/timeline")["runs"]}
    assert runs["ask.1"] == "waiting"
    page.goto("/executions?status=waiting")
    expect(page.locator(f"[title='{execution_id}']")).to_be_visible()
    expect(page.get_by_label("Status", exact=True)).to_have_value("waiting")
    page.goto("/")
    for status in ("waiting", "stuck"):
        expect(page.locator(f"[data-count='{status}']")).to_have_text(re.compile(r"\d+"))
    server.call("POST", f"/executions/{execution_id}/cancel", {})


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_details_stay_inside_the_page(server: Server, open_page, width: int, theme: str) -> None:
    page = open_page(width, theme)
    page.goto(f"/executions/{server.ran('says')}/data?run=price.1")
    expect(page.get_by_role("region", name="Traceback")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_data_open_at_the_step_that_the_execution_failed_with(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('says')}/data")
    expect(page.get_by_role("button", name="store.1", pressed=True)).to_be_visible()
    expect(page.get_by_role("tabpanel", name="data")).to_contain_text("syntax error")


def test_what_is_stuck_says_why_and_can_be_released(server: Server, page: Page) -> None:
    """A server is made to tell so: to break a log for good would break the others' server."""
    execution_id = server.start("ask")
    server.until(execution_id, "token.held")
    released = []

    def told(route: Route) -> None:
        found = route.fetch().json()
        why = {
            "reason": "log",
            "message": "event 7 cannot be read",
            "since": found["summary"]["requested_at"],
        }
        found["summary"] |= {"status": "stuck", "stuck": {**why, "server": "s1", "engine": "0.9"}}
        route.fulfill(json=found)

    def let_go(route: Route) -> None:
        released.append(route.request.method)
        route.fulfill(status=202, json={"execution_id": execution_id, "status": "waiting"})

    page.route(f"**/executions/{execution_id}/page", told)
    page.route(f"**/executions/{execution_id}/release", let_go)
    page.goto(f"/executions/{execution_id}")
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "stuck")
    expect(page.get_by_role("alert")).to_contain_text("event 7 cannot be read")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_text("released", exact=True)).to_be_visible()
    assert released == ["POST"]
    page.unroute_all(behavior="ignoreErrors")
    server.call("POST", f"/executions/{execution_id}/cancel", {})
