"""The mcp kind against a real program and a real HTTP server that speak the protocol."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request, Response

SERVER = """
import json, sys, time
TOOLS = {
    "add": lambda a: {"structuredContent": {"sum": a["x"] + a["y"]}, "content": []},
    "text": lambda a: {"content": [{"type": "text", "text": "hello"}]},
    "json": lambda a: {"content": [{"type": "text", "text": "[1, 2]"}]},
    "many": lambda a: {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    "bad": lambda a: {"isError": True, "content": [{"type": "text", "text": "out of tea"}]},
    "slow": lambda a: time.sleep(300),
    "die": lambda a: sys.exit("fell over"),
}
started = False
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "notifications/initialized":
        started = True
        asked = json.loads(sys.stdin.readline())
        print(json.dumps({"jsonrpc": "2.0", "id": "s1", "method": "ping"}), flush=True)
        assert json.loads(sys.stdin.readline()) == {"jsonrpc": "2.0", "id": "s1", "result": {}}
        message = asked
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        reply["result"] = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}}
    elif message["params"]["name"] in TOOLS and started:
        reply["result"] = TOOLS[message["params"]["name"]](message["params"]["arguments"])
    else:
        reply["error"] = {"code": -32602, "message": "unknown tool"}
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"}))
    print(json.dumps(reply), flush=True)
