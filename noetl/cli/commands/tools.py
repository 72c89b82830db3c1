"""`noetl tools`: the installed tool kinds, or one in full. What a kind says of itself is in its own file."""

import json
import sys
from typing import TYPE_CHECKING

import click

from noetl.cli.terminal import Paint, colourful, emit

if TYPE_CHECKING:
    from noetl.ports.tool import Tool

FORMATS = ("text", "markdown", "json")

EPILOG = """\b
Examples:
  noetl tools
  noetl tools http
  noetl tools --json
"""


@click.command("tools", epilog=EPILOG)
@click.argument("kind", required=False)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def command(kind: str | None, form: str) -> int:
    """List the installed tool kinds, or explain one: its inputs, its output and an example."""
    from noetl.wiring.tool_kinds import every, tool

    if kind is not None:
        emit(_tool_text(tool(kind), form))
        return 0
    emit(_list_text(every(), form))
    return 0


def _tool_text(tool: "Tool", form: str) -> str:
    from noetl.cli.tool_page import facts, markdown_page, text_page

    if form == "json":
        return json.dumps(facts(tool), indent=2, ensure_ascii=False, default=str)
    return markdown_page(tool) if form == "markdown" else text_page(tool, Paint(colourful(sys.stdout)))


def _list_text(tools: list["Tool"], form: str) -> str:
    from noetl.cli.tool_page import facts

    if form == "json":
        return json.dumps([facts(tool) for tool in tools], indent=2, ensure_ascii=False, default=str)
    if form == "markdown":
        return "\n".join(f"* [{tool.kind.name}]({tool.kind.name}.md): {tool.kind.summary}" for tool in tools)
    paint = Paint(colourful(sys.stdout))
    return "\n".join(paint(tool.kind.name.ljust(12), "strong") + tool.kind.summary for tool in tools)
