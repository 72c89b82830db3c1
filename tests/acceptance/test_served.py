"""What a command does differently when a server runs the playbook: it may leave, and come back."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Noetl
from tests.acceptance.playbooks import document
from tests.acceptance.running import Process, eventually
from tests.acceptance.served import Server

WAITS = document("- {step: ask, tool: {kind: wait, signal: go}}", name="waits")
HELLO = document(
    '- {step: say, tool: {kind: noop, output: "{{ workload.name }}"}}',
    name="served",
    workload="workload: {name: you}",
)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "server", NOETL_LEASE_S="3").start()
    yield made
    made.kill()


@pytest.fixture
def remote(tmp_path: Path, server: str) -> Noetl:
    """The program in a folder of its own, with a server that others use too."""
    return Noetl(tmp_path, server)


def shown(noetl: Noetl, execution: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(noetl("execution", "show", execution, "--json").stdout)
    return found


def waiting(noetl: Noetl, path: str = "tests/waits") -> str:
    """The id of an execution that waits for its signal."""
    listed = json.loads(noetl("execution", "list", "--path", path, "--limit", "1", "--json").stdout)
    if not listed:
        return ""
    execution = str(listed[0]["execution_id"])
    parked = noetl("execution", "events", execution, "--name", "task.parked", "--json").stdout
    return execution if parked else ""


def test_a_detached_run_goes_on_and_can_be_watched(remote: Noetl) -> None:
    (remote.folder / "waits.yaml").write_text(WAITS)
    done = remote("run", "waits.yaml", "--detach")
    execution = done.stdout.strip()
    assert (done.returncode, len(execution)) == (0, 32)
    assert f"noetl execution watch {execution}" in done.stderr
    watching = Process(remote, "execution", "watch", execution, "--events")
    assert remote("execution", "signal", execution, "go", "--payload", "{a: 1}").returncode == 0
    watched = watching.wait()
    assert watched.returncode == 0
    lines = [json.loads(line) for line in watched.stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines == [
        json.loads(line) for line in remote("execution", "events", execution, "--json").stdout.splitlines()
    ]
    assert shown(remote, execution)["output"] == {"a": 1}


def test_a_timeout_leaves_the_run_to_the_server(remote: Noetl) -> None:
    (remote.folder / "waits.yaml").write_text(WAITS)
    done = remote("run", "waits.yaml", "--json", "--timeout", "1")
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"]) == (124, "timeout")
    execution = result["execution_id"]
    assert f"noetl execution cancel {execution}" in done.stderr
    assert shown(remote, execution)["status"] == "waiting"
    assert remote("execution", "cancel", execution).returncode == 0
    assert shown(remote, execution)["status"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_run_to_the_server_and_says_how_to_go_on(
    remote: Noetl, number: signal.Signals
) -> None:
    path = f"tests/waits_{number}"
    (remote.folder / "waits.yaml").write_text(WAITS.replace("tests/waits", path))
    running = Process(remote, "run", "waits.yaml")
    execution = eventually(lambda: waiting(remote, path), "the wait")
    running.send(number)
    done = running.wait()
    assert done.returncode == 130
    assert f"noetl execution watch {execution}" in done.stderr
    assert f"noetl execution cancel {execution}" in done.stderr
    assert "resume" not in done.stderr
    assert shown(remote, execution)["status"] == "waiting"
    assert remote("execution", "cancel", execution, "--why", "enough").returncode == 0


def test_the_page_of_a_run_stands_beside_its_id(remote: Noetl) -> None:
    (remote.folder / "hello.yaml").write_text(HELLO)
    done = remote("run", "hello.yaml")
    assert done.returncode == 0
    execution = done.stderr.split()[1]
    assert f"{remote.server}/executions/{execution}" in done.stderr


def test_server_may_be_a_flag_of_run_or_a_context(remote: Noetl) -> None:
    (remote.folder / "hello.yaml").write_text(HELLO)
    url = remote.environment.pop("NOETL_SERVER")
    assert remote("run", "hello.yaml", "-q", "--server", url).stdout == '"you"\n'
    assert not (remote.folder / ".noetl").exists()
    remote("context", "add", "here", url)
    assert remote("run", "hello.yaml", "-q", "--server", "here", "--set", "name=me").stdout == '"me"\n'
    wrong = remote("run", "hello.yaml", "--server", "nowhere")
    assert (wrong.returncode, "no address of a server" in wrong.stderr) == (2, True)


FAILS = document('- {step: bad, tool: {kind: python, input: {code: "1/0"}}}', name="fails")


def test_a_command_that_a_run_on_a_named_server_prints_reaches_that_server(remote: Noetl) -> None:
    (remote.folder / "fails.yaml").write_text(FAILS)
    url = remote.environment.pop("NOETL_SERVER")
    failed = remote("run", "fails.yaml", "-q", "--server", url)
    why = next(line for line in failed.stderr.splitlines() if "noetl execution why" in line)
    told = remote.shell(why.partition("try: ")[2])
    assert (told.returncode, "ZeroDivisionError" in told.stdout) == (0, True)
    (remote.folder / "waits.yaml").write_text(WAITS)
    left = remote("run", "waits.yaml", "--timeout", "0.1", "--server", url)
    cancel = left.stderr.partition("end it with: ")[2].splitlines()[0]
    assert remote.shell(f"{cancel} --json").returncode == 0
    assert not (remote.folder / ".noetl").exists()


@pytest.mark.parametrize(
    "command",
    ["execution list", "catalog list", "credential list", "schedule list", "trigger list", "token list",
     "worker list", "execution show @last", "render 1 --at @last", "doctor"],
)  # fmt: skip
def test_server_is_a_flag_of_every_command_that_may_ask_one(noetl: Noetl, command: str) -> None:
    done = noetl(*command.split(), "--server", "http://127.0.0.1:1")
    assert done.returncode == 3
    assert "http://127.0.0.1:1 cannot be reached" in done.stderr + done.stdout


def test_a_path_is_that_of_the_server_else_that_of_a_file_of_the_project(remote: Noetl) -> None:
    (remote.folder / "deep").mkdir()
    (remote.folder / "deep" / "mine.yaml").write_text(HELLO.replace("tests/served", "tests/of_the_project"))
    assert remote("run", "tests/of_the_project", "-q").stdout == '"you"\n'
    (remote.folder / "deep" / "mine.yaml").unlink()
    assert remote("run", "tests/of_the_project", "-q").stdout == '"you"\n'
    near = remote("run", "tests/of_the_projekt")
    assert near.returncode == 2
    assert "did you mean 'tests/of_the_project'?" in near.stderr


def test_register_sends_the_files_that_a_playbook_calls(remote: Noetl) -> None:
    child = document(
        '- {step: s, tool: {kind: noop, output: "{{ workload.n * 2 }}"}}',
        name="twice",
        workload="workload: {n: 1}",
    )
    parent = document(
        "- {step: s, tool: {kind: playbook, path: sub/twice.yaml, input: {n: 4}}}", name="calls"
    )
    (remote.folder / "sub").mkdir()
    (remote.folder / "sub" / "twice.yaml").write_text(child)
    (remote.folder / "calls.yaml").write_text(parent)
    assert remote("register", "calls.yaml").returncode == 0
    assert "path: tests/twice" in remote("catalog", "show", "tests/calls").stdout
    assert remote("run", "tests/calls", "-q").stdout == "8\n"
    (remote.folder / "sub" / "twice.yaml").write_text(child.replace("noop", "nop"))
    refused = remote("run", "calls.yaml")
    assert refused.returncode == 2
    assert "the playbook calls 'twice.yaml', which has errors" in refused.stderr


def test_catalog_and_credentials_are_those_of_the_server(remote: Noetl) -> None:
    (remote.folder / "one.yaml").write_text(HELLO.replace("tests/served", "tests/of_the_catalog"))
    assert remote("register", "one.yaml").stdout == "tests/of_the_catalog v1\n"
    (remote.folder / "one.yaml").write_text(
        HELLO.replace("tests/served", "tests/of_the_catalog").replace("you", "me")
    )
    remote("register", "one.yaml")
    assert [
        item["version"]
        for item in json.loads(remote("catalog", "list", "tests/of_the_catalog", "--json").stdout)
    ] == [2, 1]
    assert "+workload: {name: me}" in remote("catalog", "diff", "tests/of_the_catalog").stdout
    assert remote("catalog", "delete", "tests/of_the_catalog").returncode == 0
    assert remote("catalog", "show", "tests/of_the_catalog").returncode == 2
    assert (
        remote("credential", "set", "pg", "--field", "user=app", "--value", "-", stdin="hidden").returncode
        == 0
    )
    assert json.loads(remote("credential", "show", "pg", "--json").stdout)["fields"] == ["user", "value"]
    assert "pg" in remote("credential", "list").stdout
    assert remote("credential", "rotate-key").returncode == 0
    assert remote("credential", "delete", "pg").returncode == 0
    assert remote("credential", "show", "pg").returncode == 2
    assert not (remote.folder / ".noetl").exists()


def test_a_run_is_followed_through_a_crash_of_its_server(own_server: Server, tmp_path: Path) -> None:
    noetl = Noetl(tmp_path, own_server.url)
    (tmp_path / "waits.yaml").write_text(WAITS)
    running = Process(noetl, "run", "waits.yaml", "--events")
    execution = eventually(lambda: waiting(noetl), "the wait")
    own_server.kill()
    own_server.start()
    eventually(lambda: noetl("execution", "signal", execution, "go").returncode == 0, "the signal")
    done = running.wait()
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["name"] == "playbook.processed"
    assert "trying again" in done.stderr
    assert noetl("execution", "replay", execution).returncode == 0


def test_doctor_asks_the_server(remote: Noetl) -> None:
    done = remote("doctor", "--json")
    assert done.returncode == 0
    found = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert found["server"]["state"] == "ok"
    assert remote.server in found["server"]["told"]


def test_a_guarded_server_lets_in_who_has_its_token(tmp_path: Path) -> None:
    made = Server(tmp_path / "guarded", NOETL_AUTH="on")
    operator = Noetl(made.folder)
    operator.environment["NOETL_HOME"] = made.environment["NOETL_HOME"]
    token = operator("token", "create", "ann", "--scope", "admin").stdout.split()[-1]
    made.start()
    try:
        (tmp_path / "project").mkdir()
        noetl = Noetl(tmp_path / "project")
        (noetl.folder / "noetl.toml").write_text(f"server = '{made.url}'\n")
        (noetl.folder / "hello.yaml").write_text(HELLO)
        refused = noetl("run", "hello.yaml", NOETL_TOKEN=token)
        assert (refused.returncode, "error[denied]" in refused.stderr) == (2, True)
        assert "noetl context add NAME" in refused.stderr
        assert "NOETL_TOKEN is not sent" in refused.stderr
        assert noetl("run", "hello.yaml", "-q", "--server", made.url, NOETL_TOKEN=token).stdout == '"you"\n'
        noetl("context", "add", "mine", made.url, "--token", "-", stdin=token)
        assert noetl("run", "hello.yaml", "-q").stdout == '"you"\n'
    finally:
        made.kill()


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["server", "start", "--port", "0", "--bus", "nonsense"], 2),
        (["worker", "start", "--bus", "nonsense"], 2),
        (["worker", "start", "--bus", "nats://127.0.0.1:1"], 3),
    ],
)
@pytest.mark.parametrize("how", [[], ["--background"]])
def test_what_cannot_start_leaves_with_the_same_code_in_the_background(
    noetl: Noetl, arguments: list[str], code: int, how: list[str]
) -> None:
    assert noetl(*arguments, *how).returncode == code


def test_the_workers_of_a_server_tell_their_host_and_pid_wherever_they_were_started(
    tmp_path: Path, cluster: str
) -> None:
    """What is told does not come from files of this machine: the folder here knows no worker."""
    noetl = Noetl(tmp_path, cluster)
    worker = json.loads(noetl("worker", "list", "--json").stdout)[0]
    os.kill(worker["pid"], 0)  # raises where there is no such process
    assert worker["pid"] != os.getpid()
    assert worker["host"] == socket.gethostname()
    assert f"host {worker['host']}  pid {worker['pid']}" in noetl("worker", "list").stdout
