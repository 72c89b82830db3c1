"""One MCP conversation: both ways to open it, strictness, calls at once, withdrawal, and hostile input."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from noetl.mcp.session import UNDER_WAY_MAX, Session, ToolRequest
from noetl.ports import mcp_protocol as protocol

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
META = {f"{protocol.META}protocolVersion": "2026-07-28", f"{protocol.META}clientCapabilities": {}}


class Tools:
    """Two tools: one that answers, one that never does."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended: list[bool] = []

    def list_tools(self) -> list[dict[str, Any]]:
        return [{"name": "echo", "inputSchema": {"type": "object"}}]

    def knows(self, name: str) -> str | None:
        return None if name in ("echo", "sleep", "break") else f"there is no tool {name!r}"

    async def call(self, name: str, arguments: Mapping[str, Any], asked: ToolRequest) -> dict[str, Any]:
        if name == "break":
            raise ZeroDivisionError
        if asked.progress is not None:
            await asked.progress(1, "on its way")
        if name == "sleep":
            try:
                self.begun.set()
                await asyncio.Event().wait()
            finally:
                self.ended.append(asked.withdrawn)
        return {"content": [], "structuredContent": dict(arguments)}


class Talk:
    """A conversation and everything that was answered."""

    def __init__(self) -> None:
        self.tools, self.sent = Tools(), asyncio.Queue[Any]()
        self.session = Session(self.tools, self.sent.put, "how to")

    async def say(self, *messages: Any) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            await self.session.receive(line)

    async def ask(self, method: str, params: Any = None, number: Any = 1) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        await self.say(message if params is None else {**message, "params": params})
        answer: dict[str, Any] = await asyncio.wait_for(self.sent.get(), 30)
        return answer

    async def open(self, version: str = "2025-06-18") -> "Talk":
        await self.ask("initialize", {**HELLO, "protocolVersion": version}, "open")
        await self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.mark.parametrize("asked", protocol.HANDSHAKE_VERSIONS)
async def test_a_handshake_agrees_on_the_version_asked_for(talk, asked):
    answer = await talk.ask("initialize", {**HELLO, "protocolVersion": asked})
    assert answer["result"]["protocolVersion"] == asked
    assert answer["result"]["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
    assert answer["result"]["serverInfo"]["name"] == "noetl"
    assert answer["result"]["instructions"] == "how to"


@pytest.mark.parametrize("asked", ["2026-07-28", "1999-01-01", "latest"])
async def test_a_handshake_for_another_version_is_answered_with_the_newest_that_has_one(talk, asked):
    answer = await talk.ask("initialize", {**HELLO, "protocolVersion": asked})
    assert answer["result"]["protocolVersion"] == "2025-11-25"


async def test_without_a_handshake_each_request_names_its_version(talk):
    found = await talk.ask("server/discover", {"_meta": META})
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert found["result"]["resultType"] == "complete"
    listed = await talk.ask("tools/list", {"_meta": META})
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo"]
    assert listed["result"]["cacheScope"] == "private"
    called = await talk.ask("tools/call", {"_meta": META, "name": "echo", "arguments": {"a": 1}})
    assert called["result"]["structuredContent"] == {"a": 1}
    assert called["result"]["resultType"] == "complete"
    assert called["result"]["_meta"][f"{protocol.META}serverInfo"]["name"] == "noetl"


async def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(talk):
    wrong = {**META, f"{protocol.META}protocolVersion": "2099-01-01"}
    answer = await talk.ask("tools/list", {"_meta": wrong})
    assert answer["error"]["code"] == protocol.UNSUPPORTED_VERSION
    assert answer["error"]["data"]["requested"] == "2099-01-01"
    assert "2026-07-28" in answer["error"]["data"]["supported"]


REFUSED = [
    (b"", protocol.PARSE_ERROR, None),
    (b"{", protocol.PARSE_ERROR, None),
    (b"\xff\xfe\x00", protocol.PARSE_ERROR, None),
    (b"[" * 100_000, protocol.PARSE_ERROR, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method": NaN}', protocol.PARSE_ERROR, None),
    ([], protocol.INVALID_REQUEST, None),
    ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], protocol.INVALID_REQUEST, None),
    ("text", protocol.INVALID_REQUEST, None),
    (None, protocol.INVALID_REQUEST, None),
    ({}, protocol.INVALID_REQUEST, None),
    ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, protocol.INVALID_REQUEST, 1),
    ({"jsonrpc": "2.0", "id": 1}, protocol.INVALID_REQUEST, 1),
    ({"jsonrpc": "2.0", "id": 1, "method": 7}, protocol.INVALID_REQUEST, 1),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, protocol.INVALID_REQUEST, None),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, protocol.INVALID_REQUEST, None),
    ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, protocol.INVALID_REQUEST, None),
    ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, protocol.INVALID_REQUEST, None),
    ({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": []}, protocol.INVALID_PARAMS, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "nope"}, protocol.METHOD_NOT_FOUND, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": HELLO}, protocol.INVALID_REQUEST, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"cursor": "x"}}, protocol.INVALID_PARAMS, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/call"}, protocol.INVALID_PARAMS, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": 1}}, protocol.INVALID_PARAMS, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "x"}}, protocol.INVALID_PARAMS, "a"),
    (
        {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "echo", "arguments": []}},
        protocol.INVALID_PARAMS,
        "a",
    ),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": {}}}, None, "a"),
    ({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": 7}}, None, "a"),
    (
        {"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": {**META, f"{protocol.META}clientCapabilities": 1}}},
        protocol.INVALID_PARAMS,
        "a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("message, code, number", REFUSED)
async def test_whatever_comes_is_answered_once_and_the_conversation_goes_on(talk, message, code, number):
    await talk.open()
    await talk.say(message if message != b"" else b" ")
    answer = await asyncio.wait_for(talk.sent.get(), 30)
    assert answer["id"] == number
    assert (answer.get("error") or {}).get("code") == code
    assert (await talk.ask("ping", number=99)) == {"jsonrpc": "2.0", "id": 99, "result": {}}
    assert talk.sent.empty()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {**HELLO, "protocolVersion": 1},
        {**HELLO, "capabilities": []},
        {key: HELLO[key] for key in ("protocolVersion", "capabilities")},
    ],
)
async def test_a_handshake_says_who_and_what(talk, params):
    assert (await talk.ask("initialize", params))["error"]["code"] == protocol.INVALID_PARAMS
    assert "result" in await talk.ask("initialize", HELLO)


