"""`noetl tools`: the installed tool kinds, or one in full. What a kind says of itself is in its own file."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from noetl.dsl.kind import Field
    from noetl.ports.tool import Tool

EPILOG = """\b
Examples:
  noetl tools
  noetl tools http
  noetl tools --json
"""


@click.command("tools", epilog=EPILOG)
@click.argument("kind", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(kind: str | None, as_json: bool) -> int:
    """List the installed tool kinds, or explain one: its inputs, its output and an example."""
    from noetl import tools
    from noetl.cli.render import Paint, colourful, emit

    paint = Paint(colourful(sys.stdout))
    if kind is not None:
        tool = tools.get(kind)
        emit(_json(_facts(tool)) if as_json else _page(tool, paint))
        return 0
    found = {name: tools.get(name) for name in sorted({*tools.own(), *tools.installed()})}
    if as_json:
        emit(_json([_facts(tool) for tool in found.values()]))
        return 0
    rows = [(paint(name.ljust(12), "strong"), tool.kind.summary) for name, tool in found.items()]
    emit("\n".join(f"{name}{summary}" for name, summary in rows))
    return 0


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _facts(tool: "Tool") -> dict[str, Any]:
    kind = tool.kind
    return {
        "kind": kind.name,
        "summary": kind.summary,
        "beside": list(kind.beside),
        "input": _fields(kind.inputs),
        "open_input": kind.open_input,
        "one_of": [list(group) for group in kind.one_of],
        "spec": _fields(kind.knobs),
        "data": tool.returns,
        "helper": kind.helper,
        "example": kind.example,
    }


def _fields(fields: Mapping[str, "Field"]) -> list[dict[str, Any]]:
    return [
        {
            "name": field.name,
            "type": _type(field),
            "required": field.required,
            "default": field.default,
            "doc": field.doc,
        }
        for field in fields.values()
    ]


def _type(field: "Field") -> str:
    from noetl.ports.tool import type_name

    return type_name(field.type).replace("`", "")


def _page(tool: "Tool", paint: "Any") -> str:
    kind = tool.kind
    parts = [paint(kind.name, "good"), tool.doc.strip()]
    if kind.beside:
        parts.append(_section("Beside `kind`", [", ".join(kind.beside)], paint))
    if kind.inputs or kind.open_input:
        parts.append(_section("input", _input_lines(tool), paint))
    if kind.knobs:
        parts.append(_section("spec", _rows(kind.knobs), paint))
    if tool.returns:
        parts.append(_section("output.data", [tool.returns], paint))
    if kind.example:
        parts.append(_section("Example", kind.example.rstrip().split("\n"), paint))
    return "\n\n".join(parts)


def _section(title: str, lines: list[str], paint: "Any") -> str:
    return "\n".join([paint(title, "strong"), *(f"  {line}" if line else "" for line in lines)])


def _input_lines(tool: "Tool") -> list[str]:
    lines = _rows(tool.kind.inputs)
    lines += [f"exactly one of: {', '.join(group)}" for group in tool.kind.one_of]
    return [*lines, "any other key is passed on as it is"] if tool.kind.open_input else lines


def _rows(fields: Mapping[str, "Field"]) -> list[str]:
    width = max((len(name) for name in fields), default=0) + 2
    return [f"{field.name.ljust(width)}{_about(field)}" for field in fields.values()]


def _about(field: "Field") -> str:
    if field.required:
        default = ", required"
    else:
        default = "" if field.default is None else f", default {json.dumps(field.default, default=str)}"
    return f"{field.doc} ({_type(field)}{default})"
