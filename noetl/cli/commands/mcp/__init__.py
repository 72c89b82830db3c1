"""`noetl mcp`: a server that speaks MCP over standard input and output, for AI agents."""

import asyncio
from typing import TYPE_CHECKING

import click

from noetl.cli import options

if TYPE_CHECKING:
    from noetl.settings import Settings

GRACE_S = 5.0

EPILOG = """\b
As MCP clients are told of it:
  {"mcpServers": {"noetl": {"command": "noetl", "args": ["mcp"], "cwd": "/path/to/project"}}}

\b
Exit codes: 0 when the client closes the conversation, 2 wrong usage, 3 a backend cannot be reached.
"""


@click.command("mcp", epilog=EPILOG)
@options.server
@click.option("--read-only", is_flag=True, help="Offer only tools that change nothing.")
def command(read_only: bool) -> int:
    """Offer playbooks and executions to AI agents as an MCP server over stdio.

    It runs playbooks of this project in this process, or on a server: what an agent runs here may do whatever
    you may. Standard output carries messages and nothing else.
    """
    from noetl.cli.commands.mcp.stdio import own_output
    from noetl.cli.connection.embedded_engine import current_settings

    settings = current_settings()
    with own_output() as output:
        return asyncio.run(_converse(settings, output, read_only=read_only))


async def _converse(settings: "Settings", output: int, *, read_only: bool) -> int:
    """Answer lines until there are no more."""
    from noetl.cli.commands.mcp.shared_connection import SharedConnection
    from noetl.cli.commands.mcp.stdio import LineWriter, lines
    from noetl.mcp.session import Session
    from noetl.mcp.tools import INSTRUCTIONS, Toolbox

    def allows(scope: str) -> bool:
        return scope == "read" or not read_only

    writer, product = LineWriter(output), SharedConnection(settings)
    tools = Toolbox(product, allows, files=True)
    session = Session(tools, writer.send, INSTRUCTIONS, product.library)
    try:
        async for line in lines():
            await session.receive(line)
            if writer.gone:
                break
        await session.close(0 if writer.gone else GRACE_S)
    finally:
        await product.close()
        writer.close()
    return 0
