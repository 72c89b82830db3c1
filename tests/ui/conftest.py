"""A real server with real executions, and a real browser that looks at them.

The browser's driver has an event loop of its own, so it lives in one thread, and every test that has a page
runs in that thread; the thread of pytest stays free for tests with loops of theirs.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.ui.books import BOOKS

PATIENCE_MS = 45_000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Api:
    """What a server's REST API answers."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url, self.token = url, token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = Request(f"{self.url}/api/v1{path}", data, headers, method=method)
        with urlopen(request, timeout=60) as answer:
            return json.load(answer) if answer.status != 204 else None

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def start(self, name: str, **workload: Any) -> str:
        begun = self.call("POST", "/executions", {"path": f"ui/{name}", "version": 1, "workload": workload})
        return str(begun["execution_id"])

    def until(self, execution_id: str, event: str) -> dict[str, Any]:
        """Follow an execution until an event of a name has happened; the event."""
        with urlopen(f"{self.url}/api/v1/executions/{execution_id}/stream", timeout=60) as stream:
            for line in stream:
                if line.startswith(b"data: {") and f'"name":"{event}"'.encode() in line:
                    found: dict[str, Any] = json.loads(line[6:])
                    return found
        raise AssertionError(f"{execution_id} ended without {event}")

    def ran(self, name: str, **workload: Any) -> str:
        """Run a playbook to its end."""
        execution_id = self.start(name, **workload)
        self.until(execution_id, "playbook.processed")
        return execution_id


class Server(Api):
    """A `noetl dev` process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        books = folder / "books"
        books.mkdir()
        for name, text in BOOKS.items():
            (books / f"{name}.yaml").write_text(text)
        self.log = (folder / "server.log").open("w")
        self.process = noetl(folder, "dev", "books", "--port", "0", stderr=self.log)
        assert self.process.stdout is not None
        super().__init__(self.process.stdout.readline().strip())
        assert self.url.startswith("http"), (folder / "server.log").read_text()

    def let_pass(self, schedule: str, hours: int) -> None:
        """Put the next tick of a schedule back in time, as if no server had run for so long."""
        with contextlib.closing(sqlite3.connect(self.folder / ".noetl" / "noetl.db", timeout=60)) as store:
            change = "UPDATE schedules SET next_at = next_at - ? WHERE name = ? RETURNING 1"
            assert store.execute(change, (hours * 3_600_000, schedule)).fetchall()
            store.commit()

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.log.close()


def noetl(folder: Path, *arguments: str, stderr: Any = None) -> "subprocess.Popen[str]":
    """A process of the CLI that works in a folder."""
    env = {**os.environ, "NOETL_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "noetl.cli", *arguments]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("ui"))
    yield made
    made.stop()


class Theatre:
    """The thread of the browser."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._driver: Playwright | None = None
        self.browser: Browser | None = None

    def do(self, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
        future: Future[Any] = self._thread.submit(work, *args, **named)
        return future.result()

    def open(self) -> None:
        binary = shutil.which("chromium")
        assert binary, "no chromium here: apt-get install -y --no-install-recommends chromium"
        expect.set_options(timeout=PATIENCE_MS)
        self._driver = sync_playwright().start()
        self.browser = self._driver.chromium.launch(executable_path=binary, args=list(FLAGS))

    def close(self) -> None:
        if self.browser is not None:
            self.browser.close()
        if self._driver is not None:
            self._driver.stop()


@pytest.fixture(scope="session")
def theatre() -> Iterator[Theatre]:
    made = Theatre()
    made.do(made.open)
    yield made
    made.do(made.close)


class Complaints:
    """What the browser complained about: errors of scripts, refused content, failed requests."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._expected: list[str] = []

    def listen(self, page: Page) -> None:
        page.on("console", lambda said: self.heard.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.heard.append(str(error)))

    def expect(self, *parts: str) -> None:
        """What has one of these parts in it is part of the test."""
        self._expected += parts

    def unexpected(self) -> list[str]:
        return [said for said in self.heard if not any(part in said for part in self._expected)]


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def open_page(theatre: Theatre, server: Server, complaints: Complaints) -> Iterator[Callable[..., Page]]:
    """Opens pages in contexts of their own; no page may complain."""
    contexts: list[BrowserContext] = []

    def opened(width: int = 1280, theme: str = "light", base: str | None = None) -> Page:
        assert theatre.browser is not None
        context = theatre.browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if theme == "dark" else "light",
            base_url=base or server.url,
            accept_downloads=True,
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        complaints.listen(page)
        return page

    yield opened
    for context in contexts:
        theatre.do(context.close)
    assert not complaints.unexpected()


@pytest.fixture
def page(theatre: Theatre, open_page: Callable[..., Page]) -> Page:
    made: Page = theatre.do(open_page)
    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine is given time; what hangs is still ended."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(400))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that has the browser runs in the browser's thread."""
    theatre = pyfuncitem.funcargs.get("theatre")
    if not isinstance(theatre, Theatre) and "open_page" in pyfuncitem.fixturenames:
        theatre = pyfuncitem._request.getfixturevalue("theatre")
    if not isinstance(theatre, Theatre):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    theatre.do(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    return True
