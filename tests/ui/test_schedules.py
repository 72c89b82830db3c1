"""Schedules and triggers: made, run at once, paused and deleted from the page."""

import re
from collections.abc import Callable
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Complaints, Server


def test_a_schedule_is_made_run_paused_and_deleted(server: Server, page: Page) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly")
    dialog.get_by_label("Playbook").fill("ui/edit")
    dialog.get_by_role("combobox", name="Cron expression").fill("0 3 * * *")
    dialog.get_by_role("button", name="Create").click()
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="nightly")
    expect(row).to_contain_text("0 3 * * *")
    row.get_by_role("button", name="Pause nightly").click()
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "paused")
    row.get_by_role("button", name="Resume nightly").click()
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "done")
    row.get_by_role("button", name="Run nightly now").click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    page.goto("/schedules")
    row.get_by_role("button", name="Delete nightly", exact=True).click()
    row.get_by_role("button", name="Really delete nightly").click()
    expect(page.get_by_text("Nothing is started by the clock")).to_be_visible()


def test_a_schedule_is_edited_in_place_while_its_next_ticks_are_shown(server: Server, page: Page) -> None:
    made = {"name": "edited", "path": "ui/loop", "every_s": 86400, "workload": {"n": 3}, "overlap": "queue"}
    server.call("POST", "/schedules", made)
    page.goto("/schedules")
    page.get_by_role("button", name="Edit edited").click()
    dialog = page.get_by_role("dialog")
    coming = dialog.get_by_role("region", name="Next ticks")
    expect(coming.locator("[data-coming]")).to_have_count(5)
    expect(dialog.get_by_label("n", exact=True)).to_have_value("3")
    expect(dialog.get_by_label("While an earlier tick is not over")).to_have_value("queue")
    dialog.get_by_label("Started by").select_option("cron")
    dialog.get_by_role("combobox", name="Time zone").fill("Europe/Berlin")
    dialog.get_by_role("combobox", name="Cron expression").fill("30 2 1 1,7 *")
    expect(coming).to_contain_text("-07-01 02:30:00 +0200 CEST")
    expect(coming).to_contain_text("clocks go forward before this one")
    expect(coming).to_contain_text("clocks go back before this one")
    dialog.get_by_label("top", exact=True).fill("7")
    dialog.get_by_label("Of ticks missed while no server ran, start").select_option("all")
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="edited")
    expect(row).to_contain_text("30 2 1 1,7 * Europe/Berlin")
    kept = server.get("/schedules/edited")
    assert (kept["workload"], kept["overlap"], kept["catch_up"]) == ({"n": 3, "top": 7}, "queue", "all")
    assert (kept["cron"], kept["every_s"], kept["enabled"]) == ("30 2 1 1,7 *", None, True)
    server.call("DELETE", "/schedules/edited")


def test_a_backfill_is_begun_after_it_was_shown_what_it_would_start(server: Server, page: Page) -> None:
    server.call("POST", "/schedules", {"name": "daily", "path": "ui/edit", "cron": "0 3 * * *"})
    once = {"schedule": "daily", "from": "2026-01-02T00:00", "to": "2026-01-02T12:00"}
    first = server.call("POST", "/backfills", once)["id"]
    page.goto("/schedules")
    backfills = page.get_by_role("region", name="Backfills")
    expect(backfills.locator(f"[data-ticks='{first}'] [data-tick=completed]")).to_have_count(1)
    page.get_by_role("button", name="Backfill daily").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-01-01T00:00")
    dialog.get_by_label("To").fill("2026-01-03T12:00")
    dialog.get_by_label("Executions at a time").fill("2")
    dialog.get_by_role("button", name="Show what it would start").click()
    planned = dialog.locator("[data-planned]")
    expect(planned).to_have_count(3)
    expect(planned.nth(1)).to_contain_text("2026-01-02 03:00:00 UTC")
    expect(planned.nth(1).get_by_role("link")).to_be_visible()
    expect(planned.nth(2)).to_contain_text("would be started")
    dialog.get_by_role("button", name="Start 2").click()
    row = backfills.locator("tbody tr", has_text="3 completed")
    expect(row.locator("[data-tick=completed]")).to_have_count(3)
    newest = server.get("/backfills")["items"][0]
    assert (newest["parallel"], newest["total"]) == (2, 3)
    server.call("DELETE", "/schedules/daily")


