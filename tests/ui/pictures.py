"""Takes the pictures of docs/images/ui again, each page in light and dark: python -m tests.ui.pictures [name ...]

They are of real executions on a real server. Nothing here is a test; look at what it makes.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.ui.books import HEAD
from tests.ui.conftest import FLAGS, PATIENCE_MS, Api, noetl

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "images" / "ui"

ORDERS = (
    HEAD
    + """\
metadata: {name: orders, path: shop/orders, description: Load the day's orders and publish a report, labels: {team: shop}}
workload: {region: eu, day: "2026-11-14", limit: 40, dry_run: false}
workflow:
  - step: start
    desc: Two ways at once, a third only in America
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: customers}
        - {step: orders}
        - {step: archive, when: "{{ workload.region == 'us' }}"}
  - step: customers
    desc: Who they are
    tool:
      kind: python
      input:
        region: "{{ workload.region }}"
        code: |
          import time
          print("asking the directory of", region)
          time.sleep(0.3)
          result = [{"id": n, "name": f"customer {n}", "spent": round(40 + n * 7.5, 2)} for n in range(12)]
          print("found", len(result), "customers")
    set: {ctx.customers: "{{ output.data | length }}"}
    next: {arcs: [{step: merge}]}
  - step: orders
    desc: Page by page
    loop: {in: "{{ range(workload.limit) | list }}", iterator: page, spec: {mode: parallel, max_in_flight: 8}}
    tool:
      - {name: fetch, kind: wait, input: {seconds: 0.02}}
      - name: count
        kind: python
        input: {page: "{{ iter.page }}", code: "print('page', page); result = page * 25"}
    next: {arcs: [{step: merge}]}
  - {step: archive, tool: {kind: noop}}
  - step: merge
    desc: Wait for both, then choose how to publish
    tool: {kind: python, input: {code: "result = {'rows': 1000, 'regions': ['eu', 'uk']}"}}
    set: {ctx.report: {rows: "{{ output.data.rows }}", regions: "{{ output.data.regions }}"}}
    next:
      arcs:
        - {step: small, when: "{{ ctx.customers < 10 }}"}
        - {step: publish, when: "{{ ctx.customers < 100 }}"}
        - {step: premium}
  - {step: small, tool: {kind: noop}}
  - {step: premium, tool: {kind: noop}}
  - step: publish
    desc: Into the warehouse
    spec: {policy: {admit: {rules: [{when: "{{ not workload.dry_run }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
    tool:
      name: upload
      kind: python
      input:
        dry: "{{ workload.dry_run }}"
        code: |
          print("uploading 1000 rows")
          raise RuntimeError("the warehouse answered 409: the table is locked")
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' }}"
              then: {do: retry, attempts: 3, delay: 0.2}
            - else: {then: {do: continue}}
"""
)

REPORT = (
    HEAD
    + """\
metadata: {name: report, path: shop/report, description: A report that a person must let out}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: figures}, {step: ask}]}
  - step: figures
    tool: {kind: python, input: {code: "result = {'sum': 18230.5}"}}
    next: {arcs: [{step: send}]}
  - step: ask
    tool: {kind: wait, input: {approval: "Send the November report to 240 customers?"}, spec: {timeout: 86400}}
    next: {arcs: [{step: send}]}
  - {step: send, tool: {kind: noop}}
"""
)

IMPORT = (
    HEAD
    + """\
metadata: {name: import, path: shop/import, description: Ten thousand rows}
workload: {rows: 10000}
workflow:
  - step: each
    loop:
      in: "{{ range(workload.rows) | list }}"
      iterator: i
      spec: {mode: parallel, max_in_flight: 64, policy: {exec: distributed}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {kind: noop, output: "{{ 1 // (iter.i % 613) }}"}
    next: {arcs: [{step: done}]}
  - {step: done, tool: {kind: noop}}
"""
)

NIGHTLY = (
    HEAD
    + "metadata: {name: nightly, path: shop/nightly}\nworkflow:\n"
    + "  - {step: start, tool: {kind: wait, input: {seconds: 3600}}}\n"
)

SHOP = {"orders": ORDERS, "report": REPORT, "import": IMPORT, "nightly": NIGHTLY}
SETTLED_MS = 700  # until the last answer is there and drawn
FIRST = ("hello", "workload", "branching", "fan_out_join", "nested_loops", "parallel_reduce", "retry")


class Scene:
    """A server with something to show."""

    def __init__(self, folder: Path) -> None:
        books = folder / "books"
        shutil.copytree(ROOT / "examples", books, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for name, text in SHOP.items():
            (books / f"shop_{name}.yaml").write_text(text)
        self.log = (folder / "server.log").open("w")
        self.process = noetl(folder, "dev", "books", "--port", "0", stderr=self.log)
        assert self.process.stdout is not None
        self.api = Api(self.process.stdout.readline().strip())
        for name in FIRST:
            self.run(f"examples/{name}")
        self.failed, self.other = self.run("shop/orders"), self.run("shop/orders", limit=12)
        self.loop = self.run("shop/import")
        self.stopped, self.paused, self.going = (self.start("shop/nightly") for _ in range(3))
        for place in (f"/executions/{self.stopped}/cancel", f"/executions/{self.paused}/pause"):
            self.api.call("POST", place, {})
        self.asking = self.start("shop/report")
        self.api.until(self.asking, "token.held")
        self._standing()

    def _standing(self) -> None:
        nightly = {
            "name": "nightly",
            "path": "shop/orders",
            "cron": "30 2 * * *",
            "timezone": "Europe/Berlin",
        }
        self.api.call("POST", "/schedules", nightly)
        self.api.call("POST", "/schedules", {"name": "heartbeat", "path": "examples/hello", "every_s": 300})
        missed = {"from": "2026-11-14T06:00", "to": "2026-11-14T07:00", "parallel": 4}
        self.api.call("POST", "/backfills", {"schedule": "heartbeat", **missed})
        self.api.call("POST", "/triggers", {"name": "new_order", "kind": "webhook", "path": "shop/orders"})

    def start(self, path: str, **workload: object) -> str:
        begun = self.api.call("POST", "/executions", {"path": path, "workload": workload})
        return str(begun["execution_id"])

    def run(self, path: str, **workload: object) -> str:
        execution_id = self.start(path, **workload)
        self.api.until(execution_id, "playbook.processed")
        return execution_id

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.log.close()


def at(place: str, text: str) -> Callable[[Page, Scene], None]:
    """A page that needs nothing but its address, and a text that says that it is there."""

    def opened(page: Page, scene: Scene) -> None:
        page.goto(place.format(scene=scene))
        expect(page.locator("main")).to_contain_text(text)

    return opened


def graph(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}/graph?step=merge")
    expect(page.get_by_role("complementary", name="Step merge")).to_contain_text("Why")
    page.get_by_role("button", name="arc from start to archive").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("workload.region")


def failure(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}/graph?step=publish")
    expect(page.get_by_role("region", name="Traceback")).to_contain_text("publish/upload")


def graph_narrow(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}")
    expect(page.locator("[data-step=publish]")).to_be_visible()


def travel(page: Page, scene: Scene) -> None:
    wrote = scene.api.get(f"/executions/{scene.failed}/found?name=ctx.patched")["items"][0]["seq"]
    page.goto(f"/executions/{scene.failed}/graph?at={wrote}")
    page.get_by_role("button", name="evaluate").click()
    page.get_by_label("Template").fill("{{ ctx.customers * 2 }}")
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator("[data-rendered]")).to_contain_text("24")


def timeline(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}/timeline")
    page.get_by_role("button", name="Iterations of orders.1").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("upload")


def events(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}/events?seq=12")
    expect(page.get_by_role("complementary", name="Event 12")).to_contain_text("data")


def data(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.failed}/data?run=customers.1")
    expect(page.get_by_role("tabpanel", name="data")).to_contain_text("customer 3")


def loops(page: Page, scene: Scene) -> None:
    page.goto(f"/executions/{scene.loop}/loops")
    page.get_by_role("button", name="First failed").click()
    expect(page.get_by_role("complementary", name="Iteration 0")).to_contain_text("failed")


def editor(page: Page, scene: Scene) -> None:
    page.goto("/playbooks/shop/orders")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    for key in (*["ArrowDown"] * 6, "Home", *["ArrowRight"] * 4):
        page.keyboard.press(key)
    page.keyboard.type("r")
    expect(page.locator("[data-finding]").first).to_be_visible()


def compare(page: Page, scene: Scene) -> None:
    page.goto(f"/compare?a={scene.failed}&b={scene.other}")
    expect(page.locator("main")).to_contain_text("workload")
    expect(page.locator("main")).to_contain_text("limit")


def credentials(page: Page, scene: Scene) -> None:
    page.goto("/credentials")
    for name in ("shop_api", "warehouse"):
        page.get_by_role("button", name="Set a credential").click()
        page.get_by_label("Name").fill(name)
        page.get_by_label("Value of token").fill("kept")
        page.get_by_role("button", name="Set", exact=True).click()
        expect(page.get_by_role("cell", name=name, exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("cell", name="warehouse", exact=True)).to_be_visible()


def run_dialog(page: Page, scene: Scene) -> None:
    page.goto("/playbooks")
    page.get_by_role("button", name="Run shop/orders").click()
    expect(page.get_by_role("dialog")).to_contain_text("region")


WIDE: dict[str, Callable[[Page, Scene], None]] = {
    "home": at("/", "Slowest steps"),
    "executions": at("/executions", "shop/orders"),
    "playbooks": at("/playbooks", "shop/orders"),
    "run": run_dialog,
    "graph": graph,
    "failure": failure,
    "travel": travel,
    "timeline": timeline,
    "loops": loops,
    "events": events,
    "data": data,
    "logs": at("/executions/{scene.failed}/logs", "uploading 1000 rows"),
    "why": at("/executions/{scene.failed}/why", "publish"),
    "approvals": at("/approvals", "240 customers"),
    "tokens": at("/tokens", "Create a token"),
    "waiting": at("/executions/{scene.asking}", "240 customers"),
    "compare": compare,
    "editor": editor,
    "schedules": at("/schedules", "12 completed of 12"),
    "workers": at("/workers", "default"),
    "credentials": credentials,
    "settings": at("/settings", "Theme"),
}
NARROW: dict[str, Callable[[Page, Scene], None]] = {
    "executions-narrow": WIDE["executions"],
    "home-narrow": WIDE["home"],
    "graph-narrow": graph_narrow,
    "timeline-narrow": WIDE["timeline"],
    "editor-narrow": at("/playbooks/shop/orders", "no errors and no warnings"),
    "schedules-narrow": WIDE["schedules"],
    "workers-narrow": WIDE["workers"],
}


def take(browser: Browser, scene: Scene, name: str, theme: str) -> None:
    """One picture."""
    narrow = name in NARROW
    context = browser.new_context(
        viewport={"width": 390 if narrow else 1280, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
        base_url=scene.api.url,
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    (NARROW if narrow else WIDE)[name](page, scene)
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=OUT / f"{name}-{theme}.png")
    context.close()


def main(names: list[str]) -> None:
    """Take the named pictures, or all of them."""
    expect.set_options(timeout=PATIENCE_MS)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        scene = Scene(Path(folder))
        try:
            for name in names or [*WIDE, *NARROW]:
                for theme in ("light", "dark"):
                    take(browser, scene, name, theme)
        finally:
            scene.close()
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
