"""The web pages in a real Chromium against a real `noetl dev`: from the click to the last pixel of interest.

Each round opens a browser context of its own, so nothing is cached; its process began on a bare page before.
The floor is that bare page opened once more, of the same server, in the same rounds.
"""

import gzip
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STATIC = Path(__file__).parent.parent / "noetl" / "server" / "static"
ROUNDS = 7
PATIENCE_MS = 60_000
FIRST_LOAD_KB, HOME_MS, EXECUTION_MS, LOOP_MS = 300.0, 1000.0, 500.0, 1000.0

BLANK = "/health/live"
CLICKED = "clicked"
# What must be true of a page before it counts as there.
THERE = {
    BLANK: "document.readyState === 'complete'",
    "home": "document.querySelector('[data-count=completed]') !== null",
    "execution": "document.querySelector('[data-step=s0][data-state=done]') !== null"
    " && document.querySelectorAll('select[aria-label^=Go] option').length === 101"
    " && document.querySelectorAll('[data-arc]').length > 3",
    "loop": "document.querySelector('[data-counts]')?.textContent.includes('10,000 iterations')"
    " && document.querySelector('[data-heat-map]').dataset.columns > 1",
}
# The moment it is true and painted, in milliseconds since the page was asked for.
WATCH = """
window.there = new Promise((tell) => {
  const done = () => setTimeout(() => tell(performance.now()))
  const look = () => requestAnimationFrame((%s) ? done : look)
  requestAnimationFrame(look)
})
"""


# The same for a page that is opened by a click in another one.
CLICK = """
(place) => new Promise((tell) => {
  const began = performance.now()
  const done = () => setTimeout(() => tell(performance.now() - began))
  const look = () => requestAnimationFrame((%s) ? done : look)
  document.querySelector(`a[href="${place}"]`).click()
  look()
})
"""


def run() -> list[Figure]:
    """Every figure of the web pages."""
    figures = [Figure("ui: first load", _first_load_kb(), "kB gzip", goal=FIRST_LOAD_KB)]
    binary = shutil.which("chromium")
    if binary is None:
        print("bench: ui needs Chromium and there is none: apt-get install chromium", file=sys.stderr)
        return figures
    return figures + _measured(binary)


def _first_load_kb() -> float:
    """The page and all that it names, as they go over the wire."""
    index = (STATIC / "index.html").read_text()
    named = (STATIC / "assets" / name for name in set(re.findall(r"assets/([\w.-]+)", index)))
    return sum(len(gzip.compress(file.read_bytes())) for file in (STATIC / "index.html", *named)) / 1000


def _measured(binary: str) -> list[Figure]:
    from playwright.sync_api import sync_playwright

    from tests.ui.conftest import FLAGS, Server

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = Server(Path(folder))
        browser = driver.chromium.launch(executable_path=binary, args=list(FLAGS))
        try:
            places = {
                BLANK: BLANK,
                "home": "/",
                "execution": f"/executions/{server.ran('hundred')}",
                "loop": f"/executions/{server.ran('loop')}/loops",
            }
            took: dict[str, list[float]] = {name: [] for name in (*places, CLICKED)}
            for _ in range(ROUNDS):
                for name, place in places.items():
                    took[name].append(_opened(browser, server.url, place, THERE[name]))
                took[CLICKED].append(_clicked(browser, server.url, places["execution"], THERE["execution"]))
        finally:
            browser.close()
            server.stop()
    middle = {name: statistics.median(found) for name, found in took.items()}
    return [
        _figure("home interactive", middle, "home", HOME_MS),
        _figure("execution page of 100 steps, from the list", middle, CLICKED, EXECUTION_MS),
        _figure("first load on that page, nothing cached", middle, "execution", HOME_MS),
        _figure("loop page of 10,000 items, nothing cached", middle, "loop", LOOP_MS),
    ]


def _figure(name: str, middle: dict[str, float], place: str, goal: float) -> Figure:
    return Figure(f"ui: {name}", middle[place], "ms", goal=goal, floor=middle[BLANK])


def _opened(browser: "Browser", server: str, place: str, there: str) -> float:
    """How long a page takes in a browser that has never seen it."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(server + BLANK)
    context.add_init_script(WATCH % there)
    page.goto(server + place, wait_until="commit")
    took: float = page.evaluate("window.there")
    context.close()
    return took


def _clicked(browser: "Browser", server: str, place: str, there: str) -> float:
    """How long a page takes for someone who comes from the list."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{server}/executions")
    page.wait_for_selector(f'a[href="{place}"]')
    took: float = page.evaluate(CLICK % there, place)
    context.close()
    return took
