"""`noetl notification`, and what `noetl run` tells before it ends."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import CompletedProcess
from threading import Thread

import pytest

from tests.acceptance.conftest import Noetl

BAD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: bad, path: etl/bad}
workflow:
  - step: go
    tool: {kind: python, code: "1 / 0"}
"""


class Hook(ThreadingHTTPServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Told)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/told"


class Told(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    server = Hook()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def add(noetl: Noetl, hook: Hook, *more: str) -> "CompletedProcess[str]":
    (noetl.folder / "bad.yaml").write_text(BAD)
    noetl("credential", "set", "signing", "--field", "secret=it signs")
    to = ("--to", f"webhook:{hook.url}", "--auth", "signing")
    return noetl("notification", "add", "ops", "--path", "etl/*", *to, *more)


def test_a_run_tells_before_it_ends_and_the_history_says_so(noetl: Noetl, hook: Hook) -> None:
    added = add(noetl, hook)
    assert f"notification ops: failed, stuck of etl/* to webhook:{hook.url} (signing)" in added.stderr
    assert "noetl notification test ops" in added.stderr
    assert noetl("run", "bad.yaml").returncode == 1
    [body] = hook.bodies
    assert (
        json.loads(body)["text"]
        == "etl/bad failed: python: ZeroDivisionError: division by zero (step go, line 1)"
    )
    history = noetl("notification", "deliveries").stdout
    assert "ops  failed  etl/bad" in history
    assert "delivered 200" in history
    assert noetl("notification", "deliveries", "--failed").stderr == "nothing was told that fits this\n"
    assert "etl/bad" in noetl("notification", "deliveries", "ops", "--execution", "@last").stdout
    shown = json.loads(noetl("notification", "show", "ops", "--json").stdout)
    assert [one["code"] for one in shown["deliveries"]] == [200]
    assert "delivered 200" in noetl("notification", "redeliver", "1").stdout
    assert [json.loads(each)["id"] for each in hook.bodies] == [shown["deliveries"][0]["key"]] * 2


def test_a_run_says_what_could_not_be_delivered(noetl: Noetl, hook: Hook) -> None:
    add(noetl, hook)
    hook.shutdown()
    hook.server_close()
    ran = noetl("run", "bad.yaml")
    assert ran.returncode == 1
    assert "notification ops was not delivered: 127.0.0.1 cannot be reached" in ran.stderr
    pending = json.loads(noetl("notification", "deliveries", "--pending", "--json").stdout)
    assert [(one["state"], one["attempts"]) for one in pending] == [("pending", 1)]


def test_a_sample_says_what_was_answered(noetl: Noetl, hook: Hook) -> None:
    add(noetl, hook)
    tried = noetl("notification", "test", "ops")
    assert (tried.returncode, "delivered 200" in tried.stdout) == (0, True)
    noetl("notification", "edit", "ops", "--to", "webhook:http://127.0.0.1:1/x")
    failed = noetl("notification", "test", "ops")
    assert (failed.returncode, "cannot be reached" in failed.stdout) == (1, True)


def test_a_notification_is_listed_changed_and_removed(noetl: Noetl, hook: Hook) -> None:
    assert "make one with: noetl notification add NAME --to TARGET" in noetl("notification", "list").stderr
    assert noetl("notification", "deliveries").returncode == 0
    add(noetl, hook, "--on", "none")
    assert "only what steps name it for of etl/*" in noetl("notification", "list").stdout
    changed = noetl("notification", "edit", "ops", "--on", "late, failed", "--pause", "--json")
    assert json.loads(changed.stdout)["on"] == ["late", "failed"]
    assert noetl("notification", "list").stdout.endswith("(signing), paused\n")
    assert "nothing was told yet" in noetl("notification", "show", "ops").stdout
    assert noetl("notification", "redeliver", "--failed", "ops").stderr == "nothing was given up\n"
    assert noetl("notification", "remove", "ops").stderr == "removed ops\n"
    assert noetl("notification", "show", "ops").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "x"), "say who is told"),
        (("edit", "x"), "say what is to change"),
        (("redeliver",), "give the numbers of deliveries, or --failed NAME"),
        (("deliveries", "--failed", "--pending"), "give one of --failed and --pending"),
        (("add", "x", "--to", "slack"), "needs a credential with the address"),
    ],
)
def test_what_cannot_be_meant_is_refused(noetl: Noetl, arguments: tuple[str, ...], said: str) -> None:
    refused = noetl("notification", *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr
