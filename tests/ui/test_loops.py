"""Ten thousand iterations in one picture."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.ui.conftest import Server

CELL = 14  # a cell and its gap


def test_ten_thousand_iterations_open_scroll_and_lead_to_each_of_them(server: Server, page: Page) -> None:
    execution_id = server.ran("loop")
    page.goto(f"/executions/{execution_id}/loops")
    counts = page.locator("[data-counts]")
    expect(counts).to_contain_text("10,000 iterations")
    told = json.loads(str(counts.get_attribute("data-counts")))
    assert told == {"queued": 0, "running": 0, "done": 9989, "failed": 11, "kept": 0}

    heat = page.locator("[data-heat-map]")
    columns = int(str(heat.get_attribute("data-columns")))
    box = page.locator("[data-heat-map] canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 3 * CELL + 5, box["y"] + 1 * CELL + 5)
    expect(page.get_by_role("tooltip")).to_contain_text(str(columns + 3))

    page.get_by_role("button", name="First failed").click()
    expect(page.get_by_role("complementary", name="Iteration 0")).to_contain_text("failed")
    page.get_by_label("Iteration number").fill("9970")
    page.get_by_role("button", name="Go").click()
    last = page.get_by_role("complementary", name="Iteration 9970")
    expect(last).to_contain_text("template")
    assert heat.evaluate("element => element.scrollTop") > 0
    heat.press("ArrowRight")
    expect(page.get_by_role("complementary", name="Iteration 9971")).to_contain_text("done")
    heat.press("ArrowLeft")
    page.get_by_role("button", name="Its events").click()
    expect(page.get_by_role("table", name="Events")).to_contain_text("loop.iteration.failed")
    expect(page).to_have_url(re.compile("iteration=9970"))


def test_loops_of_ten_thousand_are_compared_step_by_step_and_their_items_on_demand(
    server: Server, page: Page
) -> None:
    one, other = server.ran("loop"), server.ran("loop", top=200)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"/compare?a={one}&b={other}")
    outputs = page.get_by_role("region", name="Outputs")
    many = outputs.locator("details")
    expect(many).to_contain_text("each 2,029 differences")
    expect(page.get_by_role("region", name="Time of each step").locator("tbody tr")).to_have_count(1)
    expect(outputs.locator("tr")).to_have_count(0)
    many.locator("summary").click()
    expect(outputs.locator("tr")).to_have_count(100)
    expect(outputs).to_contain_text("each[1]100200")
    expect(outputs).to_contain_text("and 1,929 more")
    assert not [url for url in asked if re.search("/(events|found|log|page|timeline)", url)]


def test_the_log_of_a_large_loop_scrolls_to_its_end(server: Server, page: Page) -> None:
    execution_id = server.ran("loop")
    total = server.get(f"/executions/{execution_id}")["counts"]["events"]
    page.goto(f"/executions/{execution_id}/events")
    rows = page.get_by_role("table", name="Events")
    expect(rows).to_have_attribute("aria-rowcount", str(total))
    rows.evaluate("element => { element.scrollTop = element.scrollHeight }")
    expect(rows).to_contain_text("playbook.processed")
    assert page.locator("[role=row]").count() < 100


def test_only_the_failed_iterations_run_again(server: Server, page: Page) -> None:
    execution_id = server.ran("loop", n=2000)
    page.goto(f"/executions/{execution_id}/loops")
    page.get_by_role("button", name="Rerun 3 failed").click()
    expect(page).not_to_have_url(re.compile(execution_id))
    counts = page.locator("[data-counts]")
    expect(counts).to_contain_text("1,997 kept")
    expect(counts).to_contain_text("3 failed")


def test_a_loop_moves_on_the_graph_while_it_runs(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
    execution_id = server.start("loop", n=20000)
    page.goto(f"/executions/{execution_id}")
    bar = page.locator("[data-step=each] [data-loop]")
    expect(bar).to_be_visible()
    expect(bar).to_have_attribute("data-loop", "19979/21/0/0")
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "flawed")


def test_a_loop_that_is_over_runs_nothing_any_more(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('cut_off')}/loops")
    counts = page.locator("[data-counts]")
    expect(counts).to_contain_text("2 cut off")
    expect(counts).to_contain_text("2 not begun")
    expect(counts).not_to_contain_text("running")
    page.get_by_label("Iteration number").fill("1")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.get_by_role("complementary", name="Iteration 1")).to_contain_text("cancelled")