async def test_before_a_handshake_only_a_ping_is_answered(talk):
    assert (await talk.ask("ping"))["result"] == {}
    assert (await talk.ask("tools/list"))["error"]["code"] == protocol.INVALID_PARAMS
    assert (await talk.ask("server/discover"))["error"]["code"] == protocol.INVALID_PARAMS


async def test_what_wants_no_answer_gets_none(talk):
    await talk.open()
    await talk.say(
        {"jsonrpc": "2.0", "method": "notifications/anything", "params": {}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "unknown"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    )
    assert talk.sent.empty()


async def test_lists_of_messages_are_answered_in_the_version_that_has_them(talk):
    await talk.open("2025-03-26")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}}
    await talk.say([ping, {"jsonrpc": "2.0", "method": "notifications/x"}, call, {"id": 3}])
    answers = await asyncio.wait_for(talk.sent.get(), 30)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    await talk.say([{"jsonrpc": "2.0", "method": "notifications/x"}])
    assert talk.sent.empty()


async def call(talk: Talk, name: str, number: Any, **params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, **params}}
    await talk.say(message)


async def test_a_call_that_takes_its_time_holds_up_nobody(talk):
    await talk.open()
    await call(talk, "sleep", "slow")
    await asyncio.wait_for(talk.tools.begun.wait(), 30)
    assert (await talk.ask("tools/call", {"name": "echo"}, "quick"))["id"] == "quick"
    await talk.session.close(0)


async def test_a_call_that_is_withdrawn_is_stopped_and_not_answered(talk):
    await talk.open()
    await call(talk, "sleep", 7)
    await asyncio.wait_for(talk.tools.begun.wait(), 30)
    await talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    await talk.session.close(30)
    assert talk.tools.ended == [True]
    assert talk.sent.empty()


async def test_one_id_is_under_way_once_and_so_many_calls_at_a_time(talk):
    await talk.open()
    await call(talk, "sleep", 0)
    assert (await talk.ask("tools/call", {"name": "echo"}, 0))["error"]["code"] == protocol.INVALID_REQUEST
    for number in range(1, UNDER_WAY_MAX):
        await call(talk, "sleep", number)
    assert (await talk.ask("tools/call", {"name": "echo"}, "more"))["error"][
        "code"
    ] == protocol.INTERNAL_ERROR
    await talk.session.close(0)
    assert talk.tools.ended == [False] * UNDER_WAY_MAX


async def test_progress_is_told_to_those_who_want_it(talk):
    await talk.open()
    await call(talk, "echo", 1, _meta={"progressToken": "p"})
    told, answer = [await asyncio.wait_for(talk.sent.get(), 30) for _ in range(2)]
    assert told["params"] == {"progressToken": "p", "progress": 1, "message": "on its way"}
    assert answer["id"] == 1


async def test_a_bug_of_ours_is_an_answer_too(talk):
    await talk.open()
    answer = await talk.ask("tools/call", {"name": "break"})
    assert answer["error"]["code"] == protocol.INTERNAL_ERROR
