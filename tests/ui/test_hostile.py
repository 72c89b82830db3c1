"""Strings that would do harm if a page took them for more than text, in every field that a page shows."""

from playwright.sync_api import Page, expect

from tests.ui.books import HOSTILE
from tests.ui.conftest import Complaints, Server

TABS = ("graph", "timeline", "loops", "events", "data", "logs", "why")


def unharmed(page: Page) -> None:
    assert page.evaluate("window.harm") is None
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("body script").count() == 0


def test_every_field_of_an_execution_is_shown_as_text(server: Server, page: Page) -> None:
    execution_id = server.start("hostile", bad=HOSTILE)
    server.until(execution_id, "task.parked")
    page.goto(f"/executions/{execution_id}")
    expect(page.get_by_role("list", name="Waiting")).to_contain_text(HOSTILE)
    unharmed(page)
    page.get_by_role("button", name="With details").click()
    unharmed(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text(HOSTILE)
    for tab in TABS:
        page.get_by_role("tab", name=tab.capitalize()).click()
        expect(page.get_by_role("tabpanel", name=tab)).to_contain_text(TOLD[tab])
        unharmed(page)
    page.goto(f"/executions/{execution_id}?step=start")
    expect(page.get_by_role("complementary", name="Step start")).to_contain_text("<img src=x")
    page.get_by_role("button", name="arc from start to other").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("<script>window.harm=1</script>")
    unharmed(page)
    page.goto(f"/executions/{execution_id}/loops")
    page.get_by_role("button", name="First failed").click()
    expect(page.get_by_role("complementary", name="Iteration 0")).to_contain_text(HOSTILE)
    page.goto(f"/executions/{execution_id}/events?seq=1")
    expect(page.get_by_role("complementary", name="Event 1")).to_contain_text("<script>")
    unharmed(page)


TOLD = {
    "graph": "start",
    "timeline": "start.1",
    "loops": "2 iterations",
    "events": "playbook.execution.requested",
    "data": "<script>",
    "logs": HOSTILE,
    "why": "<script>",
}


def test_what_is_typed_and_what_is_answered_is_shown_as_text(server: Server, page: Page) -> None:
    one, other = server.ran("flow", region=HOSTILE), server.ran("flow")
    page.goto(f"/compare?a={one}&b={other}")
    expect(page.get_by_role("region", name="workload")).to_contain_text("<script>window.harm=1</script>")
    unharmed(page)
    page.goto(f"/executions/{one}")
    page.get_by_role("button", name="{{ }} evaluate").click()
    page.get_by_label("Template").fill("{{ workload.region }}")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("[data-rendered]")).to_contain_text("<script>window.harm=1</script>")
    page.goto(f"/executions?text={HOSTILE}&path={HOSTILE}")
    expect(page.get_by_text("No execution matches")).to_be_visible()
    page.goto("/playbooks/ui/hostile")
    expect(page.locator("[data-step=start]")).to_be_visible()
    unharmed(page)


def test_the_policy_refuses_scripts_and_styles_that_are_not_files_of_the_server(
    server: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expect("Content Security Policy", "404")
    page.goto("/")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.harm=1\">')")
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.harm=1'; document.body.append(s)"
    )
    expect(page.locator("h1")).to_have_text("Home")
    assert page.evaluate("window.harm") is None
    assert any("Content Security Policy" in said for said in complaints.heard)
