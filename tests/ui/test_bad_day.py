"""A bad day from the message that tells of it to the rerun, on a desk and on a phone, and what pages say of it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import Server
from tests.ui.test_editor import change, text_of


@contextmanager
def receiver() -> Iterator[tuple[str, "Queue[dict[str, Any]]"]]:
    """An address that is told, and what it was told."""
    told: Queue[dict[str, Any]] = Queue()

    class Told(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Told)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", told
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1280, 390])
def test_from_the_link_of_a_notification_to_the_rerun_takes_four_clicks(
    server: Server, open_page: Callable[..., Page], width: int
) -> None:
    page = open_page(width)
    server.call("PUT", "/credentials/pager", {"secret": "it signs"})
    with receiver() as (url, told):
        who = {
            "name": "pager",
            "on": ["failed"],
            "path": "ui/prices",
            "to": f"webhook:{url}",
            "auth": "pager",
        }
        server.call("POST", "/notifications", who)
        execution_id = server.ran("prices")
        message = told.get(timeout=60)
        server.call("DELETE", "/notifications/pager")
        server.call("DELETE", "/credentials/pager")
    assert message["url"] == f"{server.url}/executions/{execution_id}"
    clicks = 1  # on the link itself
    page.goto(message["url"])

    def click(target: Locator) -> None:
        nonlocal clicks
        clicks += 1
        target.click()

    expect(page.get_by_role("alert")).to_contain_text("python: ZeroDivisionError")
    click(page.get_by_role("tab", name="Loops"))
    item = page.get_by_role("complementary", name="Iteration 1")
    expect(item.get_by_role("region", name="Item")).to_contain_text("id8")
    expect(item.get_by_role("region", name="Traceback")).to_contain_text('order["lines"]')
    click(item.get_by_role("link", name="Fix and rerun"))
    expect(text_of(page).locator(".cm-activeLine")).to_contain_text("- step: price")
    change(page, 'result = {"id"', 'result = {"id": order["id"], "mean": sum(order["lines"])}')
    click(page.get_by_role("button", name="Rerun from price"))
    expect(page.locator("main header [data-status]").first).to_have_attribute("data-status", "completed")
    assert clicks == 4


def test_on_a_phone_the_data_of_a_failure_begin_with_what_failed(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(390)
    page.goto(f"/executions/{server.ran('broken')}/data")
    outputs = page.get_by_role("heading", name=re.compile("Outputs"))
    ctx = page.get_by_role("heading", name=re.compile("ctx"))
    expect(outputs).to_be_visible()
    above, below = outputs.bounding_box(), ctx.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]


def test_what_was_called_off_is_not_said_to_have_failed(server: Server, page: Page) -> None:
    execution_id = server.start("slow")
    server.until(execution_id, "task.parked")
    server.call("POST", f"/executions/{execution_id}/cancel", {})
    server.until(execution_id, "playbook.processed")
    page.goto(f"/executions/{execution_id}/data")
    panel = page.get_by_role("tabpanel", name="data")
    expect(panel.get_by_text("cancelled", exact=True)).to_be_visible()
    page.goto(f"/executions/{execution_id}/why")
    reasons = page.get_by_role("tabpanel", name="why")
    expect(reasons).to_contain_text("was cut off")
    expect(reasons).not_to_contain_text("failed")


def test_what_waits_for_a_time_says_until_when(server: Server, page: Page) -> None:
    execution_id = server.start("slow")
    server.until(execution_id, "task.parked")
    page.goto(f"/executions/{execution_id}")
    expect(page.get_by_role("note")).to_contain_text(re.compile(r"start goes on in (1 h|\d+ min)"))
    server.call("POST", f"/executions/{execution_id}/cancel", {})
    expect(page.get_by_role("note")).to_have_count(0)


def test_the_marks_of_a_short_timeline_say_each_something_else(server: Server, page: Page) -> None:
    page.goto(f"/executions/{server.ran('edit')}/timeline")
    marks = page.locator("[data-axis] span")
    expect(marks.first).to_have_text("0")
    said = marks.all_inner_texts()
    assert len(said) == len(set(said))


def test_what_is_counted_as_open_is_found_in_the_list_however_old(server: Server, page: Page) -> None:
    page.goto("/")
    for status, within in {"waiting": 0, "stuck": 0, "failed": 1}.items():
        link = page.locator("a", has=page.locator(f"[data-count={status}]"))
        assert str(link.get_attribute("href")).count("within=24h") == within
