"""The Logs tab shows what tasks print while they print it: by text, place and level, with those of children."""

import os

from playwright.sync_api import Page, expect

from tests.ui.conftest import Server

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
CHILD = f"""{HEAD}metadata: {{name: said, path: ui/logs/child}}
workflow:
  - {{step: inner, tool: {{kind: shell, input: {{command: echo from the child}}}}}}
"""
TALKS = f"""{HEAD}metadata: {{name: talks, path: ui/logs/talks}}
workload: {{gate: ""}}
workflow:
  - step: talk
    tool:
      - name: say
        kind: python
        input:
          gate: "{{{{ workload.gate }}}}"
          code: |
            import logging
            logging.basicConfig(level=logging.DEBUG, format="%(message)s")
            logging.debug("a detail"); print("waiting for the gate"); logging.warning("it is closed")
            open(gate).read()
            print("the gate is open")
      - {{name: call, kind: playbook, path: ui/logs/child}}
      - {{name: fail, kind: python, input: {{code: "def f(): return 1 / 0\\nf()"}}}}
"""


def test_lines_come_while_their_task_runs_and_are_found_by_level_place_and_text(
    server: Server, page: Page
) -> None:
    for text in (CHILD, TALKS):
        server.call("POST", "/catalog", {"playbook": text})
    gate = server.folder / "logs-gate"
    os.mkfifo(gate)
    begun = server.call("POST", "/executions", {"path": "ui/logs/talks", "workload": {"gate": str(gate)}})
    page.goto(f"/executions/{begun['execution_id']}/logs")
    lines = page.get_by_label("Log lines")
    expect(lines).to_contain_text("it is closed")
    expect(page.get_by_label("follow")).to_be_checked()
    expect(lines).not_to_contain_text("the gate is open")
    gate.write_text("go on")
    expect(lines).to_contain_text("the gate is open")
    expect(lines).to_contain_text("ZeroDivisionError")
    page.get_by_label("Level").select_option("warning")
    expect(lines).not_to_contain_text("a detail")
    expect(lines).to_contain_text("it is closed")
    page.get_by_label("Step or task").select_option("talk/fail")
    expect(lines).not_to_contain_text("it is closed")
    expect(lines).to_contain_text("ZeroDivisionError")
    page.get_by_label("Level").select_option("")
    page.get_by_label("Step or task").select_option("")
    expect(lines).not_to_contain_text("from the child")
    page.get_by_label("children").check()
    expect(lines).to_contain_text("from the child")
    page.get_by_label("Search in logs").fill("FROM THE")
    expect(page.get_by_text("1 line", exact=True)).to_be_visible()
    expect(page.locator("mark")).to_have_text("from the")
