"""Why a value is not of a tool kind's Python type, in the words of the language. Nothing else lives here."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from noetl.dsl.templates.syntax import is_template
from noetl.dsl.tool_kind import Field
from noetl.json_value import Json

_WORDS = {
    "str": "a text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "bytes": "base64 text",
    "datetime": "a date and time",
}
Schema = dict[str, Any]
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `[^`]+`)?(.*)")
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
SOME_VALUE = "..."  # some value of a mapping, and not which
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]+)`")


def mismatch(field: Field, value: Json) -> str | None:
    """What a value would have to be instead; None when it fits, as far as its templates let one see."""
    import msgspec

    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        steps = [key or index for key, index in _STEPS.findall(place[1])] if place else []
        if SOME_VALUE in steps:
            checkable = _without_templates(value, steps)
            if checkable is not value:
                return mismatch(field, checkable)
        elif _is_rendered(value, steps):
            return None
        problem = _in_words(_PLACE.sub("", text), field, steps)
        return f"its '{place[1]}' {problem}" if place and place[1] else problem
    return None


def _is_rendered(value: Json, steps: list[str]) -> bool:
    """Whether a template stands at a place inside a value: what it will be is not known."""
    for step in steps:
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return False
    return isinstance(value, str) and is_template(value)


def _without_templates(value: Json, steps: list[str]) -> Json:
    """The value without the entries of a mapping that are a template at this place; itself without any."""
    step, *rest = steps
    if isinstance(value, dict) and step == SOME_VALUE:
        if SOME_VALUE in rest:
            inside = {name: _without_templates(item, rest) for name, item in value.items()}
        else:
            inside = {name: item for name, item in value.items() if not _is_rendered(item, rest)}
        same = len(inside) == len(value) and all(inside[name] is item for name, item in value.items())
        return value if same else inside
    if isinstance(value, dict) and step in value:
        item = _without_templates(value[step], rest)
        return value if item is value[step] else {**value, step: item}
    if isinstance(value, list) and step.isdigit() and int(step) < len(value):
        item = _without_templates(value[int(step)], rest)
        return value if item is value[int(step)] else [*value[: int(step)], item, *value[int(step) + 1 :]]
    return value


def _in_words(text: str, field: Field, steps: list[str]) -> str:
    if text.startswith("Invalid enum value"):
        words = choices(field, steps)
        return f"must be one of {', '.join(words)}" if words else "must be another word"
    if match := _FIELD.match(text):
        return f"needs '{match[2]}'" if match[1].startswith("missing") else f"takes no '{match[2]}'"
    if "matching regex" in text:
        return "is not written as it has to be"
    if match := _EXPECTED.match(text):
        options = [_WORDS.get(name, name) for name in match[1].split(" | ") if name != "null"]
        return f"must be {' or '.join(options)}{match[2]}"
    return f"cannot be read: {text[:1].lower()}{text[1:]}"


def choices(field: Field, steps: Sequence[str] = ()) -> list[str]:
    """The words that a field of few words takes, or what stands at a place inside it."""
    import msgspec

    (schema,), named = msgspec.json.schema_components([field.type])
    options = list(_options(schema, named))
    for step in steps:
        inner = [below for option in options for below in _below(option, step)]
        options = [option for schema in inner for option in _options(schema, named)]
    words = [word for option in options for word in option.get("enum", ())]
    return ["null" if word is None else str(word) for word in words]


def _options(schema: Schema, named: Mapping[str, Schema]) -> Iterator[Schema]:
    """The schemas that one stands for: what it refers to, each that a value may fit."""
    if "$ref" in schema:
        yield from _options(named[schema["$ref"].rpartition("/")[2]], named)
    elif "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from _options(each, named)
    else:
        yield schema


def _below(schema: Schema, step: str) -> Iterator[Schema]:
    """What a schema says of a key of a mapping, or of an item of a list."""
    items = schema.get("prefixItems", ())
    for found in (
        schema.get("properties", {}).get(step, schema.get("additionalProperties")),
        items[int(step)] if step.isdigit() and int(step) < len(items) else schema.get("items"),
    ):
        if isinstance(found, dict):
            yield found
