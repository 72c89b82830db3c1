"""Every page in both themes and both widths, the keyboard, and what a page says when there is nothing."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Complaints, Server

PLACES = {
    "/": "Home",
    "/executions": "Executions",
    "/approvals": "Approvals",
    "/playbooks": "Playbooks",
    "/compare": "Compare",
    "/schedules": "Schedules and triggers",
    "/notifications": "Notifications",
    "/workers": "Workers and pools",
    "/credentials": "Credentials",
    "/tokens": "Tokens",
    "/settings": "Settings",
    "/playbooks/ui/flow": "ui/flow",
}
TABS = ("graph", "timeline", "loops", "events", "data", "logs", "why")


def fits(page: Page) -> bool:
    """Whether nothing makes the page itself wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_opens_and_fits(
    server: Server, open_page: Callable[..., Page], theme: str, width: int
) -> None:
    execution_id = server.ran("flow")
    page = open_page(width, theme)
    for place, heading in PLACES.items():
        page.goto(place)
        expect(page.locator("h1")).to_contain_text(heading)
        assert fits(page), place
    for tab in TABS:
        page.goto(f"/executions/{execution_id}/{tab}")
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
        expect(page.locator("h1")).to_contain_text("ui/flow")
        assert fits(page), tab
    assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_keys_lead_to_pages_and_to_the_search(page: Page) -> None:
    page.goto("/")
    expect(page.locator("h1")).to_have_text("Home")
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.locator("h1")).to_have_text("Executions")
    page.keyboard.press("/")
    expect(page.get_by_label("Search ids and paths")).to_be_focused()
    page.keyboard.type("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Search ids and paths").blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("go to Executions")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog")).to_contain_text("this list")


def test_the_title_and_the_icon_show_the_status(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('broken')}")
    expect(page).to_have_title(re.compile("failed · ui/broken"))
    assert "data:image/svg" in str(page.locator("link[rel=icon]").get_attribute("href"))


def test_the_theme_that_was_chosen_stays(page: Page) -> None:
    page.goto("/settings")
    page.get_by_role("combobox", name="Theme").select_option("dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_an_unknown_execution_is_said_to_be_so(page: Page, complaints: Complaints) -> None:
    complaints.expect("404")
    page.goto(f"/executions/{'0' * 32}")
    expect(page.get_by_role("alert")).to_contain_text("0" * 32)
    page.get_by_role("link", name="All executions").click()
    expect(page.locator("h1")).to_have_text("Executions")


def test_an_unknown_page_is_said_to_be_so(server: Server, page: Page, complaints: Complaints) -> None:
    complaints.expect("404")
    page.goto("/executions")
    page.evaluate("history.pushState(null, '', '/nowhere')")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    answer = page.goto("/nowhere")  # typed into the browser, it is asked of the server
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Home").click()
    expect(page.locator("h1")).to_have_text("Home")


def test_filters_are_kept_in_the_address_and_can_be_shared(
    server: Server, open_page: Callable[..., Page]
) -> None:
    execution_id = server.ran("broken")
    page = open_page()
    page.goto("/executions")
    page.get_by_label("Status").select_option("failed")
    page.get_by_label("Search ids and paths").fill("ui/broken")
    expect(page).to_have_url(re.compile(r"status=failed.*text=ui%2Fbroken|text=ui%2Fbroken.*status=failed"))
    other = open_page()
    other.goto(page.url)
    expect(other.locator(f"a[href='/executions/{execution_id}']:visible")).to_be_visible()
    expect(other.get_by_label("Status")).to_have_value("failed")
    other.get_by_label("Search ids and paths").fill("no such thing")
    expect(other.get_by_text("No execution matches")).to_be_visible()


def test_home_counts_and_leads_into_the_list(server: Server, page: Page) -> None:
    server.ran("broken")
    page.goto("/")
    expect(page.locator("[data-count=failed]")).not_to_have_text("0")
    expect(page.get_by_role("region", name="Failures")).to_contain_text("ui/broken")
    expect(page.get_by_role("region", name="Slowest steps").locator("tbody tr").first).to_be_visible()
    page.locator("a", has=page.locator("[data-count=failed]")).click()
    expect(page).to_have_url(re.compile("status=failed"))


@pytest.mark.parametrize("width", [1280, 390])
def test_workers_show_who_is_alive(open_page: Callable[..., Page], width: int) -> None:
    page = open_page(width)
    page.goto("/workers")
    pool = page.get_by_role("region", name="Pool default")
    expect(pool.locator("tbody tr")).to_have_count(1)
    said = pool.locator(":text('finished'):visible")  # a column's head, or beside the number
    expect(said).to_have_count(1)
    assert not pool.evaluate("element => element.scrollWidth > element.clientWidth")


def test_settings_show_code_as_code(page: Page) -> None:
    page.goto("/settings")
    kinds = page.get_by_role("region", name="Tool kinds")
    expect(kinds.locator("code", has_text="/bin/sh")).to_be_visible()
    expect(kinds).not_to_contain_text("`")


def test_playbooks_say_what_they_do_and_are_found_by_it(page: Page) -> None:
    page.goto("/playbooks")
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text="ui/flow")).to_contain_text("Every way an arc can go")
    page.get_by_label("Search playbooks").fill("EVERY WAY")
    expect(rows).to_have_count(1)


def test_a_credential_is_also_given_as_json(page: Page) -> None:
    page.goto("/credentials")
    page.get_by_role("button", name="Set a credential").click()
    page.get_by_label("Name").fill("nested")
    page.get_by_role("button", name="as JSON").click()
    page.get_by_label("Fields as JSON").fill('{"account": {"key": ')
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("JSON")
    page.get_by_label("Fields as JSON").fill('{"account": {"key": "k"}}')
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("cell", name="nested", exact=True)).to_be_visible()
    page.get_by_role("button", name="Delete nested").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("cell", name="nested", exact=True)).to_have_count(0)


def test_a_credential_goes_in_and_its_value_is_never_shown(server: Server, page: Page) -> None:
    page.goto("/credentials")
    page.get_by_role("button", name="Set a credential").click()
    page.get_by_label("Name").fill("shop_api")
    secret = page.get_by_label("Value of token")
    expect(secret).to_have_attribute("type", "password")
    secret.fill("kept-from-everyone")
    page.get_by_role("button", name="Add a field").click()
    page.get_by_label("Field 2", exact=True).fill("host")
    page.get_by_label("Value of host").fill("shop.example")
    with page.expect_request("**/api/v1/credentials/shop_api") as sent:
        page.get_by_role("button", name="Set", exact=True).click()
    assert sent.value.post_data_json == {"token": "kept-from-everyone", "host": "shop.example"}
    expect(page.get_by_role("cell", name="shop_api", exact=True)).to_be_visible()
    assert "kept-from-everyone" not in page.content()
    page.get_by_role("button", name="Delete shop_api").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("No credential is stored")).to_be_visible()


def test_an_address_that_leads_nowhere_leads_home(server: Server, page: Page, complaints: Complaints) -> None:
    complaints.expect("404")
    page.goto("/nowhere")
    page.get_by_role("main").get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
