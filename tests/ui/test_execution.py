"""One execution, looked at and steered: what the graph, the tabs and the actions show of a real run."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import Complaints, Server


def step(page: Page, name: str) -> Locator:
    return page.locator(f"[data-step='{name}']")


def arc(page: Page, name: str) -> Locator:
    return page.locator(f"[data-arc='{name}']")


def choose(page: Page, name: str) -> Locator:
    """Click a step of the graph; its panel."""
    step(page, name).click()
    return page.get_by_role("complementary", name=f"Step {name}")


def test_a_run_is_started_from_a_form_and_watched_to_its_end(server: Server, page: Page) -> None:
    page.goto("/playbooks")
    page.get_by_role("button", name="Run ui/flow").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("region").fill("us")
    dialog.get_by_label("count").fill("3")
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page).to_have_url(re.compile(r"/executions/[0-9a-f]{32}"))
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "completed")
    expect(step(page, "never")).to_have_attribute("data-state", "done")
    expect(step(page, "tiny")).to_have_attribute("data-state", "done")
    execution_id = page.url.partition("/executions/")[2][:32]
    assert server.get(f"/executions/{execution_id}")["workload"] == {
        "region": "us",
        "count": 3,
        "strict": True,
    }


def test_steps_and_arcs_show_what_became_of_them(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    for name, state in {
        "start": "done",
        "right": "done",
        "never": "idle",
        "gated": "refused",
        "large": "idle",
    }.items():
        expect(step(page, name)).to_have_attribute("data-state", state)
    expect(step(page, "right").locator("[data-loop]")).to_have_attribute("data-loop", "5/0/0/0")
    states = {
        "start->left": "taken",
        "start->never": "not_taken",
        "start->gated": "refused",
        "meet->tiny": "not_asked",
    }
    for name, state in states.items():
        expect(arc(page, name)).to_have_attribute("data-arc-state", state)


def test_an_arc_tells_its_guard_and_what_it_saw(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    page.get_by_role("button", name="arc from meet to large").hover()
    card = page.get_by_role("tooltip")
    expect(card).to_contain_text("not taken: its guard did not hold")
    expect(card).to_contain_text("ctx.rows > 100")
    expect(card).to_contain_text("ctx.rows12")
    page.get_by_role("button", name="arc from start to gated").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("refused by admission (else)")


TWO_EXPRESSIONS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: guards, path: ui/guards}
workload: {a: 1, b: 2}
workflow:
  - step: ask
    next: {arcs: [{step: go, when: "{{ workload.a }} and {{ workload.b }}"}]}
  - step: go
"""


def test_a_guard_that_is_more_than_one_expression_keeps_its_braces(server: Server, page: Page) -> None:
    begun = server.call("POST", "/executions", {"playbook": TWO_EXPRESSIONS})
    server.until(begun["execution_id"], "playbook.processed")
    page.goto(f"/executions/{begun['execution_id']}")
    label = page.get_by_role("button", name="arc from ask to go")
    expect(label).to_contain_text("{{ workload.a }} and {{ workload.b }}")


