"""Calls a tool of an MCP server, over HTTP or as a program on this machine.

`server` is the address of a server that speaks MCP over HTTP, or the program to start, with its arguments,
as a list. With `auth: NAME` an HTTP server is sent the secret as for the `http` kind. A tool's structured
result is the task's data; otherwise its text, parsed when it is JSON. A result that the tool marks as an
error is error kind `mcp`.
"""

from typing import Annotated, Any

from noetl.ports.tool import Input, define, doc

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
    arguments: Annotated[dict[str, Any] | None, doc("What the tool is given.")] = None
    env: Annotated[dict[str, str] | None, doc("Environment variables of a program.")] = None


TOOL = define("mcp", __doc__, ToolCall, returns="the tool's result", example=EXAMPLE)
