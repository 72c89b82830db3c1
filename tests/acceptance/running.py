"""What the tests of `noetl run` share: playbooks, a paged API, processes that are waited for, and the audit."""

import asyncio
import json
import os
import signal
import subprocess
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from noetl.cli.connection.connection import find_execution
from noetl.control.history import envelopes
from noetl.control.log_audit import audit
from noetl.core.event import EventEnvelope
from noetl.errors import NotFound
from noetl.ports.store import Find
from noetl.settings import Settings, load
from noetl.wiring.embedded import embedded
from tests.acceptance.conftest import NOETL, Noetl

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
WAIT_S = 60.0
LOOK_S = 0.02


def playbook(workflow: str, name: str = "case", **root: str) -> str:
    """A whole playbook around a workflow; other root sections by keyword."""
    extra = "".join(textwrap.dedent(section).strip("\n") + "\n" for section in root.values())
    head = f"{HEAD}metadata: {{name: {name}, path: tests/{name}}}\n"
    return f"{head}{extra}workflow:\n{textwrap.indent(textwrap.dedent(workflow).strip(chr(10)), '  ')}\n"


def eventually(holds: Callable[[], Any], what: str) -> Any:
    """Wait until something holds; what it gave then."""
    tick, deadline = threading.Event(), time.monotonic() + WAIT_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"never happened: {what}"
        tick.wait(LOOK_S)
    return found


class Process:
    """A command that runs beside the test."""

    def __init__(self, noetl: Noetl, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [NOETL, *arguments],
            cwd=noetl.folder,
            env=noetl.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.communicate()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> subprocess.CompletedProcess[str]:
        out, err = self._process.communicate(timeout=WAIT_S)
        return subprocess.CompletedProcess([], self._process.returncode, out, err)


def events(noetl: Noetl, name: str = "*", execution: str = "@last") -> list[EventEnvelope]:
    """The events of an execution; none while there is no execution."""
    if noetl.server is not None:
        printed = noetl("execution", "events", execution, "--json", "--name", name).stdout
        return [json.loads(line) for line in printed.splitlines()]
    if not (noetl.folder / ".noetl" / "noetl.db").exists():
        return []
    return asyncio.run(_events(noetl.folder, name, execution))


async def _events(folder: Path, name: str, execution: str) -> list[EventEnvelope]:
    async with embedded(_settings(folder)) as made:
        try:
            execution_id = await find_execution(made.front, execution)
        except NotFound:
            return []
        return [event async for event in envelopes(made.store, execution_id, name=name)]


def is_run(noetl: Noetl, execution: str = "@last") -> bool:
    """Whether a process that lives runs an execution."""
    return asyncio.run(_is_run(noetl.folder, execution))


async def _is_run(folder: Path, execution: str) -> bool:
    async with embedded(_settings(folder)) as made:
        return await made.store.owned(await find_execution(made.front, execution))


def _settings(folder: Path) -> Settings:
    return load({}, environ={"NOETL_HOME": str(folder / "home")}, folder=folder)


def audit_all(folder: Path) -> None:
    """Every log in a folder's store holds together, whatever happened to the processes that wrote it."""
    store = folder / ".noetl" / "noetl.db"
    if store.exists():
        problems = asyncio.run(_problems(folder))
        assert not problems, problems


async def _problems(folder: Path) -> list[str]:
    found: list[str] = []
    async with embedded(_settings(folder)) as made:
        for summary in (await made.store.executions(Find(limit=1000))).items:
            program = await made.catalog.program(summary.hash) if summary.hash else None
            seen = await audit(made.store, summary.execution_id, program, made.catalog.engine)
            found += [f"{summary.execution_id}: {problem}" for problem in seen.problems]
    return found


class PagedApi:
    """An HTTP API with pages: /<endpoint>?page=N has 2 items per page and says whether there are more."""

    def __init__(self, pages: int) -> None:
        self.pages, self.hits = pages, Counter[tuple[str, int]]()
        self._changed = threading.Condition()
        self._held: set[tuple[str, int]] = set()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """A client that was killed is what these tests are about."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def hold(self, endpoint: str, page: int) -> None:
        """Give no answer for a page until it is let go."""
        self._held.add((endpoint, page))

    def let_go(self) -> None:
        with self._changed:
            self._held.clear()
            self._changed.notify_all()

    def asked(self, endpoint: str, page: int) -> None:
        """Wait until a page has been asked for."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.hits[endpoint, page] > 0, WAIT_S), self.hits

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlparse(handler.path)
        endpoint, page = url.path.strip("/"), int(parse_qs(url.query)["page"][0])
        with self._changed:
            self.hits[endpoint, page] += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: (endpoint, page) not in self._held, WAIT_S)
        body = json.dumps({"items": [page, page], "more": page < self.pages}).encode()
        try:
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:  # whoever asked is dead
            return

    def close(self) -> None:
        self.let_go()
        self._server.shutdown()
        self._server.server_close()


def pages_of(folder: Path) -> str:
    """The playbook that reads every page of every endpoint."""
    return playbook(
        """
        - step: fetch
          loop: {in: "{{ workload.endpoints }}", iterator: name, spec: {mode: parallel, max_in_flight: 3}}
          tool:
            - {name: init, kind: noop, set: {iter.page: 1, iter.n: 0}}
            - name: get
              kind: http
              input: {url: "{{ workload.url }}/{{ iter.name }}", params: {page: "{{ iter.page }}"}}
              set: {iter.n: "{{ iter.n + (output.data['items'] | length) }}"}
            - name: more
              kind: noop
              spec:
                policy:
                  rules:
                    - when: "{{ get.data.more }}"
                      then: {do: jump, to: get, set: {iter.page: "{{ iter.page + 1 }}"}}
                    - else: {then: {do: continue}}
            - {name: total, kind: noop, output: "{{ iter.n }}"}
          set: {ctx.totals: "{{ output.data }}"}
        """,
        name="pages",
        workload="workload: {url: '', endpoints: [a, b, c]}",
    )


def terminal_size(columns: int = 100) -> dict[str, str]:
    return {"COLUMNS": str(columns), "LINES": "40", "TERM": "xterm"} | {
        key: os.environ[key] for key in ("LANG",) if key in os.environ
    }