def test_a_step_tells_why_in_words(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    panel = choose(page, "never")
    expect(panel).to_contain_text("never ran")
    expect(panel).to_contain_text(
        "the arc to 'never' was not taken: its condition did not hold (workload.region = \"eu\")"
    )
    panel = choose(page, "gated")
    expect(panel).to_contain_text("is refused: the `else` of its admission refuses it")
    page.get_by_role("tab", name="Why").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("it completed: no token was left to move")
    page.get_by_role("tabpanel").get_by_role("button", name="1", exact=True).click()
    expect(page.get_by_role("complementary", name="Event 1")).to_contain_text("playbook.execution.requested")


def test_a_step_leads_to_what_it_put_out(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    choose(page, "left").get_by_role("button", name="Output").click()
    panel = page.get_by_role("tabpanel", name="data")
    expect(panel.get_by_role("button", name="left.1", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_role("cell", name="row 11")).to_be_visible()


def test_a_step_is_opened_with_the_keyboard(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}")
    page.get_by_role("group", name="step meet, done").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Step meet")).to_be_visible()


def test_a_held_token_is_marked_and_an_approval_lets_it_go_on_live(server: Server, page: Page) -> None:
    execution_id = server.start("ask")
    server.until(execution_id, "task.parked")
    page.goto(f"/executions/{execution_id}")
    expect(page.locator("[data-link]")).to_have_attribute("data-link", "live")
    expect(step(page, "ask")).to_have_attribute("data-state", "waiting")
    expect(step(page, "meet").locator("[data-held]")).to_contain_text("1 held, waits for ask")
    expect(step(page, "ask")).to_contain_text(re.compile(r"\d+ (ms|s|min)"))  # for how long, and it grows
    panel = choose(page, "meet")
    expect(panel).to_contain_text("holds a token")
    expect(panel).to_contain_text("another token may still come from ask")
    page.get_by_role("button", name="Approve").click()
    expect(step(page, "meet")).to_have_attribute("data-state", "done")
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "completed")
    expect(page.locator("[data-link]")).to_have_attribute("data-link", "ended")
    expect(page).to_have_title(re.compile("completed"))
    outputs = {one["run"]: one["data"] for one in server.get(f"/executions/{execution_id}/data")["outputs"]}
    assert outputs["ask.1"] == {"approved": True, "by": "operator"}


def test_what_takes_longer_than_its_playbook_expects_is_marked_while_one_looks(
    server: Server, page: Page
) -> None:
    execution_id = server.start("late")
    page.goto(f"/executions/{execution_id}")
    expect(page.locator("header [data-late]")).to_contain_text("late by")
    page.goto("/executions?path=ui/late&status=waiting")
    expect(page.get_by_role("row").filter(has_text="late").locator("[data-late]").first).to_be_visible()
    page.goto(f"/executions/{server.ran('flow')}")
    expect(page.get_by_role("tabpanel")).to_be_visible()
    expect(page.locator("header [data-late]")).to_have_count(0)
    server.call("POST", f"/executions/{execution_id}/cancel", {})


def test_rows_show_labels_and_a_click_on_one_narrows_the_list(server: Server, page: Page) -> None:
    gold, shop = server.start("late"), server.ran("typed", owner="ann")
    page.goto("/executions?within=1h")
    row = page.get_by_role("row").filter(has=page.locator(f"[title='{gold}']"))
    expect(row.get_by_role("list", name="Labels").get_by_role("listitem")).to_have_text(
        ["team=ops", "tier=gold"]
    )
    row.get_by_role("button", name="tier=gold").click()
    expect(page).to_have_url(re.compile("within=1h.*label=tier%3Dgold"))
    expect(page.locator(f"[title='{gold}']")).to_be_visible()
    expect(page.locator(f"[title='{shop}']")).to_have_count(0)
    server.call("POST", f"/executions/{gold}/cancel", {})


def test_a_signal_is_answered_with_the_form_of_its_schema(server: Server, page: Page) -> None:
    execution_id = server.start("signal")
    server.until(execution_id, "task.parked")
    page.goto(f"/executions/{execution_id}")
    page.get_by_role("button", name="Answer").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("size").select_option(label="large")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_label("count")).to_be_focused()  # nobody has given it yet
    dialog.get_by_label("count").fill("7")
    dialog.get_by_role("button", name="Send").click()
    server.until(execution_id, "playbook.processed")
    assert server.get(f"/executions/{execution_id}")["ctx"] == {"order": {"size": "large", "count": 7}}
    page.get_by_role("tab", name="Data").click()
    expect(page.get_by_role("tabpanel")).to_contain_text('size"large"')


def test_pause_resume_and_cancel_change_the_status_at_once(server: Server, page: Page) -> None:
    execution_id = server.start("slow")
    server.until(execution_id, "task.parked")
    page.goto(f"/executions/{execution_id}")
    status = page.locator("header [data-status]").first
    page.get_by_role("button", name="Pause").click()
    expect(status).to_have_attribute("data-status", "paused")
    page.get_by_role("button", name="Resume").click()
    expect(status).to_have_attribute("data-status", "waiting")
    page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Let it run").click()
    expect(dialog).to_have_count(0)
    expect(status).to_have_attribute("data-status", "waiting")
    page.get_by_role("button", name="Cancel").click()
    expect(dialog.get_by_label("Why")).to_be_focused()
    page.keyboard.type("the shop is closed")
    page.keyboard.press("Enter")
    expect(status).to_have_attribute("data-status", "cancelled")
    expect(step(page, "start")).to_have_attribute("data-state", "cancelled")  # it has not failed of itself
    expect(page.get_by_role("button", name="Go on from here")).to_be_visible()
    page.get_by_text("history").click()
    history = page.get_by_role("list", name="Status history")
    expect(history).to_contain_text("paused")
    expect(history).to_contain_text("the shop is closed")


def test_a_failed_execution_is_retried_as_a_new_one(server: Server, page: Page) -> None:
    execution_id = server.ran("broken")
    page.goto(f"/executions/{execution_id}")
    expect(page.get_by_role("alert")).to_contain_text("the table is locked")
    page.get_by_role("button", name="Retry from failure").click()
    expect(page).not_to_have_url(re.compile(execution_id))
    expect(page.locator("main header")).to_contain_text("goes on from")
    made = page.url.partition("/executions/")[2][:32]
    assert server.get(f"/executions/{made}")["retry_of"] == execution_id


def test_rerun_begins_at_the_step_that_is_chosen(server: Server, page: Page) -> None:
    execution_id = server.ran("flow")
    page.goto(f"/executions/{execution_id}")
    choose(page, "meet").get_by_role("button", name="Rerun from here").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Step")).to_have_value("meet")
    dialog.get_by_role("button", name="Rerun", exact=True).click()
    expect(page).not_to_have_url(re.compile(execution_id))
    expect(page.locator("header [data-status]").first).to_have_attribute("data-status", "completed")
    expect(step(page, "meet")).to_have_attribute("data-state", "done")
    expect(step(page, "left")).to_have_attribute("data-state", "kept")


def test_the_same_input_opens_as_a_new_run(server: Server, page: Page) -> None:
    execution_id = server.ran("flow", count=2)
    page.goto(f"/executions/{execution_id}")
    page.get_by_role("button", name="New run").click()
    expect(page.get_by_role("dialog").get_by_label("count")).to_have_value("2")
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    expect(page).not_to_have_url(re.compile(execution_id))


def test_several_are_cancelled_and_several_retried_at_once(server: Server, page: Page) -> None:
    waiting = [server.start("slow") for _ in range(2)]
    failed = server.ran("broken")
    for execution_id in waiting:
        server.until(execution_id, "task.parked")
    page.goto("/executions")
    for execution_id in [*waiting, failed]:
        page.get_by_label(f"Choose {execution_id}").check()
    page.get_by_role("button", name="Cancel 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel all 2").click()
    expect(page.get_by_text("2 of 2 cancelled")).to_be_visible()
    row = page.locator("tr", has=page.locator(f"a[href='/executions/{waiting[0]}']"))
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "cancelled")
    page.get_by_label(f"Choose {failed}").check()
    page.get_by_role("button", name="Retry 1").click()
    expect(page.get_by_text("1 of 1 retried")).to_be_visible()
    expect(page.get_by_role("link", name="goes on from").first).to_be_visible()


