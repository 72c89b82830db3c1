"""Calls a tool of an MCP server, over HTTP or as a program on this machine.

`server` is the address of a server that speaks MCP over HTTP, or the program to start, with its arguments,
as a list; such a program runs for one call. With `auth: NAME` an HTTP server is sent the secret as for the
`http` kind. A tool's structured result is the task's data; otherwise its text, parsed when it is JSON;
otherwise the list of its content. A result that the tool marks as an error, and an error of the protocol,
are error kind `mcp`. Servers of every version of the protocol are spoken to: those that open a conversation
with a handshake (2024-11-05 to 2025-11-25), and those that know none (2026-07-28).
"""

from typing import Annotated

import msgspec

from noetl.json_value import Json, JsonObject
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, error, ok
from noetl.ports.tool import Input, Seconds, define, doc, read_knobs
from noetl.ports.values import to_json

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: mcp, path: tools/mcp}
workflow:
  - step: start
    tool:
      kind: mcp
      input:
        server: "http://127.0.0.1:9000/mcp"
        tool: search
        arguments: {query: tea}
"""


class ToolCall(Input):
    """Which tool of which server."""

    server: Annotated[str | list[str], doc("The server's address, or the program to start as a list.")]
    tool: Annotated[str, doc("The name of the tool.")]
    arguments: Annotated[JsonObject | None, doc("What the tool is given.")] = None
    env: Annotated[dict[str, str] | None, doc("Environment variables of a program.")] = None


class Knobs(Input):
    reply_timeout: Annotated[Seconds, doc("Seconds to wait for each answer.")] = 60.0


async def run(tool_call: ToolCall, call: Call) -> Envelope:
    """Introduce ourselves, call the tool, shape its answer."""
    from noetl.tools.parts.mcp_session import HttpSession, ProgramSession

    knobs: Knobs = read_knobs(Knobs, call)
    session: HttpSession | ProgramSession
    if isinstance(tool_call.server, str):
        session = HttpSession(tool_call.server, call, knobs.reply_timeout)
    else:
        session = ProgramSession(tool_call.server, tool_call.env or {}, call, knobs.reply_timeout)
    async with session:
        answer = await session.call_tool(tool_call.tool, tool_call.arguments or {})
    if answer.error is not None:
        message = f"{tool_call.tool}: {answer.error.get('message')}"
        raise Failed("mcp", message, code=str(answer.error.get("code")), answered=True)
    result = to_json(answer.result)
    assert isinstance(result, dict)  # as the protocol reads it
    if result.get("resultType", "complete") != "complete":
        message = f"{tool_call.tool} asks for more than its arguments, and a task has nobody to ask"
        raise Failed("mcp", message, code=str(result["resultType"]), answered=True)
    if result.get("isError"):
        return error(
            "mcp", f"{tool_call.tool}: {_words(result)}", code="tool", answered=True, data=_data(result)
        )
    return ok(_data(result))


def _content(result: dict[str, Json]) -> list[dict[str, Json]]:
    content = result.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _words(result: dict[str, Json]) -> str:
    texts = [str(part.get("text")) for part in _content(result) if part.get("type") == "text"]
    return " ".join(texts)[:1000] or "the tool failed"


def _data(result: dict[str, Json]) -> Json:
    """The structured result, or the text, or whatever the content is."""
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = _content(result)
    if len(content) != 1 or content[0].get("type") != "text":
        return result.get("content", [])
    text = str(content[0].get("text", ""))
    try:
        data: Json = msgspec.json.decode(text)
        return to_json(data)
    except (msgspec.DecodeError, RecursionError):
        return text


TOOL = define("mcp", __doc__, ToolCall, run, knobs=Knobs, returns="the tool's result", example=EXAMPLE)
