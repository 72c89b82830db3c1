"""What is long stays in its place: it takes no room from what stands beside it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.books import LONG_PATH
from tests.ui.conftest import Server

SCROLLED = "element => element.scrollWidth > element.clientWidth"


def ran(server: Server) -> str:
    begun = server.call("POST", "/executions", {"path": LONG_PATH, "workload": {}})
    execution_id = str(begun["execution_id"])
    server.until(execution_id, "playbook.processed")
    return execution_id


def height(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["height"]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_path_leaves_the_lists_as_wide_as_their_window(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    execution_id = ran(server)
    page = open_page(width)
    for place, first in {"/": "Failures", "/executions": "Playbook", "/playbooks": "Playbook"}.items():
        page.goto(place)
        expect(page.locator("main")).to_contain_text(first)
        expect(page.locator(f"main :text('{LONG_PATH}'):visible").first).to_be_visible()
        assert not page.locator("main").evaluate(SCROLLED), place
    page.goto("/playbooks")
    run = page.get_by_role("button", name=f"Run {LONG_PATH}")
    run.scroll_into_view_if_needed()
    assert not run.locator("xpath=ancestor::table/..").evaluate(SCROLLED)
    run.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("word")).to_be_in_viewport()
    expect(dialog.get_by_role("button", name="Close")).to_be_in_viewport()
    assert not dialog.evaluate(SCROLLED)
    page.goto("/executions")
    link = page.locator(f"a[href='/executions/{execution_id}']:visible")
    expect(link).to_have_count(1)  # by its id, or where there is no room for that by its path
    link.click()
    expect(page.locator("h1")).to_contain_text("ui/")


def test_a_long_error_is_shown_in_part_until_all_of_it_is_wanted(server: Server, page: Page) -> None:
    page.goto(f"/executions/{ran(server)}")
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("ValueError")
    short = height(banner)
    banner.get_by_role("button", name="All of it").click()
    expect(banner.get_by_role("button", name="Less")).to_be_visible()
    assert height(banner) > short


def test_the_name_of_a_writer_takes_no_room_from_the_value_it_wrote(server: Server, page: Page) -> None:
    page.goto(f"/executions/{ran(server)}/data")
    value = page.get_by_text('"مرحبا بالعالم"').first
    expect(value).to_be_visible()
    assert height(value) < 30  # on one line


def test_a_log_is_read_without_the_codes_of_a_terminal(server: Server, page: Page) -> None:
    page.goto(f"/executions/{ran(server)}/logs")
    line = page.get_by_label("Log lines")
    expect(line).to_contain_text("red www")
    expect(line).not_to_contain_text("[31m")


def test_the_chosen_tab_is_in_sight_where_there_is_no_room_for_all(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('flow')}/why")
    expect(page.get_by_role("tab", name="Why")).to_be_in_viewport(ratio=0.9)
    page.get_by_role("tab", name="Graph").click()
    expect(page.get_by_role("tab", name="Graph")).to_be_in_viewport(ratio=0.9)
    page.get_by_text("history").click()
    expect(page.get_by_role("list", name="Status history")).to_be_in_viewport(ratio=0.9)