def test_time_travel_shows_the_state_at_an_event_and_evaluates_there(
    server: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expect("400")  # of the template that cannot be evaluated
    execution_id = server.ran("flow")
    done = next(
        e["seq"]
        for e in server.get(f"/executions/{execution_id}/events")["items"]
        if e["name"] == "ctx.patched"
    )
    page.goto(f"/executions/{execution_id}?at={done - 1}")
    expect(page.locator("[data-seq]")).to_have_attribute("data-seq", str(done - 1))
    expect(step(page, "meet")).to_have_attribute("data-state", "idle")
    page.get_by_role("button", name="{{ }} evaluate").click()
    page.get_by_label("Template").fill("{{ ctx.rows | default('none yet') }}")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("[data-rendered]")).to_contain_text("none yet")
    page.get_by_role("button", name="One event on").click()
    expect(page.locator("[data-rendered]")).to_contain_text("12")
    page.get_by_role("slider", name="Event").press("Home")
    expect(page.locator("[data-seq]")).to_have_attribute("data-seq", "1")
    expect(step(page, "start")).to_have_attribute("data-state", "idle")
    page.get_by_role("button", name="To the end").click()
    expect(step(page, "meet")).to_have_attribute("data-state", "done")
    page.get_by_label("Template").fill("{{ no_such_thing }}")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("[data-rendered]").get_by_role("alert")).to_contain_text("no_such_thing")


