"""One tool kind explained: as text for a terminal, as a Markdown page for the docs, as plain data."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from noetl.cli.terminal import Paint
from noetl.dsl.tool_kind import Field
from noetl.ports.tool import Tool, keys_of
from noetl.ports.type_name import type_name
from noetl.settings import Settings

if TYPE_CHECKING:
    from noetl.mcp.library import Library


def facts(tool: Tool) -> dict[str, object]:
    """Everything a kind says of itself, as data."""
    kind = tool.kind
    return {
        "kind": kind.name,
        "summary": kind.summary,
        "beside": list(kind.beside),
        "input": _field_facts(kind.inputs),
        "open_input": kind.open_input,
        "one_of": [list(group) for group in kind.one_of],
        "spec": _field_facts(kind.knobs),
        "data": tool.returns,
        "helper": kind.helper,
        "example": kind.example,
    }


def library_for(settings: Settings) -> "Library":
    """What agents can read, of the kinds that are installed here."""
    from noetl.mcp.library import KindPage, Library
    from noetl.wiring.tool_kinds import every, kinds

    language = kinds(settings)
    pages = {
        tool.kind.name: KindPage(
            msgspec.to_builtins(facts(tool), enc_hook=str), tool.doc.strip(), markdown_page(tool)
        )
        for tool in every()
    }
    return Library(language, pages)


def _field_facts(fields: Mapping[str, Field]) -> list[dict[str, object]]:
    return [
        {"name": f.name, "type": _type(f), "required": f.required, "default": f.default, "doc": f.doc}
        for f in fields.values()
    ]


def _type(field: Field) -> str:
    return type_name(field.type).replace("`", "")


def _default(field: Field) -> str:
    return "" if field.default is None else json.dumps(field.default, default=str)


# ---- text -----------------------------------------------------------------------------------------------


def text_page(tool: Tool, paint: Paint) -> str:
    parts = [paint(tool.kind.name, "good"), tool.doc.strip()]
    for title, lines in _sections(tool).items():
        indented = [f"  {line}" if line else "" for line in lines]
        parts.append("\n".join([paint(title, "strong"), *indented]))
    return "\n\n".join(parts)


def _sections(tool: Tool) -> dict[str, list[str]]:
    kind = tool.kind
    sections = {
        "beside kind": [", ".join(kind.beside)] if kind.beside else [],
        "input": _lines(kind.inputs) + _about_input(tool),
        **{f"input.{name}": _lines(keys) for name, keys in _nested(kind.inputs)},
        "spec": _lines(kind.knobs),
        **{f"spec.{name}": _lines(keys) for name, keys in _nested(kind.knobs)},
        "output.data": [tool.returns] if tool.returns else [],
        "Example": kind.example.rstrip().split("\n") if kind.example else [],
    }
    return {title: lines for title, lines in sections.items() if lines}


def _nested(fields: Mapping[str, Field]) -> list[tuple[str, dict[str, Field]]]:
    """Those that are mappings, or lists of them, whose keys are known."""
    return [(name, keys) for name, each in fields.items() if (keys := keys_of(each.type))]


def _lines(fields: Mapping[str, Field]) -> list[str]:
    width = max((len(name) for name in fields), default=0) + 2
    named = ((field, f"{field.doc} " if field.doc else "") for field in fields.values())
    return [f"{field.name.ljust(width)}{said}({_terms(field)})" for field, said in named]


def _terms(field: Field) -> str:
    if field.required:
        return f"{_type(field)}, required"
    return f"{_type(field)}, default {_default(field)}" if _default(field) else _type(field)


def _about_input(tool: Tool) -> list[str]:
    kind = tool.kind
    groups = [f"Exactly one of {', '.join(group)} is needed." for group in kind.one_of]
    others = f"Any {'other ' if kind.inputs else ''}key is passed on as it is."
    return [*groups, others] if kind.open_input else groups


# ---- markdown -------------------------------------------------------------------------------------------


def markdown_page(tool: Tool) -> str:
    kind = tool.kind
    parts = [f"# {kind.name}", tool.doc.strip()]
    if kind.beside:
        parts += ["## Beside `kind`", ", ".join(f"`{key}`" for key in kind.beside)]
    if kind.inputs or kind.open_input:
        parts += ["## `input`", *_table(kind.inputs), *_about_input(tool), *_tables("input", kind.inputs)]
    if kind.knobs:
        parts += ["## `spec`", *_table(kind.knobs), *_tables("spec", kind.knobs)]
    if tool.returns:
        parts += ["## `output.data`", tool.returns[:1].upper() + tool.returns[1:] + "."]
    if kind.example:
        parts += ["## Example", f"```yaml\n{kind.example.rstrip()}\n```"]
    return "\n\n".join(parts)


def _tables(above: str, fields: Mapping[str, Field]) -> list[str]:
    return [part for name, keys in _nested(fields) for part in (f"### `{above}.{name}`", *_table(keys))]


def _table(fields: Mapping[str, Field]) -> list[str]:
    rows = [
        f"| `{f.name}` | {_cell(_type(f))} | {_default_words(f)} | {_cell(f.doc)} |" for f in fields.values()
    ]
    return ["\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])] if rows else []


def _default_words(field: Field) -> str:
    if field.required:
        return "required"
    return f"`{_default(field)}`" if _default(field) else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
