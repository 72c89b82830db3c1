"""JSON Schemas of a kind's inputs and knobs, from their Python types, with templates where they may stand."""

from collections.abc import Mapping
from typing import Any

import msgspec

from noetl.dsl.tool_kind import Field, Kind

Schema = dict[str, Any]

_NULL: Schema = {"type": "null"}
WHOLE_TEMPLATE: Schema = {
    "type": "string",
    "pattern": r"^\{\{[\s\S]*\}\}\s*$",
    "description": "One template and nothing else.",
}
TEMPLATE: Schema = {"type": "string", "pattern": r"\{[{%#]", "description": "A template."}


def input_schema(kind: Kind, defs: dict[str, Schema]) -> Schema:
    """The schema of a kind's `input`; nested structs become definitions."""
    schema: Schema = {
        "type": "object",
        "description": kind.summary,
        "properties": _fields(kind.name, kind.inputs, defs, is_input=True),
        "additionalProperties": kind.open_input,
    }
    if required := [name for name, field in kind.inputs.items() if field.required]:
        schema["required"] = required
    if kind.one_of:
        schema["allOf"] = [{"oneOf": [_with_value(name) for name in group]} for group in kind.one_of]
    return schema


def knob_schemas(kind: Kind, defs: dict[str, Schema]) -> dict[str, Schema]:
    """The schemas of a kind's own keys under `spec`."""
    return _fields(f"{kind.name}_spec", kind.knobs, defs, is_input=False)


def _fields(
    owner: str, fields: Mapping[str, Field], defs: dict[str, Schema], *, is_input: bool
) -> dict[str, Schema]:
    if not fields:
        return {}
    template = f"#/$defs/{owner}_{{name}}"
    types = [field.type for field in fields.values()]
    schemas, components = msgspec.json.schema_components(types, ref_template=template)
    for name, component in components.items():
        defs[f"{owner}_{name}"] = templated(component, top=False)
    return {
        field.name: _described(_value_schema(schema, is_input=is_input and not field.required), field)
        for field, schema in zip(fields.values(), schemas, strict=True)
    }


def _with_value(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": _NULL}}}


def _value_schema(schema: Schema, *, is_input: bool) -> Schema:
    """A value or a template; null where the type has it, and for an input that may be left out."""
    value = templated(_without_null(schema))
    constrained = value.keys() & {"anyOf", "type", "$ref", "enum", "const"}
    if not constrained or not (is_input or _NULL in schema.get("anyOf", ())):
        return value
    options = value.pop("anyOf") if "anyOf" in value else [value]
    return {**value, "anyOf": [*options, _NULL]} if options != [value] else {"anyOf": [value, _NULL]}


def _without_null(schema: Schema) -> Schema:
    """The schema of a value that is there."""
    options = [option for option in schema.get("anyOf", ()) if option != _NULL]
    return {**schema, "anyOf": options} if options else schema


def _described(schema: Schema, field: Field) -> Schema:
    described = {"description": field.doc, **schema}
    if field.default is not None:
        described["default"] = field.default
    return described


def templated(schema: Schema, *, top: bool = True) -> Schema:
    """The schema with a template allowed for every value inside, and for itself unless it is a definition."""
    inner = _inner(schema)
    if not top or _takes_text(inner):
        return inner
    note = {"description": inner.pop("description")} if "description" in inner else {}
    options = inner["anyOf"] if inner.keys() == {"anyOf"} else [inner]
    return {**note, "anyOf": [*options, TEMPLATE]}


def _inner(schema: Schema) -> Schema:
    changed = dict(schema)
    changed.pop("title", None)
    changed.pop(
        "default", None
    )  # a null default says nothing, and the author's default is in the description
    for key in ("properties", "patternProperties"):
        if key in changed:
            changed[key] = {name: templated(item) for name, item in changed[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(changed.get(key), dict) and changed[key]:
            changed[key] = templated(changed[key])
    if "anyOf" in changed:
        options = [_inner(option) for option in changed.pop("anyOf")]
        changed |= options[0] if len(options) == 1 else {"anyOf": options}
    return changed


def _takes_text(schema: Schema) -> bool:
    """Whether any text is accepted already, a template included."""
    if "anyOf" in schema:
        return any(_takes_text(option) for option in schema["anyOf"])
    constrained = {"type", "enum", "const", "$ref", "anyOf", "properties"} & schema.keys()
    plain_text = schema.get("type") == "string" and not {"enum", "pattern", "format"} & schema.keys()
    return plain_text or not constrained