def test_the_timeline_has_runs_attempts_and_the_critical_path(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('broken')}/timeline")
    expect(page.locator("[data-run='first.1']")).to_have_attribute("data-critical", "true")
    expect(page.get_by_text("publish attempt 2")).to_be_visible()
    page.get_by_role("button", name="Tasks of second.1").click()
    expect(page.get_by_text("publish attempt 2")).to_have_count(0)
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="All").click()
    page.get_by_role("button", name="second.1", exact=True).click()
    expect(page.get_by_role("complementary", name="Step second")).to_be_visible()


def test_a_loop_unfolds_into_its_iterations_on_the_timeline(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}/timeline")
    page.get_by_role("button", name="Iterations of right.1").click()
    expect(page.get_by_role("img", name=re.compile("5 iterations of right.1 in [12] lanes"))).to_be_visible()
    page.get_by_role("button", name="each of 5 iterations").click()
    expect(page.locator("[data-counts]")).to_contain_text("5 iterations")


def test_events_are_filtered_opened_copied_and_exported(server: Server, page: Page) -> None:
    execution_id = server.ran("flow")
    page.goto(f"/executions/{execution_id}/events")
    rows = page.get_by_role("table", name="Events")
    expect(rows).to_contain_text("playbook.execution.requested")
    page.get_by_label("Event name").fill("next.*")
    matching = server.get(f"/executions/{execution_id}/events?name=next.*")["items"]
    expect(page.get_by_text(f"{len(matching)} match")).to_be_visible()
    page.get_by_label("Step", exact=True).fill("meet")
    expect(page.get_by_text("1 match")).to_be_visible()
    rows.get_by_text("next.evaluated").click()
    detail = page.get_by_role("complementary", name=re.compile("Event"))
    detail.get_by_role("button", name="Raw").click()
    expect(detail.locator("pre")).to_contain_text('"name": "next.evaluated"')
    detail.get_by_role("button", name="Copy").click()
    expect(detail.get_by_role("button", name="Copied")).to_be_visible()
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["name"] == "next.evaluated"
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export").click()
    lines = saved.value.path().read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))


def test_a_page_that_came_over_plain_http_copies_too(server: Server, page: Page) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    execution_id = server.ran("edit")
    page.goto(f"/executions/{execution_id}/events")
    page.get_by_role("button", name="Copy the id").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.get_by_label("Search in events").click()
    page.keyboard.press("Control+V")
    expect(page.get_by_label("Search in events")).to_have_value(execution_id)


def test_data_names_the_event_that_wrote_each_key(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}/data")
    panel = page.get_by_role("tabpanel")
    panel.get_by_role("button", name="left.1", exact=True).click()
    expect(panel.get_by_role("cell", name="row 11")).to_be_visible()
    panel.get_by_role("button", name="plot").click()
    expect(panel.get_by_role("img", name="plot of id, score")).to_be_visible()
    panel.get_by_role("button", name=re.compile(r"event \d+ · left.1")).first.click()
    expect(page.get_by_role("complementary", name=re.compile("Event"))).to_contain_text("ctx.patched")


def test_a_stored_result_is_read_in_pages(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('large')}/data")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("stored by reference")
    expect(panel.get_by_text("1–50 of 2,000")).to_be_visible()
    panel.get_by_role("button", name="Next", exact=True).click()
    expect(panel.get_by_text("51–100 of 2,000")).to_be_visible()
    expect(panel.get_by_role("cell", name="50", exact=True)).to_be_visible()


def test_logs_are_searched(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('flow')}/logs")
    expect(page.get_by_label("Log lines")).to_contain_text("counted 12 rows")
    page.get_by_label("Search in logs").fill("COUNTED")
    expect(page.locator("mark")).to_have_text("counted")
    page.get_by_label("Search in logs").fill("nowhere")
    expect(page.get_by_text("No line matches")).to_be_visible()


