"""MCP over HTTP, by real requests: the protocol of each version, and the same rights as over REST."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from noetl.ports import mcp_protocol as protocol
from noetl.ports.front import TokenAsk
from noetl.server.concurrency_limit import ConcurrencyLimit
from noetl.server.routes import mcp
from tests.unit.server.serving import BROKEN, HELLO, LONG, WAITS, Served, guarded

BOTH = "application/json, text/event-stream"
HELLO_PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
META = {f"{protocol.META}protocolVersion": "2026-07-28", f"{protocol.META}clientCapabilities": {}}


class Client:
    """A client of one session, with a token or without."""

    def __init__(self, http: httpx2.AsyncClient, bearer: str | None = None) -> None:
        self.http, self.last = http, 0
        self.headers = {"Accept": BOTH, "Authorization": f"Bearer {bearer}"} if bearer else {"Accept": BOTH}

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        own = {"Content-Type": "application/json", **self.headers, **headers}
        return await self.http.post("/mcp", content=body, headers=own)

    async def open(self, version: str = "2025-11-25") -> "Client":
        answer = await self.send("initialize", HELLO_PARAMS | {"protocolVersion": version})
        self.headers |= {
            "Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": answer.json()["result"]["protocolVersion"],
        }
        told = await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (told.status_code, told.content) == (202, b"")
        return self

    async def send(self, method: str, params: Any = None) -> httpx2.Response:
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}
        return await self.post(message)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.send(method, params)
        assert answer.status_code == 200, answer.text
        return messages(answer)[-1]

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a tool's result, or its error."""
        result = (await self.ask("tools/call", name=tool, arguments=arguments))["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        data: dict[str, Any] = result["structuredContent"]
        assert result["isError"] == (set(data) == {"error"})
        return data

    async def tools(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["result"]["tools"]]


def messages(answer: httpx2.Response) -> list[dict[str, Any]]:
    """Everything that an answer says, be it one message or a stream of them."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    return [answer.json()]


@asynccontextmanager
async def with_tokens(folder: Path) -> AsyncIterator[tuple[Served, Any]]:
    async with guarded(folder) as server:

        async def client(scopes: list[Any], prefixes: list[str] | None = None) -> Client:
            ask = TokenAsk(name="-".join(scopes), scopes=scopes, prefixes=prefixes or [])
            return Client(server.client, (await server.made.front.new_token(ask)).bearer)

        yield server, client


READ = ["validate", "tool_kinds", "docs", "playbooks", "executions", "execution", "why", "events", "render"]
RUN = ["run", "cancel", "signal", "release", "retry"]


async def test_an_agent_writes_a_playbook_that_is_valid_at_once_and_runs_it(tmp_path: Path) -> None:
    """The prompt and the resources are enough: an example is taken and changed, and nothing is wrong with it."""
    async with with_tokens(tmp_path) as (server, client):
        agent = await (await client(["run", "write"], ["team"])).open()
        assert [one["name"] for one in (await agent.ask("prompts/list"))["result"]["prompts"]] == [
            "write_playbook",
            "explain_execution",
        ]
        task = {"task": "convert the temperatures of Bergen and Lima"}
        asked = await agent.ask("prompts/get", name="write_playbook", arguments=task)
        words, page = (message["content"] for message in asked["result"]["messages"])
        assert "Bergen and Lima" in words["text"]
        assert "* `python`:" in words["text"]
        assert page["resource"]["text"].startswith("# The language on one page")
        listed = [one["uri"] for one in (await agent.ask("resources/list"))["result"]["resources"]]
        assert {"noetl://schema/playbook.json", "noetl://tools/python.md", "noetl://examples/loop.yaml"} < {
            *listed
        }
        read = await agent.ask("resources/read", uri="noetl://examples/loop.yaml")
        example = read["result"]["contents"][0]["text"]
        mine = re.sub(r"\{name: Oslo, celsius: 4\}", "{name: Bergen, celsius: 9}", example)
        mine = mine.replace("path: examples/loop", "path: team/temperatures")
        assert mine != example

        checked = await agent.call("validate", playbook=mine, strict=True)
        assert (checked["valid"], checked["diagnostics"]) == (True, [])
        assert (await agent.call("register", playbook=mine))["path"] == "team/temperatures"
        begun = await agent.call("run", path="team/temperatures", wait_s=0)
        ended = await server.ended(begun["execution_id"])
        assert ended["status"] == "completed"
        shown = await agent.call("execution", execution="@last")
        assert shown["output"] == ended["output"]
        assert "Bergen" in json.dumps(shown["output"])
        assert "completed" in (await agent.call("why", execution="@last:team/temperatures"))["summary"]


async def test_every_text_that_agents_are_given_as_an_example_is_valid(tmp_path: Path) -> None:
    async with with_tokens(tmp_path) as (_, client):
        agent = await (await client(["read"])).open()
        for one in (await agent.call("docs"))["items"]:
            text = (await agent.call("docs", uri=one["uri"]))["text"]
            assert text.strip(), one
            if one["uri"].startswith("noetl://examples/"):
                checked = await agent.call("validate", playbook=text, strict=True)
                assert checked["diagnostics"] == [], one
        finding = await agent.ask("resources/read", uri="noetl://docs/errors/unknown-key.md")
        assert "unknown-key" in finding["result"]["contents"][0]["text"]
        templates = (await agent.ask("resources/templates/list"))["result"]["resourceTemplates"]
        assert [one["uriTemplate"] for one in templates] == ["noetl://docs/errors/{code}.md"]


async def test_an_agent_hears_of_no_path_beyond_its_own_by_a_misspelt_one(tmp_path: Path) -> None:
    async with with_tokens(tmp_path) as (server, client):
        await server.made.front.register(HELLO, by="test")
        for prefix, corrected in (("testz", False), ("tests", True)):
            told = await (await client(["run"], [prefix])).call("run", path=f"{prefix}/helo")
            assert ("tests/hello" in str(told)) == corrected, told


@pytest.mark.parametrize(
    "tool, arguments, hint",
    [
        ("run", {"playbook": HELLO, "work_load": {}}, "did you mean 'workload'?"),
        ("why", {"Execution": "@last"}, "did you mean 'execution'?"),
        ("why", {"id": "@last"}, "why takes: execution (needed), step"),
        ("events", {"execution": "@last", "limit": "ten"}, "events takes: execution (needed), step, from, name, limit"),
    ],
)  # fmt: skip
async def test_whoever_calls_with_a_wrong_argument_is_told_the_right_one(
    tmp_path: Path, tool: str, arguments: dict[str, Any], hint: str
) -> None:
    async with with_tokens(tmp_path) as (_, client):
        told = await (await client(["read", "run"])).call(tool, **arguments)
        assert (told["error"]["code"], told["error"]["hint"]) == ("arguments", hint)


async def test_a_token_brings_the_tools_that_it_may_call_and_the_others_are_not_there(tmp_path: Path) -> None:
    async with with_tokens(tmp_path) as (server, client):
        assert sorted(await (await client(["read"])).tools()) == sorted(READ)
        assert sorted(await (await client(["run"])).tools()) == sorted(READ + RUN)
        assert sorted(await (await client(["write"])).tools()) == sorted([*READ, "register"])
        assert sorted(await (await client(["admin"])).tools()) == sorted([*READ, *RUN, "register"])
        reader = await client(["read"])
        refused = await reader.ask("tools/call", name="run", arguments={"path": "tests/hello"})
        assert refused["error"]["code"] == protocol.INVALID_PARAMS
        assert [tool for tool in await reader.tools() if tool == "test"] == []  # a server has no files
        told = await reader.call("validate", file="/etc/passwd")
        assert told["error"]["code"] == "arguments"
        for bearer in (None, "noetl_0000000000000000_" + "A" * 43):
            nobody = Client(httpx2.AsyncClient(base_url=server.url, timeout=LONG), bearer)
            answer = await nobody.send("tools/list")
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            await nobody.http.aclose()
        worker = await (await client(["worker"])).send("tools/list")
        assert worker.status_code == 403
        runner = await client(["run"])
        refused_text = await runner.call("run", playbook=HELLO)  # a text is a playbook that is written
        assert (refused_text["error"]["code"], "'write'" in refused_text["error"]["message"]) == (
            "denied",
            True,
        )


async def test_a_prefix_hides_by_mcp_what_it_hides_by_rest(tmp_path: Path) -> None:
    async with with_tokens(tmp_path) as (server, client):
        hidden = await server.run(HELLO)
        mine = HELLO.replace("tests/hello", "team/hello")
        own = await server.run(mine)
        agent = await client(["run", "write"], ["team"])
        assert [one["path"] for one in (await agent.call("playbooks"))["items"]] == ["team/hello"]
        listed = (await agent.call("executions"))["items"]
        assert [one["execution_id"] for one in listed] == [own["execution_id"]]
        name = {"execution": hidden["execution_id"]}
        for tool, arguments in [
            ("execution", name),
            ("why", name),
            ("events", name),
            ("render", {**name, "template": "{{ workload.name }}"}),
            ("cancel", name),
            ("signal", {**name, "name": "go"}),
            ("retry", name),
            ("release", name),
            ("execution", {"execution": hidden["execution_id"][:12]}),
            ("why", {"execution": "@last:tests/hello"}),
            ("playbooks", {"path": "tests/hello"}),
            ("run", {"path": "tests/hello"}),
            ("run", {"playbook": HELLO}),
            ("register", {"playbook": HELLO}),
        ]:
            told = await agent.call(tool, **arguments)
            assert told.get("error", {}).get("code") == "not-found", (tool, arguments, told)
        ran = await agent.call("run", path="team/hello", workload={"name": "Ada"}, idempotency_key="k")
        assert (ran["status"], ran["output"], ran["by"]) == ("completed", "hello Ada", "run-write")
        again = await agent.call("run", path="team/hello", workload={"name": "Ada"}, idempotency_key="k")
        assert again["execution_id"] == ran["execution_id"]
        other = await client(["run"])  # the key of a limited token is not that of others
        its_own = await other.call("run", path="team/hello", workload={"name": "Bo"}, idempotency_key="k")
        assert its_own["output"] == "hello Bo"
        assert (await agent.call("register", playbook=BROKEN))["error"]["diagnostics"]


@pytest.fixture
def agent(server: Served) -> Client:
    """A client of a server that asks nobody who they are."""
    return Client(server.client)


async def test_progress_and_the_answer_come_as_a_stream_that_ends_with_the_answer(agent: Client) -> None:
    await agent.open()
    arguments = {"name": "run", "arguments": {"playbook": HELLO}, "_meta": {"progressToken": "p"}}
    answer = await agent.send("tools/call", arguments)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *told, last = messages(answer)
    assert {one["method"] for one in told} == {"notifications/progress"}
    assert any("greet" in one["params"]["message"] for one in told)
    assert last["result"]["structuredContent"]["output"] == "hello world"
    agent.headers["Accept"] = "application/json"
    plain = await agent.send("tools/call", arguments)
    assert plain.json()["result"]["structuredContent"]["status"] == "completed"


async def test_without_a_handshake_the_headers_say_what_the_body_says(agent: Client) -> None:
    async def send(method: str, params: dict[str, Any], **headers: str) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": META}}
        return await agent.post(message, **headers)

    said = {"MCP-Protocol-Version": "2026-07-28"}
    found = await send("server/discover", {}, **said, **{"Mcp-Method": "server/discover"})
    assert found.json()["result"]["supportedVersions"] == ["2026-07-28"]
    assert "mcp-session-id" not in found.headers
    called = said | {"Mcp-Method": "tools/call"}
    arguments = {"name": "validate", "arguments": {"playbook": HELLO}}
    for name in ("validate", f"=?base64?{b64encode(b'validate').decode()}?="):
        answer = await send("tools/call", arguments, **called, **{"Mcp-Name": name})
        assert answer.json()["result"]["structuredContent"]["valid"] is True
    for headers in (
        {},
        said,
        called,
        called | {"Mcp-Name": "run"},
        called | {"Mcp-Name": "=?base64?!?="},
        called | {"Mcp-Name": "validate", "Mcp-Method": "tools/list"},
        called | {"Mcp-Name": "validate", "MCP-Protocol-Version": "2025-11-25"},
    ):
        refused = await send("tools/call", arguments, **headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, protocol.HEADER_MISMATCH)
        assert refused.json()["id"] == 7
    unknown = await send("tools/forget", {}, **said, **{"Mcp-Method": "tools/forget"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, protocol.METHOD_NOT_FOUND)
    newer = await agent.post(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **{"MCP-Protocol-Version": "2099"}
    )
    assert (newer.status_code, newer.json()["error"]["code"]) == (400, protocol.UNSUPPORTED_VERSION)


async def test_a_client_without_the_header_is_of_the_version_that_has_lists(agent: Client) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = await agent.post([ping, told, {**ping, "id": 2}])
    assert [one["id"] for one in answer.json()] == [1, 2]
    assert (await agent.post([told])).status_code == 202
    assert (await agent.post([ping] * (mcp.BATCH_MAX + 1))).status_code == 400
    newer = await agent.post([ping], **{"MCP-Protocol-Version": "2025-11-25"})
    assert newer.json()["error"]["code"] == protocol.INVALID_REQUEST


NO_MESSAGES = [b"", b"{", b"\xff\x00", b"[" * 50_000, b"null", b"[]", b'"text"', b"{}", b'{"jsonrpc": "2.0"}']


async def test_what_is_no_message_is_answered_with_an_error_of_the_protocol(agent: Client) -> None:
    for body in NO_MESSAGES:
        answer = await agent.post(body)
        assert answer.status_code == 400, body[:20]
        assert answer.json()["error"]["code"] in (protocol.PARSE_ERROR, protocol.INVALID_REQUEST)


async def test_the_door_holds_for_mcp_as_for_rest(agent: Client, server: Served) -> None:
    assert (await server.client.get("/mcp")).status_code == 405
    assert (await server.client.delete("/mcp")).status_code == 405
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await agent.post(ping, Origin="https://elsewhere.example")).status_code == 403
    assert (await agent.post(ping, Host="elsewhere.example")).status_code == 403
    assert (await agent.post(ping, **{"Content-Type": "text/plain"})).status_code == 415
    assert (await agent.post(b" " * (3 * 1024 * 1024))).status_code == 413
    assert (await agent.post(ping, **{"Mcp-Session-Id": "x" * 65})).status_code == 404
    wrong = await agent.ask("resources/read", uri="noetl://docs/../../../etc/passwd")
    assert wrong["error"]["code"] == protocol.INVALID_PARAMS
    for params in (
        {"name": "write_playbook"},
        {"name": "nothing"},
        {"name": "write_playbook", "arguments": []},
    ):
        assert (await agent.ask("prompts/get", **params))["error"]["code"] == protocol.INVALID_PARAMS
    long = {"name": "write_playbook", "arguments": {"task": "x" * 30_000}}
    assert "20000" in (await agent.ask("prompts/get", **long))["error"]["message"]


async def waiting(agent: Client) -> str:
    """The id of the one execution that waits."""

    async def found() -> Any:
        return (await agent.call("executions", status="waiting"))["items"]

    return str((await eventually(found))[0]["execution_id"])


async def eventually(look: Callable[[], Awaitable[Any]]) -> Any:
    """What is there, once it is."""
    async with asyncio.timeout(LONG):
        while True:
            if seen := await look():
                return seen
            await asyncio.sleep(0.02)


async def test_a_call_that_is_withdrawn_ends_with_its_execution(agent: Client, server: Served) -> None:
    await agent.open()
    agent.last = 41
    running = asyncio.create_task(agent.send("tools/call", {"name": "run", "arguments": {"playbook": WAITS}}))
    execution_id = await waiting(other := await Client(server.client).open())
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 42}}
    assert (
        await other.post(cancelled)
    ).status_code == 202  # of another session: it means no call of this one
    assert (await other.call("execution", execution=execution_id))["status"] == "waiting"
    assert (await agent.post(cancelled)).status_code == 202
    assert (await server.ended(execution_id))["status"] == "cancelled"
    assert messages(await running) == []


@pytest.mark.parametrize("stateless", [True, False])
async def test_a_reader_that_goes_away(agent: Client, server: Served, stateless: bool) -> None:
    """Without a handshake that withdraws the call, and its execution; with one, the execution goes on."""
    params: dict[str, Any] = {"name": "run", "arguments": {"playbook": WAITS}}
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    if stateless:
        params |= {"_meta": META}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with server.client.stream(
        "POST", "/mcp", json=message, headers={**agent.headers, **headers}
    ) as gone:
        assert gone.status_code == 200
        execution_id = await waiting(agent)
    if not stateless:
        await agent.call("signal", execution=execution_id, name="go")
    assert (await server.ended(execution_id))["status"] == ("cancelled" if stateless else "completed")


async def test_calls_under_way_are_bounded(agent: Client, server: Served) -> None:
    server.app.state.mcp_calls.room = ConcurrencyLimit("calls", of_one=1, of_all=256)
    running = asyncio.create_task(agent.call("run", playbook=WAITS))

    async def started() -> Any:
        return (await server.client.get("/api/v1/executions")).json()["items"]

    (found,) = await eventually(started)
    refused = await agent.send("tools/call", {"name": "executions"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    place = f"/api/v1/executions/{found['execution_id']}/signal"
    assert (await server.client.post(place, json={"name": "go"})).status_code == 202
    assert (await running)["status"] == "completed"
    assert (await agent.send("tools/call", {"name": "executions"})).status_code == 200


async def test_a_server_that_stops_answers_how_an_execution_stands(agent: Client, server: Served) -> None:
    running = asyncio.create_task(agent.call("run", playbook=WAITS))
    execution_id = await waiting(Client(server.client))
    server.app.state.closing.set()
    told = await running
    assert (told["execution_id"], told["status"]) == (execution_id, "waiting")
    assert execution_id in told["hint"]