"""
STATELESS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    meta = message["params"].get("_meta", {})
    if meta.get("io.modelcontextprotocol/protocolVersion") != "2026-07-28":
        reply["error"] = {"code": -32601, "message": "there is no method " + message["method"]}
    elif message["params"]["name"] == "ask":
        reply["result"] = {"resultType": "input_required", "inputRequests": {}}
    else:
        content = {"caps": meta["io.modelcontextprotocol/clientCapabilities"], **message["params"]["arguments"]}
        reply["result"] = {"resultType": "complete", "content": [], "structuredContent": content}
    print(json.dumps(reply), flush=True)
"""
CASES = [
    ("add", {"x": 1, "y": 2}, {"sum": 3}),
    ("text", {}, "hello"),
    ("json", {}, [1, 2]),
    ("many", {}, [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
]


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "server.py").write_text(SERVER)
    return [sys.executable, str(tmp_path / "server.py")]


@pytest.mark.parametrize("tool, arguments, data", CASES)
async def test_a_tool_of_a_program_is_called(use, program, tool, arguments, data):
    output = await use("mcp", {"server": program, "tool": tool, "arguments": arguments})
    assert output["status"] == "ok"
    assert output["data"] == data


async def test_a_tool_that_fails_is_an_error_with_its_words(use, program):
    output = await use("mcp", {"server": program, "tool": "bad"})
    assert output["error"]["kind"] == "mcp"
    assert "out of tea" in output["error"]["message"]
    assert output["data"] == "out of tea"


@pytest.mark.parametrize(
    "tool, code, word", [("nope", "-32602", "unknown tool"), ("die", "ended", "fell over")]
)
async def test_what_the_server_refuses_says_why(use, program, tool, code, word):
    output = await use("mcp", {"server": program, "tool": tool})
    assert output["error"]["kind"] == "mcp"
    assert output["error"]["code"] == code
    assert word in output["error"]["message"]


async def test_a_program_that_is_not_there_is_not_found(use):
    assert (await use("mcp", {"server": ["no-such-program"], "tool": "x"}))["error"]["kind"] == "not_found"


async def test_a_program_that_prints_something_else_is_refused(use):
    output = await use("mcp", {"server": ["echo", "hello"], "tool": "x"})
    assert output["error"]["code"] == "protocol"


async def test_a_program_that_does_not_answer_times_out_and_is_stopped(use, program):
    output = await asyncio.wait_for(
        use("mcp", {"server": program, "tool": "slow"}, spec={"reply_timeout": 0.5}), 60
    )
    assert output["error"]["kind"] == "timeout"
    assert output["error"]["retryable"] is True


def over_http(stream: bool) -> Any:
    """The same server over HTTP: JSON answers, or events."""

    def handle(request: Request) -> Response:
        message = request.get_json()
        if message["method"] == "notifications/initialized":
            assert request.headers["Mcp-Session-Id"] == "abc"
            return Response(status=202)
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-03-26", "capabilities": {}}
        else:
            assert request.headers["MCP-Protocol-Version"] == "2025-03-26"
            given = message["params"]["arguments"]
            auth = request.headers.get("Authorization")
            result = {"structuredContent": {"echo": given, "auth": auth}, "content": []}
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        headers = {"Mcp-Session-Id": "abc"}
        if not stream:
            return Response(reply, content_type="application/json", headers=headers)
        events = f': hi\r\n\r\ndata: {{"jsonrpc": "2.0", "method": "x"}}\n\nevent: message\ndata: {reply}\n\n'
        return Response(events, content_type="text/event-stream", headers=headers)

    return handle


async def test_a_server_that_only_pings_does_not_answer_in_time(use, httpserver):
    """Each ping begins another silence; the time for the answer goes on."""
    gone = threading.Event()

    def pings() -> Iterator[bytes]:
        while not gone.wait(0.05):
            yield b": ping\n\n"

    def handle(request: Request) -> Response:
        return Response(pings(), content_type="text/event-stream")

    httpserver.expect_request("/mcp", method="POST").respond_with_handler(handle)
    values = {"server": httpserver.url_for("/mcp"), "tool": "t"}
    try:
        output = await asyncio.wait_for(use("mcp", values, spec={"reply_timeout": 0.3}), 30)
    finally:
        gone.set()
    assert output["error"]["kind"] == "timeout"
    assert output["error"]["retryable"] is True


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_a_server_is_called_over_http(use, httpserver, secrets, stream):
    httpserver.expect_request("/mcp", method="POST").respond_with_handler(over_http(stream))
    secrets["me"] = {"kind": "bearer", "token": "t0ken"}
    values = {"server": httpserver.url_for("/mcp"), "tool": "t", "arguments": {"a": 1}}
    output = await use("mcp", values, auth_name="me")
    assert output["data"] == {"echo": {"a": 1}, "auth": "Bearer t0ken"}
    httpserver.check_assertions()


@pytest.mark.parametrize(
    "url, kind, retryable", [("http://127.0.0.1:1/mcp", "connect", True), ("nowhere", "input", False)]
)
async def test_a_server_that_cannot_be_reached_says_why(use, url, kind, retryable):
    output = await use("mcp", {"server": url, "tool": "t"})
    assert (output["error"]["kind"], output["error"]["retryable"]) == (kind, retryable)


async def test_a_status_that_is_no_answer_is_an_http_error(use, httpserver):
    httpserver.expect_request("/mcp").respond_with_data("", status=503)
    output = await use("mcp", {"server": httpserver.url_for("/mcp"), "tool": "t"})
    assert (output["error"]["kind"], output["error"]["retryable"]) == ("http", True)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_large_answer_of_a_server_arrives_whole(use, httpserver, stream):
    httpserver.expect_request("/mcp", method="POST").respond_with_handler(over_http(stream))
    text = "x" * 500_000
    values = {"server": httpserver.url_for("/mcp"), "tool": "t", "arguments": {"a": text}}
    assert (await use("mcp", values))["data"]["echo"] == {"a": text}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_without_end_is_cut_short(use, httpserver, monkeypatch, stream):
    monkeypatch.setattr("noetl.tools.parts.mcp_session.MESSAGE_MAX", 100_000)
    httpserver.expect_request("/mcp", method="POST").respond_with_handler(over_http(stream))
    values = {"server": httpserver.url_for("/mcp"), "tool": "t", "arguments": {"a": "x" * 500_000}}
    assert (await use("mcp", values))["error"]["kind"] == "too_large"


async def test_a_program_that_knows_no_handshake_is_spoken_to_without(use, tmp_path):
    (tmp_path / "server.py").write_text(STATELESS)
    values = {"server": [sys.executable, str(tmp_path / "server.py")], "arguments": {"x": 1}}
    assert (await use("mcp", {**values, "tool": "echo"}))["data"] == {"caps": {}, "x": 1}
    refused = await use("mcp", {**values, "tool": "ask"})
    assert (refused["error"]["kind"], refused["error"]["code"]) == ("mcp", "input_required")


@pytest.mark.parametrize("status", [200, 400])
async def test_a_server_that_knows_no_handshake_is_spoken_to_without(use, httpserver, status):
    def handle(request: Request) -> Response:
        message = request.get_json()
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "initialize":
            error = {"code": -32601, "message": "there is no method initialize"}
            return Response(json.dumps({**reply, "error": error}), status, content_type="application/json")
        names = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
        content = {"headers": [request.headers[name] for name in names], **message["params"]["arguments"]}
        result = {"resultType": "complete", "content": [], "structuredContent": content}
        return Response(json.dumps({**reply, "result": result}), content_type="application/json")

    httpserver.expect_request("/mcp", method="POST").respond_with_handler(handle)
    values = {"server": httpserver.url_for("/mcp"), "tool": "t\u00e9", "arguments": {"a": 1}}
    output = await use("mcp", values)
    headers = ["2026-07-28", "tools/call", "=?base64?dMOp?="]
    assert output["data"] == {"headers": headers, "a": 1}
    httpserver.check_assertions()