def test_two_executions_are_compared(server: Server, page: Page) -> None:
    one, other = server.ran("flow", count=12), server.ran("flow", count=2)
    page.goto("/executions")
    for execution_id in (one, other):
        page.get_by_label(f"Choose {execution_id}").check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(f"a={one}&b={other}"))
    expect(page.get_by_role("region", name="Path")).to_contain_text("meet.1 to tiny")
    expect(page.get_by_role("region", name="workload")).to_contain_text("count122")
    expect(page.get_by_role("region", name="Time of each step")).to_contain_text("meet")
    page.get_by_role("button", name="Swap").click()
    expect(page.get_by_role("region", name="workload")).to_contain_text("count212")


def test_a_hundred_steps_open_where_they_can_be_read_and_each_can_be_gone_to(
    server: Server, page: Page
) -> None:
    page.goto(f"/executions/{server.ran('hundred')}")
    expect(step(page, "s0")).to_be_in_viewport()
    expect(page.locator(".react-flow__minimap-node")).to_have_count(100)
    assert page.locator("[data-step]").count() < 100  # what is out of sight is not drawn
    page.get_by_label("Go to step").select_option("s99")
    expect(step(page, "s99")).to_be_in_viewport()
    expect(step(page, "s99")).to_have_attribute("data-state", "done")
    expect(page.get_by_role("complementary", name="Step s99")).to_be_visible()
    page.get_by_role("button", name="Fit View").click()
    expect(page.locator("[data-step]")).to_have_count(100)


ROUNDS = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: rounds, path: ui/rounds}
workflow:
  - step: round
    spec: {continue: {after_events: 10}}
    tool: {kind: noop}
    set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
    next: {arcs: [{step: round, when: "{{ event.ok and ctx.n < 4 }}"}]}
"""


def test_an_execution_that_went_on_links_to_the_one_before_and_the_one_after(
    server: Server, page: Page
) -> None:
    first = server.call("POST", "/executions", {"playbook": ROUNDS})["execution_id"]
    last = server.get(f"/executions/{first}?wait=60")
    assert last["execution_id"] != first
    after = server.get(f"/executions/{first}")["continued_as"]
    page.goto(f"/executions/{first}")
    expect(page.locator("header").get_by_text("continued from")).to_have_count(0)
    page.locator(f"a[href$='/executions/{after}']").first.click()
    expect(page).to_have_url(re.compile(f"/executions/{after}"))
    expect(page.get_by_text("continued from")).to_be_visible()
    expect(page.get_by_text("goes on as")).to_be_visible()
    page.locator(f"a[href$='/executions/{first}']").first.click()
    expect(page).to_have_url(re.compile(f"/executions/{first}"))
    page.goto(f"/executions/{last['execution_id']}")
    expect(page.get_by_text("continued from")).to_be_visible()
    expect(page.get_by_text("goes on as")).to_have_count(0)


def test_a_wide_graph_stands_in_one_column_on_a_phone(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('wide')}/graph")
    names = ["start", *(f"b{number}" for number in range(6))]
    for name in names:
        expect(page.locator(f"[data-id={name}].react-flow__node")).to_be_in_viewport(ratio=0.99)
    boxes = [step(page, name).bounding_box() for name in names]
    assert len({box["x"] for box in boxes if box}) == 1
    tops = [box["y"] for box in boxes if box]
    assert tops == sorted(set(tops))
    expect(page.get_by_label("Map of the workflow")).to_have_count(0)  # all of it is there


def test_a_tall_graph_is_moved_by_a_finger_on_a_phone_and_its_map_tells_where(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('hundred')}/graph")
    expect(page.get_by_label("Map of the workflow")).to_be_visible()
    expect(step(page, "s0")).to_be_in_viewport()
    page.mouse.move(60, 700)
    page.mouse.down()
    page.mouse.move(60, 250, steps=5)
    page.mouse.up()
    expect(step(page, "s0")).not_to_be_in_viewport()
    page.get_by_label("Go to step").select_option("s99")
    expect(page.locator("[data-id=s99].react-flow__node")).to_be_in_viewport(ratio=0.99)


def test_the_timeline_is_seen_from_its_first_moment_to_its_last_on_a_phone(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('loop', n=40)}/timeline")
    chart = page.get_by_role("region", name="Timeline")
    expect(chart.locator("[data-run]").first).to_be_visible()
    assert chart.evaluate("frame => frame.scrollWidth - frame.clientWidth") == 0
