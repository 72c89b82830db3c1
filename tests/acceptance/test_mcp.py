"""`noetl mcp` as a process: called by the program's own mcp kind, and by clients that mean no good."""

import json
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.acceptance.conftest import NOETL, Noetl
from tests.acceptance.playbooks import Run, document
from tests.acceptance.running import WAIT_S, audit_all, eventually

Write = Callable[[str, str], str]

HELLO = document(
    """
    - step: start
      tool: {name: greet, kind: python, input: {who: "{{ workload.who }}", code: "result = f'hello {who}'"}}
    """,
    name="hello",
    workload="workload: {who: you}",
)
FAILS = document(
    """
    - step: start
      tool: {name: fall, kind: python, input: {code: "print('over'); raise ValueError('it broke')"}}
    """,
    name="fails",
)
WAITS = document("- {step: ask, tool: {name: wait, kind: wait, input: {signal: go}}}", name="waits")


class Client:
    """A client that speaks line by line, and may say anything."""

    def __init__(self, noetl: Noetl, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [NOETL, "mcp", *arguments],
            cwd=noetl.folder,
            env=noetl.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.err = b""
        self.readers = [threading.Thread(target=self._read), threading.Thread(target=self._hear)]
        for reader in self.readers:
            reader.start()
        self.last = 0

    def _read(self) -> None:
        for line in self.stdout:
            self.lines.put(line)

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.err = self.process.stderr.read()

    def say(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def hear(self) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads(self.lines.get(timeout=WAIT_S))
        return heard

    def send(self, method: str, **params: Any) -> int:
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        heard = self.hear()
        assert heard["id"] == number, heard
        return heard

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a tool's result."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        data: dict[str, Any] = result["structuredContent"]
        return data | {"isError": True} if result["isError"] else data

    def open(self) -> "Client":
        info = {"name": "test", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def close(self) -> int:
        """Nothing more to say; the exit code."""
        self.stdin.close()
        code = self.process.wait(timeout=WAIT_S)
        for reader in self.readers:
            reader.join()
        self.stdout.close()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture
def client(noetl: Noetl) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def start(*arguments: str) -> Client:
        made.append(Client(noetl, *arguments))
        return made[-1].open()

    yield start
    for one in made:
        if not one.stdin.closed:
            one.close()
    audit_all(noetl.folder)


def program(noetl: Noetl) -> str:
    return json.dumps([NOETL, "mcp"])


@pytest.mark.anywhere
def test_the_mcp_kind_of_a_playbook_is_a_client_of_it(noetl: Noetl, write: Write) -> None:
    """Both ends are ours: validate, register, run, explain, all from a playbook."""
    write("hello.yaml", HELLO)
    env = {name: value for name, value in noetl.environment.items() if name.startswith("NOETL_")}
    common = f"server: {program(noetl)}, env: {json.dumps(env)}"
    text = document(
        f"""
        - step: start
          tool:
            - {{name: check, kind: mcp, input: {{{common}, tool: validate, arguments: {{file: hello.yaml}}}}}}
            - {{name: keep, kind: mcp, input: {{{common}, tool: register, arguments: {{file: hello.yaml}}}}}}
            - name: ran
              kind: mcp
              input: {{{common}, tool: run, arguments: {{path: tests/hello, workload: {{who: Ada}}}}}}
            - name: why
              kind: mcp
              input: {{{common}, tool: why, arguments: {{execution: "{{{{ ran.data.execution_id }}}}"}}}}
            - name: events
              kind: mcp
              input:
                server: {program(noetl)}
                env: {json.dumps(env)}
                tool: events
                arguments: {{execution: "{{{{ ran.data.execution_id }}}}", name: step.*}}
            - name: all
              kind: noop
              output:
                valid: "{{{{ check.data.valid }}}}"
                kept: "{{{{ keep.data.path }}}}"
                said: "{{{{ ran.data.output }}}}"
                why: "{{{{ why.data.summary }}}}"
                events: "{{{{ events.data['items'] | map(attribute='name') | list }}}}"
        """
    )
    write("case.yaml", text)
    here = Noetl(noetl.folder)  # the playbook itself runs here, where the program is; what it calls may not
    ran = Run(here, text)
    assert ran.code == 0, ran.error
    found = ran.json["output"]
    assert (found["valid"], found["kept"], found["said"]) == (True, "tests/hello", "hello Ada")
    assert "completed" in found["why"]
    assert {"step.scheduled", "step.started", "step.done"} <= set(found["events"])
    audit_all(noetl.folder)


@pytest.mark.anywhere
def test_everything_an_agent_needs_in_one_conversation(client, write: Write) -> None:
    write("hello.yaml", HELLO)
    agent = client()
    assert [tool["name"] for tool in agent.ask("tools/list")["result"]["tools"]] == [
        "validate", "tool_kinds", "docs", "run", "test", "register", "playbooks", "executions", "execution",
        "why", "events", "render", "cancel", "signal", "release", "retry",
    ]  # fmt: skip
    assert agent.call("validate", playbook=HELLO.replace("python", "pyton"))["diagnostics"][0]["line"] == 7
    assert "http" in [one["kind"] for one in agent.call("tool_kinds")["kinds"]]
    assert agent.call("tool_kinds", kind="http")["example"].startswith("apiVersion")
    read = agent.ask("resources/read", uri="noetl://examples/hello.yaml")["result"]["contents"][0]
    assert agent.call("docs", uri=read["uri"])["text"] == read["text"]
    assert agent.call("validate", playbook=read["text"], strict=True)["diagnostics"] == []
    said = agent.ask("prompts/get", name="explain_execution", arguments={"execution": "@last"})["result"]
    assert "@last" in said["messages"][0]["content"]["text"]
    kept = agent.call("register", file="hello.yaml")
    assert agent.call("playbooks", path="tests/hello")["playbook"] == HELLO
    assert kept["path"] in [one["path"] for one in agent.call("playbooks")["items"]]
    ran = agent.call("run", path="tests/hello", workload={"who": "Grace"})
    assert (ran["status"], ran["output"]) == ("completed", "hello Grace")
    told = agent.call("run", playbook=FAILS)
    assert (told["status"], told["error"]["kind"]) == ("failed", "python")
    assert "it broke" in told["why"]
    broken = agent.call("why", execution=told["execution_id"])
    assert any("it broke" in reason["text"] for reason in broken["reasons"])
    page = agent.call("events", execution=ran["execution_id"], limit=3)
    assert [event["seq"] for event in page["items"]] == [1, 2, 3]
    rest = agent.call("events", **{"execution": ran["execution_id"], "from": page["next"], "limit": 1000})
    assert (rest["items"][0]["seq"], rest["next"]) == (4, None)
    shown = agent.call("render", execution=ran["execution_id"], template="{{ workload.who | upper }}")
    assert shown["value"] == "GRACE"
    listed = agent.call("executions", path="tests/fails", status="failed", limit=1)["items"]
    assert [one["execution_id"] for one in listed] == [told["execution_id"]]
    again = agent.call("retry", execution=told["execution_id"])
    assert (again["status"], again["retry_of"]) == ("failed", told["execution_id"])
    assert agent.close() == 0


@pytest.mark.anywhere
def test_an_execution_that_waits_is_left_signalled_and_cancelled(client) -> None:
    agent = client()
    left = agent.call("run", playbook=WAITS, wait_s=0.2)
    assert left["status"] in ("running", "waiting")
    assert left["execution_id"] in left["hint"]
    name = left["execution_id"]
    shown = eventually(lambda: agent.call("execution", execution=name)["waiting"], "it waits")
    assert "go" in json.dumps(shown)
    agent.call("signal", execution=name, name="go", payload={"n": 1})
    done = eventually(
        lambda: (it := agent.call("execution", execution=name))["status"] == "completed" and it, "end"
    )
    assert done["output"] == {"n": 1}
    other = agent.call("run", playbook=WAITS, wait_s=0)["execution_id"]
    agent.call("cancel", execution=other, why="no need")
    eventually(lambda: agent.call("execution", execution=other)["status"] == "cancelled", "cancelled")


@pytest.mark.anywhere
def test_a_run_that_is_withdrawn_is_cancelled_and_never_answered(client) -> None:
    agent = client()
    waits = WAITS.replace("tests/waits", "tests/withdrawn")
    number = agent.send("tools/call", name="run", arguments={"playbook": waits})
    waiting = {"path": "tests/withdrawn", "status": "waiting"}
    found = eventually(lambda: agent.call("executions", **waiting)["items"], "it waits")
    agent.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    name = found[0]["execution_id"]
    eventually(lambda: agent.call("execution", execution=name)["status"] == "cancelled", "cancelled")
    assert agent.close() == 0
    assert agent.lines.empty()


def test_what_goes_wrong_in_a_tool_is_its_answer(client) -> None:
    agent = client()
    wrong = {
        "not-found": agent.call("run", path="no/such"),
        "request": agent.call("run"),
        "playbook": agent.call("run", playbook="a: 1"),
        "arguments": agent.call("events", execution="@last", limit=0),
    }
    assert {name: told["error"]["code"] for name, told in wrong.items()} == {name: name for name in wrong}
    assert all(told["isError"] for told in wrong.values())
    assert wrong["playbook"]["error"]["diagnostics"][0]["code"] == "missing-key"
    assert agent.call("cancel", execution="@last")["error"]["code"] == "not-found"
    over = agent.call("run", playbook=HELLO)["execution_id"]
    released = agent.call("release", execution=over)["error"]
    assert (released["code"], "not stuck" in released["message"]) == ("conflict", True)
    assert "additional" in agent.call("why", execution="x", unknown=1)["error"]["message"].lower()
    unknown = agent.ask("tools/call", name="vallidate", arguments={})
    assert unknown["error"]["code"] == -32602
    assert "did you mean 'validate'?" in unknown["error"]["message"]


def test_looking_makes_no_store_and_read_only_offers_nothing_that_changes(client, noetl: Noetl) -> None:
    agent = client("--read-only")
    names = [tool["name"] for tool in agent.ask("tools/list")["result"]["tools"]]
    assert names == [
        "validate",
        "tool_kinds",
        "docs",
        "playbooks",
        "executions",
        "execution",
        "why",
        "events",
        "render",
    ]
    assert agent.ask("tools/call", name="run", arguments={})["error"]["code"] == -32602
    assert agent.call("executions") == {"items": []}
    assert agent.call("playbooks") == {"items": []}
    assert agent.call("why", execution="@last")["error"]["code"] == "not-found"
    assert not (noetl.folder / ".noetl").exists()


def test_tests_are_run_for_an_agent(client, write: Write) -> None:
    write("hello.yaml", HELLO)
    write("hello.test.yaml", "playbook: hello.yaml\ntests: [{name: greets, expect: {output: hello you}}]\n")
    agent = client()
    told = agent.call("test", path="hello.yaml")
    assert (told["passed"], told["failed"]) == (1, 0)
    assert agent.call("test", path="nowhere")["isError"]


def test_standard_output_carries_messages_and_nothing_else(client, noetl: Noetl) -> None:
    noisy = document(
        """
        - step: start
          tool:
            - {name: a, kind: shell, input: {command: "echo loud; echo louder >&2"}}
            - {name: b, kind: python, input: {code: "print('loudest')\\nresult = 1"}}
        """
    )
    agent = client()
    assert agent.call("run", playbook=noisy)["status"] == "completed"
    assert agent.close() == 0
    assert agent.lines.empty()


def test_hostile_lines_are_refused_and_the_conversation_goes_on(client) -> None:
    agent = client()
    for line in (
        b"\x00\xff",
        b"[" * 50_000,
        b'"' + b"x" * 100_000,
        b"{}",
        b"[]",
        b"null",
        b'{"jsonrpc":"2.0"}',
    ):
        agent.say(line)
        assert agent.hear()["error"]["code"] in (-32700, -32600)
    agent.say(b"\n\n   \n")
    agent.say(b"x" * (17 * 1024 * 1024) + b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert agent.hear()["error"]["code"] == -32700
    assert agent.ask("ping")["result"] == {}
    assert agent.close() == 0


def test_the_end_of_input_ends_it_and_what_was_asked_before_is_answered(noetl: Noetl, write: Write) -> None:
    write("hello.yaml", HELLO)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"_meta": meta, "name": "validate", "arguments": {"file": "hello.yaml"}}
    line = json.dumps({"jsonrpc": "2.0", "id": "only", "method": "tools/call", "params": params})
    done = noetl("mcp", stdin=line)  # not even a line break at the end
    assert (done.returncode, done.stderr) == (0, "")
    (printed,) = done.stdout.splitlines()
    assert json.loads(printed)["result"]["structuredContent"]["valid"] is True
    assert noetl("mcp", stdin="").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_what_ran_can_be_resumed(client, noetl: Noetl, number) -> None:
    agent = client()
    name = agent.call("run", playbook=WAITS, wait_s=0)["execution_id"]
    agent.process.send_signal(number)
    assert agent.process.wait(timeout=WAIT_S) == 0
    agent.close()
    assert noetl("execution", "signal", name, "go").returncode == 0
    assert noetl("execution", "resume", name, "--quiet").returncode == 0


def test_a_client_that_is_gone_ends_it(noetl: Noetl) -> None:
    reader = subprocess.Popen(
        [NOETL, "mcp"], cwd=noetl.folder, env=noetl.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdout.close()
    with reader.stdin as stdin:
        stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2)
    assert reader.wait(timeout=WAIT_S) == 0


def test_a_server_that_is_not_there_is_told_with_each_call(client) -> None:
    agent = client("--server", "http://127.0.0.1:1")
    told = agent.call("executions")
    assert (told["isError"], told["error"]["code"]) == (True, "backend")


def test_help_says_how_clients_are_told_of_it(noetl: Noetl) -> None:
    shown = noetl("mcp", "--help").stdout
    assert '"args": ["mcp"]' in shown
