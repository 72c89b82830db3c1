"""Writing playbooks: findings at the right line, completion, versions, and putting a failure right."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.ui.books import EDIT
from tests.ui.conftest import Server


def text_of(page: Page) -> Locator:
    return page.get_by_label("Playbook text")


def change(page: Page, old: str, new: str) -> None:
    """Replace a line of the text that has a part in it, as a person would: at its end, with keys."""
    line = text_of(page).locator(".cm-line", has_text=old).first
    line.click()
    page.keyboard.press("End")
    page.keyboard.press("Shift+Home")
    page.keyboard.type(new)


def test_a_finding_stands_at_its_line_and_leads_there(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/edit?version=1")
    expect(page.locator("[data-errors]")).to_have_attribute("data-errors", "0")
    change(page, "kind: python", "kind: pythn")
    finding = page.locator("[data-finding=unknown-kind]")
    line = EDIT.splitlines().index("      kind: python") + 1
    expect(finding).to_have_attribute("data-line", str(line))
    expect(finding).to_contain_text("python")
    expect(text_of(page).locator(".cm-line").nth(line - 1).locator(".cm-lintRange-error")).to_have_text(
        "pythn"
    )
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    explained = page.get_by_role("link", name="unknown-kind")
    expect(explained).to_have_attribute("href", "/docs/errors/unknown-kind")
    change(page, "kind: pythn", "kind: python")
    expect(page.locator("[data-errors]")).to_have_attribute("data-errors", "0")


def test_the_graph_grows_while_one_types(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/edit?version=1")
    expect(page.locator("[data-step]")).to_have_count(1)
    text_of(page).locator(".cm-line").last.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("  - step: second\n")
    expect(page.locator("[data-step='second']")).to_be_visible()


def test_keys_are_completed_from_the_language(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/edit?version=1")
    expect(page.locator("[data-schema=true]")).to_be_visible()
    text_of(page).locator(".cm-line", has_text="- step: start").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("des")
    expect(page.locator(".cm-completionMatchedText").first).to_have_text("des")  # the list has caught up
    page.locator(".cm-tooltip-autocomplete li", has_text="desc").first.click()
    expect(text_of(page)).to_contain_text("desc:")


def test_a_key_is_explained_on_hover(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/edit?version=1")
    expect(page.locator("[data-schema=true]")).to_be_visible()
    line = text_of(page).locator(".cm-line", has_text="workload:").first
    expect(line).to_be_visible()
    line.locator("span").first.hover()
    expect(page.locator(".cm-hover")).to_contain_text("Defaults that the request is merged over")


def test_there_is_nothing_to_compare_until_the_text_or_a_version_differs(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/signal")
    expect(page.get_by_role("button", name="Diff")).to_be_disabled()
    change(page, "kind: wait", "kind: wait  # for a signal")
    page.get_by_role("button", name="Diff").click()
    expect(page.locator("[data-diff] .cm-changedLine")).to_contain_text("# for a signal")


def test_a_new_version_is_registered_compared_and_run(server: Server, page: Page) -> None:
    page.goto("/playbooks/ui/edit?version=1")
    newest = server.get("/catalog/ui/edit")["version"]
    change(page, 'result = f"hello', f'result = f"number {newest} {{name}}"')
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_label("Version")).to_have_value(str(newest + 1))
    page.get_by_role("button", name="Diff").click()
    expect(page.locator("[data-diff]")).to_contain_text("number")
    expect(page.locator("[data-diff] .cm-deletedChunk")).to_contain_text("hello")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("name", exact=True).fill("Grace")
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "completed")
    page.get_by_role("tab", name="Data").click()
    expect(page.get_by_role("tabpanel")).to_contain_text(f"number {newest} Grace")


def test_what_failed_is_put_right_in_the_editor_and_rerun_from_there(server: Server, page: Page) -> None:
    execution_id = server.ran("broken")
    page.goto(f"/executions/{execution_id}")
    page.get_by_role("link", name="Fix and rerun").click()
    expect(page.get_by_text("You are fixing what failed at second")).to_be_visible()
    expect(page.get_by_text("ValueError: the table is locked")).to_be_visible()
    expect(text_of(page).locator(".cm-activeLine")).to_contain_text("- step: second")  # it opens there
    change(page, "raise ValueError", 'result = "published"')
    page.get_by_role("button", name="Rerun from second").click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "completed")
    expect(page.locator("[data-step='third']")).to_have_attribute("data-state", "done")
    expect(page.locator("[data-step='first']")).to_have_attribute("data-state", "kept")


def test_a_new_playbook_begins_with_one_that_runs(server: Server, page: Page) -> None:
    page.goto("/playbooks")
    page.get_by_role("button", name="New playbook").click()
    expect(page.locator("[data-errors]")).to_have_attribute("data-errors", "0")
    page.get_by_role("button", name="Register").click()
    expect(page).to_have_url(re.compile("/playbooks/my/greeting"))