def test_ticks_that_started_nothing_are_told_with_how_many_and_why(server: Server, page: Page) -> None:
    server.call("POST", "/schedules", {"name": "hourly", "path": "ui/edit", "every_s": 3600})
    server.let_pass("hourly", hours=4)
    page.goto("/schedules")
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="hourly")
    expect(row).to_contain_text("3 ticks were skipped")
    expect(row).to_contain_text("a later tick was due as well, and only the last of them counts")
    expect(row).not_to_contain_text("so far")
    server.let_pass("hourly", hours=3)
    expect(row).to_contain_text("2 ticks were skipped")
    expect(row).to_contain_text("5 so far")
    page.goto("about:blank")  # a page that still asks for the ticks would be told that there are none
    server.call("DELETE", "/schedules/hourly")


def test_ticks_are_shown_one_by_one_with_what_became_of_each(server: Server, page: Page) -> None:
    server.call("POST", "/schedules", {"name": "strip", "path": "ui/edit", "every_s": 3600})
    server.let_pass("strip", hours=4)
    page.goto("/schedules")
    strip = page.locator("[data-ticks=strip]")
    expect(strip.locator("[data-tick=skipped]")).to_have_count(3)
    expect(strip.locator("[data-tick=skipped]").first).to_have_attribute("title", re.compile("later tick"))
    strip.locator("a[data-tick]").click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    server.call("DELETE", "/schedules/strip")


def test_a_tick_whose_execution_waits_is_not_shown_as_one_that_runs_nor_as_one_to_come(
    server: Server, page: Page
) -> None:
    span = {"from": "2026-01-01T00:00Z", "to": "2026-01-01T02:00Z"}
    made = server.call("POST", "/backfills", {"path": "ui/late", "every_s": 3600, **span})
    page.goto("/schedules")
    row = page.get_by_role("region", name="Backfills").locator("tbody tr", has_text="ui/late")
    expect(row).to_contain_text("1 waiting, 2 planned of 3")
    strip = page.locator(f"[data-ticks='{made['id']}']")
    expect(strip.locator("a[data-tick=waiting]")).to_have_count(1)
    expect(strip.locator("[data-tick=planned]")).to_have_count(2)
    colours = strip.locator("[data-tick]").evaluate_all(
        "marks => marks.map(mark => getComputedStyle(mark).backgroundColor)"
    )
    running = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--running')")
    assert len({*colours, running}) == 3
    server.call("POST", f"/backfills/{made['id']}/cancel")
    for item in server.get("/executions?path=ui/late&status=waiting")["items"]:
        server.call("POST", f"/executions/{item['execution_id']}/cancel", {})


def test_a_backfill_is_watched_paused_and_cancelled(server: Server, page: Page) -> None:
    span = {"from": "2026-01-01T00:00Z", "to": "2026-01-04T00:00Z"}
    made = server.call("POST", "/backfills", {"path": "ui/edit", "every_s": 3600, **span})
    server.call("POST", f"/backfills/{made['id']}/pause")
    page.goto("/schedules")
    row = page.get_by_role("region", name="Backfills").locator("tbody tr", has_text="ui/edit")
    expect(row).to_contain_text("of 73")
    row.get_by_role("button", name="Resume the backfill of ui/edit").click()
    row.get_by_role("button", name="Cancel the backfill of ui/edit").click()
    expect(row.locator("[data-status]").first).to_have_attribute("data-status", "cancelled")
    expect(row).to_contain_text("cancelled")


