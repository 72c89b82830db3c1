"""`noetl schedule` and `noetl trigger`: kept by name, started by hand, by the clock and by calls."""

import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Noetl
from tests.acceptance.playbooks import document
from tests.acceptance.running import eventually
from tests.acceptance.served import Server

ECHO = document(
    '- {step: say, tool: {kind: noop, output: "{{ workload.said }}"}}',
    name="echo",
    workload="workload: {said: nothing}",
)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "server").start()
    yield made
    made.kill()


@pytest.fixture
def at_server(tmp_path: Path, own_server: Server) -> Noetl:
    made = Noetl(tmp_path, own_server.url)
    registered(made)
    return made


def registered(noetl: Noetl) -> None:
    (noetl.folder / "echo.yaml").write_text(ECHO)
    assert noetl("register", "echo.yaml").returncode == 0


def data(noetl: Noetl, *arguments: str) -> Any:
    done = noetl(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.anywhere
def test_a_trigger_is_changed_in_place_and_what_is_not_given_stays(noetl: Noetl) -> None:
    registered(noetl)
    name = f"report-{noetl.folder.name}"
    made = (
        "trigger",
        "add",
        name,
        "tests/echo",
        "--after",
        "tests/other",
        "--batch",
        "5/10s",
        "--set",
        "said=a",
    )
    assert noetl(*made).returncode == 0
    before = data(noetl, "trigger", "show", name)
    changes = ("--after", "other/*", "--on", "completed,failed", "--batch", "none", "--debounce", "3s")
    after = data(noetl, "trigger", "edit", name, *changes)
    changed = {"after": ["other/*"], "on": ["completed", "failed"], "batch": None, "debounce": "3s"}
    assert after == {**before, **changed}
    assert noetl("trigger", "pause", name).returncode == 0
    assert data(noetl, "trigger", "show", name) == {**after, "enabled": False}
    assert noetl("trigger", "resume", name).returncode == 0
    assert data(noetl, "trigger", "show", name) == after
    refused = noetl("trigger", "edit", name, "--subject", "orders.new")
    assert (refused.returncode, "of the kind playbook: it has no subject" in refused.stderr) == (2, True)
    assert noetl("trigger", "edit", name).returncode == 2
    assert noetl("trigger", "delete", name).returncode == 0


@pytest.mark.anywhere
def test_a_schedule_is_kept_paused_resumed_run_and_deleted(noetl: Noetl) -> None:
    registered(noetl)
    name = f"nightly-{noetl.folder.name}"  # the server may be one that others use too
    done = noetl("schedule", "add", name, "tests/echo", "--cron", "0 3 1 1 *", "--set", "said=hello")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "next at" in done.stderr
    made = data(noetl, "schedule", "show", name)
    assert (made["cron"], made["timezone"], made["workload"]) == ("0 3 1 1 *", "UTC", {"said": "hello"})
    assert made["next_at"].endswith("T03:00:00.000Z")
    assert noetl("schedule", "pause", name).returncode == 0
    assert data(noetl, "schedule", "show", name)["next_at"] is None
    assert "paused" in noetl("schedule", "show", name).stdout
    assert noetl("schedule", "resume", name).returncode == 0
    assert data(noetl, "schedule", "show", name) == made
    assert name in [one["name"] for one in data(noetl, "schedule", "list")]
    assert "tests/echo" in noetl("schedule", "list").stdout
    assert noetl("schedule", "run", name, "--quiet").stdout == '"hello"\n'
    assert noetl("schedule", "delete", name).returncode == 0
    for verb in ("show", "delete", "pause", "resume", "run"):
        gone = noetl("schedule", verb, name)
        assert (gone.returncode, f"there is no schedule '{name}'" in gone.stderr) == (2, True)


@pytest.mark.anywhere
def test_a_trigger_is_kept_shown_without_its_secret_and_deleted(noetl: Noetl) -> None:
    registered(noetl)
    name = f"push-{noetl.folder.name}"
    done = noetl("trigger", "add", name, "tests/echo", "--webhook", "--as", "said")
    assert done.returncode == 0, done.stderr
    secret = done.stdout.strip()
    assert len(secret) >= 40
    shown = data(noetl, "trigger", "show", name)
    assert (shown["kind"], shown["as"], shown["hook"]) == ("webhook", "said", f"/api/v1/hooks/{name}")
    for verb in (("list",), ("show", name)):
        printed = noetl("trigger", *verb)
        assert name in printed.stdout
        assert secret not in printed.stdout + printed.stderr
    taken = noetl("trigger", "add", name, "tests/echo", "--subject", "orders.new")
    assert (taken.returncode, "already" in taken.stderr) == (2, True)
    assert noetl("trigger", "delete", name).returncode == 0
    assert noetl("trigger", "show", name).returncode == 2


def test_a_secret_of_ones_own_is_read_and_not_printed(noetl: Noetl) -> None:
    registered(noetl)
    secret = "canary-of-sixteen-letters"
    done = noetl("trigger", "add", "push", "tests/echo", "--webhook", "--secret", "-", stdin=f"{secret}\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert secret not in done.stderr
    kept = b"".join(file.read_bytes() for file in noetl.folder.rglob("*") if file.is_file())
    assert secret.encode() not in kept


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["add", "x", "tests/echo", "--cron", "0 0 32 * *"], "wrong day-of-month: '32'"),
        (["add", "x", "tests/echo", "--cron", "0 0 * * *", "--timezone", "Mars"], "'Mars' is no time zone"),
        (["add", "x", "tests/ecko", "--every", "1m"], "no playbook with the path 'tests/ecko'"),
        (["add", "x", "echo.yaml", "--every", "1m"], "noetl register echo.yaml"),
        (["add", "x", "tests/echo", "--every", "soon"], "'soon' is no span of time"),
        (["add", "x", "tests/echo"], "either a cron expression or an interval"),
        (["add", "a b", "tests/echo", "--every", "1m"], "'a b' is no name"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_in_words(
    noetl: Noetl, arguments: list[str], told: str
) -> None:
    registered(noetl)
    done = noetl("schedule", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_where_nothing_was_kept_lists_are_empty(noetl: Noetl) -> None:
    for group in ("schedule", "trigger"):
        assert data(noetl, group, "list") == []
    assert not (noetl.folder / ".noetl").exists()


def test_a_server_starts_what_is_due(at_server: Noetl) -> None:
    done = at_server("schedule", "add", "tick", "tests/echo", "--every", "1s", "--set", "said=tick")
    assert done.returncode == 0, done.stderr

    def ticked() -> Any:
        listed = data(at_server, "execution", "list", "--path", "tests/echo", "--status", "completed")
        return len(listed) >= 2 and listed

    first = eventually(ticked, "two ticks")[0]
    shown = data(at_server, "execution", "show", first["execution_id"])
    assert (shown["output"], shown["by"]) == ("tick", "schedule tick")
    found = data(at_server, "schedule", "show", "tick")
    assert (found["last_error"], found["last_execution"] is not None) == (None, True)


def test_a_schedule_made_in_the_store_is_fired_by_the_server_over_it(own_server: Server) -> None:
    here = Noetl(own_server.folder)
    registered(here)
    assert here("schedule", "add", "tick", "tests/echo", "--every", "1s").returncode == 0
    eventually(lambda: data(here, "schedule", "show", "tick")["last_execution"], "a tick")


def test_a_call_starts_an_execution_with_what_it_says(at_server: Noetl) -> None:
    secret = at_server("trigger", "add", "push", "tests/echo", "--webhook", "--as", "said").stdout.strip()
    body = json.dumps({"branch": "main"}).encode()
    signed = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    for header, proof in (("X-Noetl-Secret", secret), ("X-Hub-Signature-256", signed)):
        status, answer = called(f"{at_server.server}/api/v1/hooks/push", body, {header: proof})
        assert status == 202
        execution = answer["execution_id"]
        followed = at_server("execution", "watch", execution, "--json")
        assert json.loads(followed.stdout)["output"] == {"branch": "main"}, followed.stderr
    assert called(f"{at_server.server}/api/v1/hooks/push", body, {"X-Noetl-Secret": "guess"})[0] == 401


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give one of --webhook, --subject SUBJECT, --after PATH and --objects PLACE"),
        (["--webhook", "--after", "x"], "give one of --webhook"),
        (["--webhook", "--all"], "go with --after PATH"),
        (["--webhook", "--existing"], "go with --objects PLACE"),
        (["--objects", "ftp://x"], "'ftp://x' is no place where objects arrive"),
        (["--after", "x", "--on", "stuck"], "'stuck' is no end of an execution"),
        (["--after", "tests/*"], "would fire for ever: x starts tests/echo"),
        (["--webhook", "--batch", "many"], "--batch is 'many'"),
        (["--webhook", "--batch", "5/soon"], "batch.within is 'soon'"),
        (["--webhook", "--debounce", "soon"], "debounce is 'soon'"),
        (["--webhook", "--filter", "{{ order.paid }}"], "the filter reads 'order'"),
    ],
)
def test_a_trigger_that_makes_no_sense_is_refused_in_words(
    noetl: Noetl, arguments: list[str], told: str
) -> None:
    registered(noetl)
    done = noetl("trigger", "add", "x", "tests/echo", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_the_end_of_a_playbook_starts_another(at_server: Noetl) -> None:
    other = ECHO.replace("tests/echo", "tests/echo_after")
    (at_server.folder / "after.yaml").write_text(other)
    assert at_server("register", "after.yaml").returncode == 0
    add = ("trigger", "add", "next", "tests/echo_after", "--after", "tests/echo", "--as", "said")
    done = at_server(*add, "--filter", "{{ trigger.payload.output == 'go' }}")
    assert done.returncode == 0, done.stderr
    for said in ("stay", "go"):
        assert at_server("run", "tests/echo", "--set", f"said={said}").returncode == 0
    found = eventually(
        lambda: data(at_server, "trigger", "show", "next")["last_execution"], "an end that fires"
    )
    followed = json.loads(at_server("execution", "watch", found, "--json").stdout)
    assert (followed["output"]["path"], followed["output"]["output"]) == ("tests/echo", "go")
    history = at_server("trigger", "history", "next")
    assert [line.split()[1] for line in history.stdout.splitlines()] == ["fired", "filtered"]
    assert at_server("trigger", "delete", "next").returncode == 0


def called(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json", **headers}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


@pytest.mark.anywhere
def test_a_schedule_is_changed_in_place(noetl: Noetl) -> None:
    registered(noetl)
    name = f"edited-{noetl.folder.name}"
    assert (
        noetl("schedule", "add", name, "tests/echo", "--cron", "@yearly", "--set", "said=one").returncode == 0
    )
    done = noetl("schedule", "edit", name, "--timezone", "Europe/Berlin", "--cron", "0 4 1 1 *")
    assert done.returncode == 0, done.stderr
    assert "04:00:00 +0100 CET" in done.stderr
    changed = data(noetl, "schedule", "show", name)
    assert (changed["cron"], changed["workload"], changed["enabled"]) == ("0 4 1 1 *", {"said": "one"}, True)
    assert noetl("schedule", "show", name).stdout.count("+0100 CET") == 5
    done = noetl("schedule", "edit", name, "--every", "1h", "--set", "said=two")
    assert done.returncode == 0, done.stderr
    changed = data(noetl, "schedule", "show", name)
    assert (changed["cron"], changed["every_s"], changed["workload"]) == (None, 3600, {"said": "two"})
    assert data(noetl, "schedule", "edit", name, "--version", "1")["version"] == 1
    assert data(noetl, "schedule", "edit", name, "--overlap", "queue")["version"] == 1
    (noetl.folder / "other.yaml").write_text(ECHO.replace("tests/echo", "tests/other"))
    assert noetl("register", "other.yaml").returncode == 0
    changed = data(noetl, "schedule", "edit", name, "--path", "tests/other")
    assert (changed["path"], changed["version"]) == (
        "tests/other",
        None,
    )  # not held to that of the one before
    assert noetl("schedule", "edit", name).returncode == 2
    assert noetl("schedule", "edit", "absent-one", "--every", "1h").returncode == 2


def backfilled(noetl: Noetl, step: str) -> str:
    """A backfill of three days of a playbook with one step."""
    (noetl.folder / "day.yaml").write_text(document(step, name="day"))
    assert noetl("register", "day.yaml").returncode == 0
    span = ("--every", "1d", "--from", "2026-10-01", "--to", "2026-10-03")
    made = data(noetl, "schedule", "backfill", "tests/day", *span)
    return str(made["id"])


def test_a_backfill_tells_which_ticks_failed(at_server: Noetl) -> None:
    code = "assert not day.startswith('2026-10-02')"
    task = f'{{kind: python, input: {{day: "{{{{ trigger.tick }}}}", code: "{code}"}}}}'
    made = backfilled(at_server, f"- {{step: say, tool: {task}}}")
    eventually(lambda: data(at_server, "backfill", "show", made)["status"] == "done", "the last tick")
    shown = at_server("backfill", "show", made)
    assert shown.stdout.count("  execution ") == 3
    assert shown.stderr == f"those that failed: noetl backfill show {made} --failed\n"
    [failed] = data(at_server, "backfill", "show", made, "--failed")["ticks"]
    assert (failed["tick"], failed["status"]) == ("2026-10-02T00:00:00.000Z", "failed")


def test_a_backfill_shows_what_has_begun_and_not_what_waits(at_server: Noetl) -> None:
    made = backfilled(at_server, "- {step: say, tool: {kind: wait, input: {signal: go}}}")
    eventually(lambda: data(at_server, "backfill", "show", made)["ticks"], "the first tick")
    [begun] = data(at_server, "backfill", "show", made)["ticks"]
    assert begun["tick"] == "2026-10-01T00:00:00.000Z"