@pytest.mark.parametrize(
    ("name", "tick", "told"),
    [("flawed", "completed", "completed, 12 iterations failed"), ("broken", "failed", "failed")],
)
def test_a_backfill_that_left_something_undone_is_not_green_and_leads_to_what_it_started(
    server: Server, page: Page, name: str, tick: str, told: str
) -> None:
    span = {"from": "2026-02-01T00:00", "to": "2026-02-01T00:30", "every_s": 3600}
    made = server.call("POST", "/backfills", {"path": f"ui/{name}", **span})
    page.goto("/schedules")
    row = page.locator("tr", has=page.locator(f"[data-ticks='{made['id']}']"))
    expect(row).to_contain_text(f"1 {tick} of 1")
    expect(row.locator(f"[data-tick={tick}]")).to_have_count(1)
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "flawed")
    mark = row.locator(f"[data-tick={tick}]")
    expect(mark).to_have_attribute("title", re.compile(told))
    row.get_by_role("link", name=f"ui/{name}").click()
    expect(page.get_by_label("Started by")).to_have_value(f"backfill {made['id']}")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_tick_that_nobody_was_there_for_is_told_once(server: Server, page: Page) -> None:
    server.call(
        "POST", "/schedules", {"name": "strict", "path": "ui/edit", "every_s": 86400, "catch_up": "skip"}
    )
    server.let_pass("strict", hours=25)
    page.goto("/schedules")
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="strict")
    expect(row.get_by_text("was skipped: nothing started it in time")).to_have_count(1)
    server.call("DELETE", "/schedules/strict")


def test_the_workload_of_a_schedule_is_filled_in_as_the_playbook_declares_it(
    server: Server, page: Page
) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Choose a playbook")
    dialog.get_by_label("Name").fill("by_form")
    dialog.get_by_label("Playbook").fill("ui/loop")
    expect(dialog.get_by_label("top", exact=True)).to_have_value("100")
    dialog.get_by_label("n", exact=True).fill("3")
    dialog.get_by_role("button", name="Create").click()
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="by_form")
    expect(row).to_be_visible()
    assert server.get("/schedules/by_form")["workload"] == {"n": 3}  # the rest follows the playbook
    server.call("DELETE", "/schedules/by_form")


def test_a_playbook_without_a_workload_is_said_to_have_none_and_asks_for_nothing(
    server: Server, page: Page
) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    fields = dialog.get_by_role("textbox")
    expect(fields).to_have_count(1)  # its name; what has suggestions is no mere box
    dialog.get_by_label("Playbook").fill("ui/ask")
    expect(dialog).to_contain_text("This playbook declares no workload")
    expect(fields).to_have_count(1)
    dialog.get_by_role("button", name="Give one as JSON").click()
    expect(dialog.get_by_label("workload as JSON")).to_be_visible()
    expect(dialog).not_to_contain_text("declares no workload")


def test_the_workload_of_a_trigger_is_also_given_as_json(server: Server, page: Page) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New trigger").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("by_json")
    dialog.get_by_label("Key of the workload that gets the message").fill("top")
    dialog.get_by_label("Playbook").fill("ui/loop")
    expect(dialog.get_by_label("n", exact=True)).to_have_value("10000")
    expect(dialog.get_by_label("top", exact=True)).to_have_count(0)  # the message is put there
    dialog.get_by_role("button", name="as JSON").click()
    dialog.get_by_label("workload as JSON").fill('{"n": 4, "more": [1]}')
    dialog.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="I have it").click()
    assert server.get("/triggers/by_json")["workload"] == {"n": 4, "more": [1]}
    server.call("DELETE", "/triggers/by_json")


def test_a_trigger_is_edited_in_place_and_keeps_what_is_not_changed(server: Server, page: Page) -> None:
    made = {"name": "ends", "kind": "playbook", "path": "ui/loop", "after": ["ui/edit"], "workload": {"n": 3}}
    server.call("POST", "/triggers", {**made, "batch": {"max": 5, "within": "10s"}, "as": "ended"})
    page.goto("/schedules")
    page.get_by_role("button", name="Edit ends").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).not_to_be_editable()
    expect(dialog.get_by_label("Started by")).to_be_disabled()
    expect(dialog.get_by_label("n", exact=True)).to_have_value("3")
    dialog.get_by_label("Ends of").fill("ui/edit, ui/t*")
    dialog.get_by_label("Ends as").select_option("both")
    dialog.get_by_label("Together up to").fill("7")
    dialog.get_by_label("Only what this holds for").fill("{{ trigger.payload.status == 'failed' }}")
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("region", name="Triggers").locator("tbody tr", has_text="ends")
    expect(row).to_contain_text("completed or failed: ui/edit or ui/t*")
    expect(row).to_contain_text("batch of up to 7 within 10s")
    kept = server.get("/triggers/ends")
    assert (kept["after"], kept["on"], kept["as"]) == (["ui/edit", "ui/t*"], ["completed", "failed"], "ended")
    assert (kept["batch"], kept["workload"]) == ({"max": 7, "within": "10s"}, {"n": 3})
    server.call("DELETE", "/triggers/ends")


def test_a_webhook_that_is_edited_keeps_its_secret(server: Server, page: Page) -> None:
    secret = server.call("POST", "/triggers", {"name": "keeps", "kind": "webhook", "path": "ui/edit"})[
        "secret"
    ]
    page.goto("/schedules")
    page.get_by_role("button", name="Edit keeps").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key of the workload that gets the message").fill("order")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Triggers")).to_contain_text("workload.order")
    expect(dialog).to_have_count(0)
    hook = Request(f"{server.url}/api/v1/hooks/keeps", b"1", {"X-Noetl-Secret": secret}, method="POST")
    hook.add_header("Content-Type", "application/json")
    with urlopen(hook, timeout=60) as answer:
        assert answer.status == 202
    server.call("DELETE", "/triggers/keeps")


def test_a_trigger_on_objects_is_made_on_the_page(server: Server, page: Page) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New trigger").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("drop")
    dialog.get_by_label("Started by").select_option("object")
    dialog.get_by_label("Place").fill(str(server.folder / "inbox"))
    dialog.get_by_label("Looked at every").fill("1h")
    dialog.get_by_label("Playbook").fill("ui/edit")
    dialog.get_by_role("button", name="Create").click()
    row = page.get_by_role("region", name="Triggers").locator("tbody tr", has_text="drop")
    expect(row).to_contain_text("every 1h")
    assert server.get("/triggers/drop")["source"] == str(server.folder / "inbox")
    server.call("DELETE", "/triggers/drop")


def test_a_schedule_is_steered_on_a_phone(server: Server, open_page: Callable[..., Page]) -> None:
    server.call("POST", "/schedules", {"name": "n" * 60, "path": "ui/edit", "every_s": 86400})
    page = open_page(390)
    page.goto("/schedules")
    row = page.get_by_role("region", name="Schedules").locator("tbody tr", has_text="nnn")
    for action in ("Run", "Pause", "Delete"):
        expect(row.get_by_role("button", name=action)).to_be_in_viewport(ratio=1)
    row.get_by_role("button", name="Delete").click()
    row.get_by_role("button", name="Really delete").click()
    expect(row).to_have_count(0)


def test_a_cron_expression_that_is_none_is_refused_where_it_was_written(
    server: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expect("400", "422")
    page.goto("/schedules")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("never")
    dialog.get_by_label("Playbook").fill("ui/edit")
    dialog.get_by_role("combobox", name="Cron expression").fill("at noon")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("at noon")


def test_the_secret_of_a_webhook_is_shown_once(server: Server, page: Page) -> None:
    page.goto("/schedules")
    page.get_by_role("button", name="New trigger").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("shop_order")
    dialog.get_by_label("Playbook").fill("ui/edit")
    dialog.get_by_role("button", name="Create").click()
    secret = page.locator("[data-secret]").inner_text()
    assert len(secret) >= 16
    page.get_by_role("button", name="I have it").click()
    row = page.get_by_role("region", name="Triggers").locator("tbody tr", has_text="shop_order")
    expect(row).to_contain_text("POST /api/v1/hooks/shop_order")
    page.reload()
    expect(row).to_be_visible()
    assert secret not in page.content()
    row.get_by_role("button", name="Delete shop_order", exact=True).click()
    row.get_by_role("button", name="Really delete shop_order").click()
    expect(page.get_by_text("Nothing is started by a message")).to_be_visible()
